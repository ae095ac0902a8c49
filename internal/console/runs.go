package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/console/timeline"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/status"
)

// A runLine is a run in the list of all.
type runLine struct {
	ledger.Run
	State   state
	Outcome string
	Meaning string // of the exit code
	Took    time.Duration
	Jobs    []string
	Linked  bool // it has a page
}

// A runBody is one run.
type runBody struct {
	runLine
	Failed  []problem
	Results []runJob
	Axis    []timeline.Tick
	Phases  []timeline.Phase
	Untimed bool // it did something, and its record doesn't say how long that took
}

// A runJob is what a run did for one job.
type runJob struct {
	ledger.Result
	Did  string // in a few words
	Bars []timeline.Bar
}

// runList shows the last runs.
func (c *Console) runList(ctx context.Context, _ vars) (view, error) {
	s := c.cache.get(ctx, func(Job) bool { return false })
	body := struct {
		Unread bool
		Idle   ledger.Idle
		Runs   []runLine
	}{Unread: s.err != nil || s.past.Damaged != nil, Idle: s.past.Idle}
	for _, r := range s.past.Runs {
		body.Runs = append(body.Runs, lineOf(r))
	}
	return view{"Runs", "runs.html", body}, nil
}

// run shows one run.
func (c *Console) run(ctx context.Context, names vars) (view, error) {
	s := c.cache.get(ctx, func(Job) bool { return false })
	at := slices.IndexFunc(s.past.Runs, func(r ledger.Run) bool { return r.ID == names["run"] })
	if at < 0 {
		return view{}, errNoPage
	}
	r := s.past.Runs[at]
	b := runBody{runLine: lineOf(r), Phases: timeline.Phases, Failed: failedIn(r)}
	b.Axis = timeline.Axis(b.Took)
	timed, done := 0, 0
	for _, res := range r.Results {
		b.Results = append(b.Results, runJob{res, outcome(res), timeline.Bars(r.Started, b.Took, res.Timings)})
		timed += len(res.Timings)
		done += res.Outcome.Windows - res.Outcome.Held
	}
	b.Untimed = timed == 0 && done > 0
	return view{"Run " + r.ID, "run.html", b}, nil
}

// eachRun names the runs that have a page.
func (c *Console) eachRun(ctx context.Context) (all []vars) {
	for _, r := range c.cache.get(ctx, func(Job) bool { return false }).past.Runs {
		if pathSafe(r.ID) {
			all = append(all, vars{"run": r.ID})
		}
	}
	return all
}

// plainName matches names that are the same in a path, in a URL and in a file system.
var plainName = lazy.Regexp(`^[0-9A-Za-z_][0-9A-Za-z_.-]*$`)

// pathSafe tells whether a name of the ledger may stand in the path of a page.
func pathSafe(name string) bool { return plainName().MatchString(name) && len(name) <= 200 }

// lineOf returns a run as the list of runs shows it.
func lineOf(r ledger.Run) runLine {
	l := runLine{Run: r, State: runState(r), Outcome: wording.Outcome(r), Linked: pathSafe(r.ID)}
	l.Meaning, _, _ = strings.Cut(wording.Meaning(r.Exit), "; of status") // the rest is about commands
	if r.Ended != nil {
		l.Took = max(0, r.Ended.Sub(r.Started))
	}
	for _, res := range r.Results {
		l.Jobs = append(l.Jobs, res.Job)
	}
	return l
}

// runState says how a run ended.
func runState(r ledger.Run) state {
	if r.Ended == nil {
		return state{"soft", "…", "no end"}
	}
	switch r.Exit {
	case jobs.ExitDone:
		return state{"good", "✔", "done"}
	case jobs.ExitSome:
		return state{"warn", "◑", "incomplete"}
	case jobs.ExitHeld:
		return state{"none", "⇄", "held by others"}
	case jobs.ExitInterrupted:
		return state{"soft", "■", "stopped"}
	case jobs.ExitDenied:
		return state{"bad", "✖", "refused"}
	}
	return failed
}

// mostFailures is how many failures the page of a run names, about as many for each job.
const mostFailures = 100

// failedIn lists what failed in a run.
func failedIn(r ledger.Run) (list []problem) {
	most := max(2, mostFailures/max(1, len(r.Results)))
	for _, res := range r.Results {
		if len(res.Failures) > 0 {
			p := status.Failed(res.Job, "", res.Failures, most)
			list = append(list, problem{Job: res.Job, State: failed, What: p.What, Details: p.Errors,
				Advice: sentence(p), Type: []string{p.Command}})
		}
	}
	further := status.FurtherErrors(r)
	for _, text := range further[:min(len(further), mostFailures)] {
		list = append(list, problem{State: failed, Details: []string{text}})
	}
	return list
}
