package console

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// stripDays is how many of a table's newest partitions the overview shows.
const stripDays = 31

// overviewBody is a line for each job.
type overviewBody struct {
	Jobs   []overviewJob
	Error  error // runs couldn't be read
	Ledger string
}

type overviewJob struct {
	Name, Kind string
	Zone, Days *time.Location
	Light      state
	Why        string
	Newest     *civil.Date
	Ended      time.Time // end of the newest partition's period
	Next       time.Time // when the schedule fires
	Page       bool      // the job has one
	Linked     string
	Run        *ledger.Run
	Did        string
	Due        int
	Reason     refresh.Reason // of the first that is due
	Strip      []refresh.Entry
}

// overview shows of each job whether it is as it should be.
func (c *Console) overview(ctx context.Context, _ vars) (view, error) {
	s := c.cache.see(ctx, nil)
	b := overviewBody{Error: s.err}
	for _, j := range s.jobs {
		b.Jobs = append(b.Jobs, overviewOf(s, j))
	}
	return view{"Overview", "overview.html", b}, nil
}

func overviewOf(s sight, j seen) overviewJob {
	o := overviewJob{Name: j.Name, Kind: j.Kind, Zone: j.Zone, Days: cmp.Or(j.Days, j.Zone, time.UTC), Due: len(j.look.Due)}
	if o.Run, o.Did = lastRun(s.past, j.Name); o.Run != nil {
		o.Linked = s.linked(o.Run.ID)
	}
	o.Page = hasPage(j.Job)
	o.Light, o.Why = light(s, j)
	if j.Schedule != nil {
		o.Next = j.Schedule.Next(s.now)
	}
	if o.Due > 0 {
		o.Reason = j.look.Due[0].Reason
	}
	if o.Newest = j.look.Fresh.Newest; o.Newest != nil {
		o.Ended = endOf(j, *o.Newest)
	}
	all := j.look.Calendar
	o.Strip = all[max(0, len(all)-stripDays):]
	return o
}

// light says how a job is, by the worst that is so.
func light(s sight, j seen) (state, string) {
	run, _ := lastRun(s.past, j.Name)
	standing := j.look.Standing
	var worst *ledger.Problem
	if list := j.look.Problems; len(list) > 0 && list[0].Wrong {
		worst = &list[0]
	}
	switch {
	case j.err != nil:
		return unsure, j.err.Error()
	case run != nil && failure(*run, j.Name) != "":
		return failing, failure(*run, j.Name)
	case j.look.Missing() > 0 && len(j.look.Calendar) > 0 && j.look.Fresh.Newest != nil:
		return late, plural(j.look.Missing(), "partition") + " missing"
	case s.past.SuccessOf(j.Name) == nil && run == nil && j.look.Fresh.Newest == nil:
		return neverRun, "no run of it is recorded"
	case j.look.Missing() > 0:
		return late, plural(j.look.Missing(), "partition") + " missing"
	case worst != nil:
		return stateOf(refresh.Condition(worst.Condition)), worst.What
	case standing.Moved > 0:
		return changed, plural(standing.Moved, "partition") + " changed after being final"
	}
	return fresh, ""
}

// lastRun is the newest run that had a job, and what came of it.
func lastRun(past ledger.Past, job string) (*ledger.Run, string) {
	for i, r := range past.Runs {
		for _, res := range r.Results {
			if res.Job == job {
				return &past.Runs[i], outcome(res)
			}
		}
	}
	return nil, ""
}

// failure is the first error of a job in a run; empty when it had none.
func failure(r ledger.Run, job string) string {
	for _, res := range r.Results {
		if res.Job == job && len(res.Failures) > 0 {
			return res.Failures[0].Error
		}
	}
	return ""
}

// outcome says in a few words what came of a job in a run.
func outcome(r ledger.Result) string {
	o := r.Outcome
	switch {
	case len(r.Failures) > 0:
		return plural(len(r.Failures), "failure")
	case o.Written > 0:
		return fmt.Sprintf("%d written", o.Written)
	case r.Stopped:
		return "stopped"
	case o.Windows == 0:
		return "nothing was due"
	case o.Held == o.Windows:
		return "held by others"
	}
	return "nothing new"
}
