package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// A runMonth is the document of the runs that began in one month, runs/{month}.json.
type runMonth struct {
	Runs []Run `json:"runs"` // ascending by ID

	// Success is when each job last ended a run without a failure. A month starts with the times of
	// the months before. A run that begins in one month and ends in the next notes its success in
	// its own month, when the next may have been started already. So readers, and the run that
	// starts a month, use the later time of the two newest months: that needs no second write, and
	// no run lasts a month.
	Success map[string]time.Time `json:"success,omitempty"`

	Idle    Idle `json:"idle,omitzero"`
	Dropped int  `json:"dropped,omitempty"` // number of old runs dropped, because the document had no room
}

// Idle counts runs in which nothing was done. The last run of each job isn't counted but kept as a
// record until the job has run again.
type Idle struct {
	Runs int       `json:"runs"`
	Last time.Time `json:"last"` // when the last one of them ended
}

// add adds the runs that o counts.
func (i *Idle) add(o Idle) {
	i.Runs += o.Runs
	if o.Last.After(i.Last) {
		i.Last = o.Last
	}
}

const (
	// keyOfRuns is the key of a month's document, as a layout of package time.
	keyOfRuns = "runs/2006-01.json"
	// keepRuns is for how many days the ledger keeps runs: 90, and one more for runs that went on
	// into the next month.
	keepRuns = 90 + 1
	// mostOfRuns is how many bytes of JSON a month may have before the older half of its runs is
	// dropped. Compressed, that is less than a fifth.
	mostOfRuns = 4 << 20
)

// find returns the index of a run, or a negative number if there is none.
func (m *runMonth) find(id string) int {
	return slices.IndexFunc(m.Runs, func(r Run) bool { return r.ID == id })
}

// save stores the record of a run. before has earlier successes by job; full says that the older
// half of the runs must be dropped. The newest run, and the last one of each job, which shows the
// state of the job, are always kept.
func (m *runMonth) save(r Run, before map[string]time.Time, full bool) {
	if m.Success == nil {
		m.Success = map[string]time.Time{}
	}
	latest(m.Success, before)
	for _, res := range r.Results {
		if r.Ended != nil && r.Trigger != Replayed && res.Succeeded() {
			latest(m.Success, map[string]time.Time{res.Job: *r.Ended})
		}
	}
	m.Runs = append(slices.DeleteFunc(m.Runs, func(o Run) bool { return o.ID == r.ID }), r)
	slices.SortFunc(m.Runs, func(a, b Run) int { return strings.Compare(a.ID, b.ID) })
	// Drop the runs that were idle and, if full, the older half. followed has the jobs that a newer
	// run included.
	followed, half := map[string]bool{}, len(m.Runs)/2
	for i, run := range slices.Backward(m.Runs) {
		last := i == len(m.Runs)-1
		for _, res := range run.Results {
			last = last || !followed[res.Job]
			followed[res.Job] = true
		}
		switch {
		case last:
			continue
		case run.idle():
			m.Idle.add(Idle{1, *run.Ended})
		case full && i < half:
			m.Dropped++
		default:
			continue
		}
		m.Runs = slices.Delete(m.Runs, i, i+1)
	}
}

// latest copies from more to all the times that are later.
func latest(all, more map[string]time.Time) {
	for job, at := range more {
		if at.After(all[job]) {
			all[job] = at
		}
	}
}

// runsOf returns the document of a month's runs. A process has one document for each month.
func (l *Ledger) runsOf(key string) *Document[runMonth] {
	d := NewDocument[runMonth](l, key, "")
	d.damage.Lacks = "the runs of that month are then on record nowhere, and no table changes"
	known, _ := l.months.LoadOrStore(key, d)
	return known.(*Document[runMonth]) //nolint:forcetypeassert // nothing else is stored
}

// A Past is what the ledger knows of runs.
type Past struct {
	Runs    []Run                // the last ones, the newest first
	Success map[string]time.Time // by job: the time when it last ended a run without a failure
	Idle    Idle                 // sum over the months that were read
	Dropped int                  // runs that were dropped (runMonth.Dropped), in the same months
	Since   time.Time            // when the oldest month that was read begins
	Damaged []error              // months that are left out, each a *DamagedError
	months  []time.Time          // all months with runs, the newest first
}

// Past reads the newest n runs, and the last success of every job. It takes one listing, and reads
// the two newest months, or as many as have n runs. Months whose listed version this process
// already has aren't read again.
func (l *Ledger) Past(ctx context.Context, n int) (p Past, err error) {
	p.Success = map[string]time.Time{}
	objects, err := l.Objects(ctx, "runs/")
	read := 0
	for _, o := range slices.Backward(objects) {
		month, foreign := time.Parse(keyOfRuns, o.Key)
		if foreign != nil {
			continue
		}
		if p.months = append(p.months, month); read >= 2 && len(p.Runs) >= n {
			continue
		}
		d := l.runsOf(o.Key)
		if v := d.Version(); v == "" || v != o.Version {
			var damaged *DamagedError
			if _, _, err := d.Load(ctx); errors.As(err, &damaged) {
				p.Damaged = append(p.Damaged, err)
				continue
			} else if err != nil {
				return p, err
			}
		}
		m := d.Last()
		for _, r := range slices.Backward(m.Runs) {
			p.Runs = append(p.Runs, r)
		}
		if p.Since = month; read < 2 {
			latest(p.Success, m.Success)
		}
		p.Idle.add(m.Idle)
		p.Dropped += m.Dropped
		read++
	}
	p.Runs = p.Runs[:min(n, len(p.Runs))]
	return p, err
}

// endedBy returns the keys of the months that were over at a moment.
func (p Past) endedBy(at time.Time) (keys []string) {
	for _, month := range p.months {
		if month.AddDate(0, 1, 0).Before(at) {
			keys = append(keys, month.Format(keyOfRuns))
		}
	}
	return keys
}

// LastSuccess returns when a job last ended a run without a failure, as far as this process knows;
// zero if never. A run reads these times when it begins.
func (l *Ledger) LastSuccess(job string) time.Time {
	last := map[string]time.Time{}
	for _, d := range l.months.Range {
		month := d.(*Document[runMonth]) //nolint:forcetypeassert // likewise
		latest(last, map[string]time.Time{job: month.Last().Success[job]})
	}
	return last[job]
}

// Last returns the newest run that included a job, and the job's result in it; nil when none is
// known.
func (p Past) Last(job string) (*Run, *Result) {
	for i, run := range p.Runs {
		if at := slices.IndexFunc(run.Results, func(r Result) bool { return r.Job == job }); at >= 0 {
			return &p.Runs[i], &run.Results[at]
		}
	}
	return nil, nil
}

// SuccessOf returns when a job last ended a run without a failure; nil if never.
func (p Past) SuccessOf(job string) *time.Time {
	if at, known := p.Success[job]; known {
		return &at
	}
	return nil
}
