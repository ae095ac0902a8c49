package console

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// stripDays is how many of a table's newest partitions the overview shows.
const stripDays = 31

// overviewBody is a line for each job, and the headline above them.
type overviewBody struct {
	Jobs         []overviewJob
	Fresh, Never int   // jobs without a problem that have run, and that haven't
	Error        error // runs couldn't be read
	Legend       []legendRow
}

type overviewJob struct {
	Name, Kind string
	State      state
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
	Strip      []calendarCell
}

// overview shows of each job whether it is as it should be.
func (c *Console) overview(ctx context.Context, _ vars) (view, error) {
	s := c.cache.see(ctx, nil)
	b := overviewBody{Error: s.err}
	var tables []Look
	for _, j := range s.jobs {
		l := j.look
		l.Calendar = l.Calendar[max(0, len(l.Calendar)-stripDays):]
		o := overviewOf(s, j)
		for _, e := range l.Calendar {
			o.Strip = append(o.Strip, calendarCell{Name: day(e.Partition), State: l.state(e.Condition)})
		}
		switch o.State {
		case fresh:
			b.Fresh++
		case neverRun:
			b.Never++
		}
		b.Jobs, tables = append(b.Jobs, o), append(tables, l)
	}
	b.Legend = legendOf(tables...)
	return view{"Overview", "overview.html", b}, nil
}

func overviewOf(s sight, j seen) overviewJob {
	o := overviewJob{Name: j.Name, Kind: j.Kind, State: fresh, Due: len(j.look.Due), Page: hasPage(j.Job)}
	if o.Run, o.Did = lastRun(s.past, j.Name); o.Run != nil {
		o.Linked = s.linked(o.Run.ID)
	}
	if all := problemsOf(s, j); len(all) > 0 { // the worst comes first
		if o.Why = all[0].What; !all[0].known || all[0].State == neverRun {
			o.State = all[0].State
		}
	}
	if j.Schedule != nil {
		o.Next = j.Schedule.Next(s.now)
	}
	if o.Due > 0 {
		o.Reason = j.look.Due[0].Reason
	}
	if o.Newest = j.look.Fresh.Newest; o.Newest != nil {
		o.Ended = endOf(j, *o.Newest)
	}
	return o
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
