package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/adjust"
	pages "github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/internal/notify"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// reasonsByCondition has, for each condition of a partition in the ledger that is a problem, the
// reason under which the problem is reported.
var reasonsByCondition = map[refresh.Condition]string{
	refresh.Broken: notify.Failed, refresh.CutOff: notify.Stale, refresh.Absent: notify.Stale,
	refresh.HeldBack: notify.HeldBack, refresh.Differs: notify.Unreconciled,
	refresh.DiffersAlike: notify.Unreconciled, refresh.Suspicious: notify.HeldBack, refresh.Mixed: notify.Stale,
	refresh.Deleted: notify.Stale, refresh.Replaced: notify.Stale,
	refresh.TooOld:       notify.Failed,
	refresh.ChangedFinal: notify.ChangedAfterFinal, refresh.MovedAndLeft: notify.ChangedAfterFinal,
}

// commandsByReason has the command to run about a problem that only the errors of a run show, by
// reason; %s is the job.
var commandsByReason = map[string]string{
	notify.Failed: "reportferry status %s", notify.Denied: "reportferry check %s",
	notify.Schema: "reportferry check %s", notify.Conflict: "reportferry check %s",
}

// problemsOf returns the problems of a table: one for each run of consecutive partitions that have
// the same reason. A problem of numbers that changed after they had been final, or that stay though
// the service has changed them, also names the contents that the ledger has of these partitions.
// configFlag ends each command: it names the config of this process, or is empty.
func problemsOf(s pages.JobStatus, configFlag string) (list []notify.Problem) {
	if s.Err != nil || s.Inspect == nil {
		return nil
	}
	commands := map[refresh.Condition]string{}
	for _, p := range s.State.Problems {
		if commands[refresh.Condition(p.Condition)] = p.Advice; p.Command != "" {
			commands[refresh.Condition(p.Condition)] = "reportferry " + p.Command + configFlag
		}
	}
	var last *notify.Problem // the problem of the partition before; nil when that had none
	before := ""             // the day before
	for _, e := range s.State.Calendar {
		reason, day := reasonsByCondition[e.Condition], e.Partition.String()
		past := e.Condition == refresh.ChangedFinal // a change has happened, and doesn't go on
		// The partition goes on with the last problem, or ends it and may begin another.
		if last != nil && (last.Reason != reason || last.Past != past) {
			last.After, last = day, nil
		}
		if reason != "" && last == nil {
			list = append(list, notify.Problem{Job: s.Name, Reason: reason, From: day, Before: before, Past: past})
			last = &list[len(list)-1]
		}
		before = day
		if reason == "" {
			continue
		}
		// What the partition adds to its problem. Of errors the newest is the most useful.
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
			last.What = shortLine(e.Gap.Error)
		case e.Gap == nil && why != "" && last.What == "":
			last.What = shortLine(day + ": " + why)
		}
	}
	return list
}

// problemsOfFiles returns one problem when the service didn't take some rows of recently pushed
// files, and none otherwise. Each content of a file is reported once.
func problemsOfFiles(now time.Time, s pages.JobStatus, configFlag string) []notify.Problem {
	p := notify.Problem{Job: s.Name, Reason: notify.NotTaken, Past: true,
		Do: "reportferry " + s.Kind + " status --job " + s.Name + configFlag}
	for _, f := range outbox.Latest(s.Pushed) {
		if f.NotTaken() == 0 || f.Error != "" || f.Open() || now.Sub(f.Last) >= outbox.Recent {
			continue
		}
		p.Records = append(p.Records, f.Name+"@"+f.Started.UTC().Format(time.RFC3339Nano))
		p.What = shortLine(fmt.Sprintf("%s: %s", terminal.Line(f.Name), see.NotTaken(f.Refused, f.Rejected, f.Partly,
			f.Conflicts)))
	}
	if p.Records == nil {
		return nil
	}
	slices.Sort(p.Records)
	return []notify.Problem{p}
}

// problemsOfRun returns the problems that only the errors of a run show. It leaves out errors of
// units that failed if the ledger shows failures of the job, which ledgerShows says.
func problemsOfRun(res ledger.Result, ledgerShows bool, configFlag string) (list []notify.Problem) {
	for _, reason := range notify.Reasons {
		p := notify.Problem{Job: res.Job, Reason: reason}
		for i, err := range res.Errs {
			ofUnit := i < len(res.Failures) && res.Failures[i].Unit != ""
			if reasonOfError(err) != reason || reason == notify.Failed && ofUnit && ledgerShows {
				continue
			}
			if p.Count++; p.Count == 1 {
				p.What, p.Do = shortLine(terminal.Text(err.Error())), fmt.Sprintf(commandsByReason[reason],
					res.Job)+configFlag
			}
		}
		if p.Count > 0 {
			list = append(list, p)
		}
	}
	return list
}

// reasonOfError returns the reason under which an error of a run is reported.
func reasonOfError(err error) string {
	_, header := errors.AsType[*table.HeaderError](err)
	refused, _ := errors.AsType[*adjust.Error](err)
	switch {
	case text.FailureReason(err) == "denied":
		return notify.Denied
	case errors.Is(err, sinks.ErrConflict), errors.Is(err, sinks.ErrForeign):
		return notify.Conflict
	case header, errors.Is(err, jobs.ErrContract), refused != nil && refused.Metric != "":
		return notify.Schema
	}
	return notify.Failed
}

// shortLine returns the first line of a text, cut to the 200 characters that a message has room
// for.
func shortLine(message string) string {
	const most = 200
	line := []rune(text.FirstLine(message))
	if len(line) > most {
		line = append(line[:most-3], []rune("...")...)
	}
	return string(line)
}

// newsOf returns what a run has to report: the problems of the jobs called names, from the ledger
// and from the run's errors.
func newsOf(known []pages.JobStatus, r ledger.Run, names []string, configFlag string) notify.News {
	n := notify.News{Run: r.ID, Began: r.Started, Calm: map[string]bool{}, Shared: map[string]bool{}}
	// ledgerShows has the jobs whose failures the ledger shows, now or after fetches that are under
	// way.
	ledgerShows := map[string]bool{}
	for _, s := range known {
		if !slices.Contains(names, s.Name) || s.Err != nil {
			continue // a job whose state isn't known has no problem that is over
		}
		n.Jobs = append(n.Jobs, s.Name)
		for _, p := range problemsOf(s, configFlag) {
			ledgerShows[s.Name] = ledgerShows[s.Name] || p.Reason == notify.Failed
			n.Problems = append(n.Problems, p)
		}
		n.Problems = append(n.Problems, problemsOfFiles(time.Now(), s, configFlag)...)
		for _, e := range s.State.Calendar {
			if day := e.Partition.String(); e.Condition == refresh.Running {
				ledgerShows[s.Name] = true
				n.Running = append(n.Running, notify.Problem{Job: s.Name, From: day, Through: day})
			}
		}
	}
	for _, res := range r.Results {
		n.Calm[res.Job] = res.Succeeded()
		n.Shared[res.Job] = res.Outcome.Held+res.Others > 0
		n.Problems = append(n.Problems, problemsOfRun(res, ledgerShows[res.Job], configFlag)...)
	}
	return n
}
