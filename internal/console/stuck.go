package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// fileState says how far a file is.
func fileState(f outbox.File) state {
	switch {
	case f.Error != "" && f.Begun():
		return state{"bad", "✖", "stopped"}
	case f.Error != "":
		return state{"bad", "✖", "refused"}
	case f.Open():
		return state{"soft", "◔", "not finished"}
	case f.Unknown > 0:
		return state{"bad", "?", "in doubt"}
	case f.NotTaken() > 0:
		return state{"warn", "◑", "some not taken"}
	}
	return state{"good", "✔", "done"}
}

// mostStuck is how many files of a job with the same problem are named.
const mostStuck = 20

// stuck returns the files that a person must do something about, the latest first.
func stuck(now time.Time, j JobStatus) (list []problem) {
	named := map[state]int{} // how many files have each state, also those that aren't in the list
	for _, f := range outbox.Latest(j.Pushed) {
		p := problem{Job: j.Name, State: fileState(f), Run: f.Run}
		lost := f.NotTaken()
		switch {
		case f.Error != "":
			p.severity, p.What = refresh.Broken, f.Name+" was refused, and nothing of it was sent"
			if f.Begun() {
				p.What = f.Name + " was begun and stopped; the rest isn't sent"
			}
			p.Details = []string{f.Error}
			text := wording.FileMending(j.Kind, f)
			p.Advice, p.Type = strings.ToUpper(text[:1])+text[1:]+".", []string{j.Kind + " check --job " + j.Name}
		case f.Unknown > 0 && !f.Open():
			p.severity, p.What = refresh.Differs, fmt.Sprintf("%s: of %s nobody knows whether the service took them",
				f.Name, plural(int(f.Unknown), "record"))
			p.Advice, p.Type = "To have them sent again, of all files:", []string{j.Kind + " requeue --job " + j.Name}
		case lost > 0 && now.Sub(f.Last) < outbox.Recent:
			p.severity, p.harmless, p.What = refresh.ChangedFinal, true, fmt.Sprintf("%s: %s weren't taken", f.Name,
				plural(int(lost), "row"))
			p.Advice, p.Type = "What became of each file:", []string{j.Kind + " status --job " + j.Name}
		default:
			continue
		}
		if named[p.State]++; named[p.State] > mostStuck {
			continue
		}
		if f.Rejects != "" {
			p.Details = append(p.Details, "Which rows, and why: "+place(j.Rejects, f.Rejects))
		}
		list = append(list, p)
	}
	for i, p := range list {
		if more := named[p.State] - mostStuck; more > 0 {
			list[i].Details = append(p.Details, "The same holds of "+plural(more, "older file")+".")
			named[p.State] = 0 // it is said once
		}
	}
	return list
}

// place returns where a file is, under the URL of a folder or a bucket when that is known.
func place(under, key string) string {
	under, _, _ = strings.Cut(under, "?")
	if under == "" {
		return key
	}
	return strings.TrimSuffix(under, "/") + "/" + key
}

// appProblems returns the problems of the declared apps whose last migration, or what follows it,
// failed.
func appProblems(past ledger.Past, j JobStatus) (list []problem) {
	_, res := past.Last(j.Name)
	for _, a := range j.Declared {
		if a.Condition != AppFailed {
			continue
		}
		p := problem{
			Job: j.Name, State: appState(a),
			What: a.ID + " isn't as declared: its migration, or what follows it, failed", Run: a.Run,
			severity: refresh.Broken,
			Advice:   "The next run tries again. What differs, and what the service says of it:",
			Type:     []string{"apps plan --job " + j.Name},
		}
		for i := 0; res != nil && i < len(res.Failures); i++ {
			if text := res.Failures[i].Error; strings.Contains(text, a.ID) {
				p.Details = append(p.Details, text)
			}
		}
		list = append(list, p)
	}
	return list
}
