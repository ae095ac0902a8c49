package console

import (
	"context"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// stripDays is how many of a table's newest partitions the overview shows.
const stripDays = 31

// overviewBody is a line for each job, and the headline above them.
type overviewBody struct {
	Jobs         []overviewJob
	Fresh, Never int   // how many jobs are fresh, and how many have never run
	Error        error // why runs couldn't be read
	Legend       []legendRow
}

// An overviewJob is the overview's line of a job.
type overviewJob struct {
	Name, Kind string
	State      state
	Why        string // what its worst problem is; empty: it has none
	Newest     *civil.Date
	Ended      time.Time      // end of the newest partition's period
	Next       time.Time      // when the schedule fires
	Page       bool           // the job has a page
	Linked     string         // the ID of Run, if it has a page
	Run        *ledger.Run    // the last run of the job; nil: none is known
	Did        string         // what came of the job in Run
	Due        int            // how many partitions a run would fetch now
	Reason     refresh.Reason // why the first due partition is due
	Strip      []calendarCell
}

// overview shows of each job whether it is as it should be.
func (c *Console) overview(ctx context.Context, _ vars) (view, error) {
	s := c.cache.get(ctx, nil)
	b := overviewBody{Error: s.err}
	var tables []TableState
	for _, j := range s.jobs {
		l := j.State
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

// overviewOf returns the overview's line of a job, without its strip of partitions.
func overviewOf(s snapshot, j JobStatus) overviewJob {
	o := overviewJob{Name: j.Name, Kind: j.Kind, State: fresh, Due: len(j.State.Due), Page: hasPage(j.Job)}
	if run, res := s.past.Last(j.Name); run != nil {
		o.Run, o.Did, o.Linked = run, outcome(*res), s.linked(run.ID)
	}
	if all := problemsOf(s, j); len(all) > 0 { // the worst comes first
		if o.Why = all[0].What; !all[0].harmless || all[0].State == neverRun {
			o.State = all[0].State
		}
	}
	if j.Schedule != nil {
		o.Next = j.Schedule.Next(s.now)
	}
	if o.Due > 0 {
		o.Reason = j.State.Due[0].Reason
	}
	if o.Newest = j.State.Fresh.Newest; o.Newest != nil {
		o.Ended = endOf(j, *o.Newest)
	}
	return o
}

// outcome says in a few words what came of a job in a run.
func outcome(r ledger.Result) string {
	return wording.Outcome(ledger.Run{Ended: &time.Time{}, Results: []ledger.Result{r}})
}
