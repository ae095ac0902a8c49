package console

import (
	"github.com/reportferry/reportferry/jobs/outbox"
)

// A fileLine is what became of one file that is pushed.
type fileLine struct {
	outbox.File
	State    state
	Linked   string // the run that worked on it last, if it has a page
	Checked  bool   // its rows were counted to their end
	NotTaken int64
	Parts    []filePart
	At       string // where its rejects are
	Earlier  bool   // the file has changed since
}

// A filePart is a stretch of the bar that shows what became of a file's rows.
type filePart struct {
	Class, Text string
	Rows        int64
	At, Long    float64 // percent
}

// pushedOf returns the page of a job that pushes files.
func pushedOf(s snapshot, j JobStatus) view {
	var body struct {
		Job, Kind, Source, Rejects string
		Files                      []fileLine
		Left                       int // files that aren't shown
		Problems                   []problem
	}
	body.Job, body.Kind, body.Source, body.Rejects = j.Name, j.Kind, j.Source, j.Rejects
	newest := map[string]bool{}
	for i, f := range j.Pushed {
		if i == mostFiles {
			body.Left = len(j.Pushed) - i
			break
		}
		body.Files = append(body.Files, lineOfFile(s, j, f, newest[f.Name]))
		newest[f.Name] = true
	}
	body.Problems = problemsOf(s, j)
	return view{j.Name, "pushed.html", body}
}

// mostFiles is how many files a page shows: those of a year and a month, at one a day.
const mostFiles = 400

// lineOfFile returns the line of a file. earlier says that the file has changed since.
func lineOfFile(s snapshot, j JobStatus, f outbox.File, earlier bool) fileLine {
	l := fileLine{File: f, State: fileState(f), Linked: s.linked(f.Run), Earlier: earlier, NotTaken: f.NotTaken()}
	l.Checked = f.Error == "" || f.Begun() || f.Rejects != ""
	if f.Rejects != "" {
		l.At = place(j.Rejects, f.Rejects)
	}
	at := 0.0
	for _, p := range []filePart{
		{Class: "accepted", Text: "accepted", Rows: f.Accepted}, {Class: "duplicate", Text: "duplicates",
			Rows: f.Duplicates}, {Class: "pending", Text: "to be sent", Rows: f.Pending},
		{Class: "doubt", Text: "in doubt", Rows: f.Unknown}, {Class: "lost", Text: "not taken", Rows: l.NotTaken},
	} {
		if p.Rows <= 0 || f.Rows <= 0 || !l.Checked {
			continue
		}
		p.At, p.Long = at, min(100-at, 100*float64(p.Rows)/float64(f.Rows))
		at += p.Long
		l.Parts = append(l.Parts, p)
	}
	return l
}

// Sent returns how many rows went to the service, as far as that is known.
func (l fileLine) Sent() int64 { return l.Accepted + l.Rejected + l.Unknown }
