package notify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/cmd/reportferry/runs"
	"github.com/reportferry/reportferry/internal/adjust"
	pages "github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/internal/notify"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// ofTables are the troubles that the ledger shows, by the conditions of partitions.
var ofTables = map[refresh.Condition]string{
	refresh.Broken: notify.Failed, refresh.CutOff: notify.Stale, refresh.Absent: notify.Stale, refresh.HeldBack: notify.HeldBack, refresh.Differs: notify.Unreconciled,
	refresh.DiffersAlike: notify.Unreconciled, refresh.Suspicious: notify.HeldBack, refresh.Mixed: notify.Stale, refresh.Deleted: notify.Stale, refresh.Replaced: notify.Stale,
	refresh.TooOld:       notify.Failed,
	refresh.ChangedFinal: notify.ChangedAfterFinal, refresh.MovedAndLeft: notify.ChangedAfterFinal,
}

// commands are what to type about a trouble that only the errors of a run show; %s is the job.
var commands = map[string]string{
	notify.Failed: "reportferry gaps %s", notify.Denied: "reportferry check %s", notify.Schema: "reportferry check %s", notify.Conflict: "reportferry check %s",
}

// troublesOf are those of a table: of each reason one for every row of partitions that follow one another. Numbers that changed after
// they had been final, or that stay although the service has changed them, are told of by the content that the ledger has.
func troublesOf(s pages.JobStatus, again string) (list []notify.Trouble) {
	if s.Err != nil || s.Look == nil {
		return nil
	}
	commands := map[refresh.Condition]string{}
	for _, p := range s.State.Problems {
		if commands[refresh.Condition(p.Condition)] = p.Advice; p.Command != "" {
			commands[refresh.Condition(p.Condition)] = "reportferry " + p.Command + again
		}
	}
	var last *notify.Trouble
	before := ""
	for _, e := range s.State.Calendar {
		reason, day, past := ofTables[e.Condition], e.Partition.String(), e.Condition == refresh.ChangedFinal
		if last != nil {
			last.After = day
		}
		switch {
		case reason == "":
			last = nil
		case last == nil || last.Reason != reason || last.Past != past:
			list = append(list, notify.Trouble{Job: s.Name, Reason: reason, From: day, Before: before, Past: past})
			last = &list[len(list)-1]
		}
		before = day
		if last == nil {
			continue
		}
		last.Through = day
		last.Count++
		if word := string(e.Condition); !slices.Contains(last.Conditions, word) {
			last.Conditions = append(last.Conditions, word)
			last.Do = strings.TrimSpace(last.Do + "\n" + commands[e.Condition])
		}
		if reason == notify.ChangedAfterFinal {
			last.Records = append(last.Records, day+"@"+e.Record.Brought().UTC().Format(time.RFC3339Nano))
		}
		switch why := status.Why(e); {
		case e.Gap != nil && e.Gap.Error != "":
			last.What = short(e.Gap.Error)
		case e.Gap == nil && why != "" && last.What == "":
			last.What = short(day + ": " + why)
		}
	}
	return list
}

// troublesOfFiles is the one that rows of files that a job has pushed weren't taken. Each content of a file is said once.
func troublesOfFiles(now time.Time, s pages.JobStatus, again string) (list []notify.Trouble) {
	t := notify.Trouble{Job: s.Name, Reason: notify.NotTaken, Past: true, Do: "reportferry " + s.Kind + " status --job " + s.Name + again}
	for _, f := range outbox.Latest(s.Pushed) {
		if f.NotTaken() == 0 || f.Error != "" || f.Open() || now.Sub(f.Last) >= outbox.Recent {
			continue
		}
		t.Records = append(t.Records, f.Name+"@"+f.Started.UTC().Format(time.RFC3339Nano))
		t.What = short(fmt.Sprintf("%s: %s", terminal.Line(f.Name), runs.NotTaken(f.Refused, f.Rejected, f.Partly, f.Conflicts)))
	}
	if t.Records == nil {
		return nil
	}
	slices.Sort(t.Records)
	return []notify.Trouble{t}
}

// runningOf are the partitions of a table that another run is fetching.
func runningOf(s pages.JobStatus) (list []notify.Trouble) {
	for _, e := range s.State.Calendar {
		if day := e.Partition.String(); e.Condition == refresh.Running {
			list = append(list, notify.Trouble{Job: s.Name, From: day, Through: day})
		}
	}
	return list
}

// troublesOfRun are those that only the errors of a run show. Of units that failed the ledger may have told.
func troublesOfRun(res ledger.Result, told bool, again string) (list []notify.Trouble) {
	count := map[string]int{}
	what := map[string]string{}
	for i, err := range res.Errs {
		reason := reasonOf(err)
		ofUnit := i < len(res.Failures) && res.Failures[i].Unit != ""
		if reason == notify.Failed && ofUnit && told {
			continue
		}
		if count[reason]++; what[reason] == "" {
			what[reason] = short(terminal.Text(err.Error()))
		}
	}
	for _, reason := range notify.Reasons {
		if count[reason] > 0 {
			list = append(list, notify.Trouble{Job: res.Job, Reason: reason, Count: count[reason], What: what[reason], Do: command(reason, res.Job, again)})
		}
	}
	return list
}

// reasonOf sorts an error of a run.
func reasonOf(err error) string {
	var header *table.HeaderError
	var refused *adjust.Error
	switch {
	case exit.Reason(err) == "denied":
		return notify.Denied
	case errors.Is(err, sinks.ErrConflict) || errors.Is(err, sinks.ErrForeign):
		return notify.Conflict
	case errors.As(err, &header) || errors.As(err, &refused) && refused.Metric != "":
		return notify.Schema
	}
	return notify.Failed
}

func command(reason, job, again string) string {
	return fmt.Sprintf(commands[reason], job) + again
}

// short is the first line of a text, as far as a message has room.
func short(text string) string {
	const most = 200
	line := []rune(human.FirstLine(text))
	if len(line) > most {
		line = append(line[:most-3], []rune("...")...)
	}
	return string(line)
}

// news is what a run knows, for those whom the config names.
func news(known []pages.JobStatus, r ledger.Run, names []string, again string) notify.News {
	n := notify.News{Run: r.ID, Began: r.Started, Calm: map[string]bool{}, Shared: map[string]bool{}}
	told := map[string]bool{} // of whose failures the ledger tells, now or when what is being fetched is over
	for _, s := range known {
		if !slices.Contains(names, s.Name) || s.Err != nil {
			continue // what isn't known isn't over
		}
		n.Jobs = append(n.Jobs, s.Name)
		for _, t := range troublesOf(s, again) {
			told[s.Name] = told[s.Name] || t.Reason == notify.Failed
			n.Troubles = append(n.Troubles, t)
		}
		n.Troubles = append(n.Troubles, troublesOfFiles(time.Now(), s, again)...)
		running := runningOf(s)
		told[s.Name] = told[s.Name] || len(running) > 0
		n.Running = append(n.Running, running...)
	}
	for _, res := range r.Results {
		n.Calm[res.Job] = res.Succeeded()
		n.Shared[res.Job] = res.Outcome.Held+res.Others > 0
		n.Troubles = append(n.Troubles, troublesOfRun(res, told[res.Job], again)...)
	}
	return n
}
