package ledger

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"
)

// A Result is what one job of a run resulted in.
type Result struct {
	Job     string  `json:"job"`
	Table   string  `json:"table"`
	Outcome Outcome `json:"outcome"`
	// Left counts the units for the next run, because the deadline was near or the run was stopped.
	Left int `json:"left,omitempty"`
	// Others counts partitions that were still due when the job was over, and that other tasks
	// share.
	Others  int  `json:"others,omitempty"`
	Stopped bool `json:"stopped,omitempty"` // the run ended before the job was over, or before it began
	Rest    Rest `json:"rest,omitzero"`
	// Newest is the newest partition that was fetched after its end, when the job was over.
	Newest *civil.Date `json:"newest_complete,omitempty"`
	// Problems are those of the table when the job was over, each with its newest days.
	Problems       []Problem     `json:"problems,omitempty"`
	Stored         Stored        `json:"-"`
	Took           time.Duration `json:"took_ns"`
	Errs           []error       `json:"-"`
	Failures       []Failure     `json:"failures,omitempty"`
	Timings        []Timing      `json:"timings,omitempty"` // of units, ascending; none in records of earlier versions
	TimingsLeftOut int           `json:"untold,omitempty"`  // number of units without a timing here, of very many
}

// Stored sums up what a table has when a job is over.
type Stored struct {
	Rows       int64
	Partitions int        // with rows
	Newest     civil.Date // the newest partition with rows
}

// Stored sums up what the partitions hold according to their records.
func (r Records) Stored() (s Stored) {
	for p, e := range r {
		if e.Rows > 0 {
			s.Rows += e.Rows
			s.Partitions++
			if p.After(s.Newest) {
				s.Newest = p
			}
		}
	}
	return s
}

// A Failure is an error as the ledger keeps it.
type Failure struct {
	Unit  string `json:"unit,omitempty"` // the unit that failed; empty: the job couldn't be planned or ended
	Error string `json:"error"`          // its first 500 bytes, as a terminal may show them
}

// Succeeded reports whether the job did everything that was due and that no other run holds. When
// several tasks share a job, only the last one can know that.
func (r Result) Succeeded() bool {
	got := r.Outcome.Held == 0 || r.Outcome.Held < r.Outcome.Windows
	return len(r.Failures) == 0 && len(r.Errs) == 0 && r.Left == 0 && r.Others == 0 && !r.Stopped &&
		r.Outcome.Waiting == 0 && got
}

// An Outcome counts what one unit, or several, resulted in. Each partition is counted once: as
// written, unchanged, empty, kept, failed, held back or still held.
type Outcome struct {
	Windows   int `json:"windows"`
	Held      int `json:"held"` // windows that another process holds
	Written   int `json:"written"`
	Unchanged int `json:"unchanged"`
	Empty     int `json:"empty"`
	Blank     int `json:"blank,omitempty"` // empty partitions of a table that had no record before
	Kept      int `json:"kept"`            // the answer was empty, and the old rows were kept as on_empty asks
	Failed    int `json:"failed"`
	HeldBack  int `json:"held_back,omitempty"`  // the answer isn't published, because it takes good rows away
	StillHeld int `json:"still_held,omitempty"` // held back since an earlier run: nothing new to report

	Unreconciled int `json:"unreconciled,omitempty"` // partitions whose rows differ from the service's totals
	// StillDiffers counts partitions whose rows differ from the totals just as in the two answers
	// before.
	StillDiffers int `json:"still_differs,omitempty"`
	// Suspected counts partitions met in this run that have no rows, although the periods on each
	// side have some.
	Suspected int `json:"suspected,omitempty"`
	Moved     int `json:"moved,omitempty"` // final partitions whose numbers changed all the same
	// Probed counts partitions that weren't fetched, because their totals haven't changed.
	Probed int `json:"probed,omitempty"`
	Unkept int `json:"unkept,omitempty"` // raw answers that couldn't be kept

	Compared int `json:"compared,omitempty"` // final partitions that were compared with the service's totals of today
	// Drifted counts those of them that have changed and keep their rows, as drift: warn asks.
	Drifted int `json:"drifted,omitempty"`
	Unseen  int `json:"unseen,omitempty"` // final partitions that couldn't be compared with the totals

	Refused   int64 `json:"refused,omitempty"`   // invalid rows of pushed files, which weren't sent
	Rejected  int64 `json:"rejected,omitempty"`  // rows that the service refused
	Partly    int64 `json:"partly,omitempty"`    // of the rejected rows, those that the service took in part
	Conflicts int64 `json:"conflicts,omitempty"` // rows not sent, in conflict with what was sent before
	Skipped   int64 `json:"skipped,omitempty"`   // rows that are no records: totals, notes, empty ones

	Waiting int       `json:"waiting,omitempty"` // windows that were postponed
	Due     time.Time `json:"due,omitzero"`      // when the first of the postponed windows is due, if known

	Requests     int64         `json:"requests"`
	Retries      int64         `json:"retries"`
	Limiter      time.Duration `json:"limiter_ns"`           // time spent waiting for the limiter
	Backoff      time.Duration `json:"backoff_ns"`           // time spent waiting between the attempts of a request
	Convert      time.Duration `json:"convert_ns,omitempty"` // time spent on converting answers to Parquet
	Put          time.Duration `json:"put_ns,omitempty"`     // time spent on publishing partitions
	Rows         int64         `json:"rows"`
	Rounded      int64         `json:"rounded"` // money cells that had more than six decimals
	Nulls        int64         `json:"nulls"`   // blank cells of metrics
	Altered      []Alteration  `json:"altered,omitempty"`
	CSVBytes     int64         `json:"csv_bytes"`
	ParquetBytes int64         `json:"parquet_bytes"`
}

// Add adds o's counts.
func (t *Outcome) Add(o Outcome) {
	t.Windows += o.Windows
	t.Held += o.Held
	t.Written += o.Written
	t.Unchanged += o.Unchanged
	t.Empty += o.Empty
	t.Blank += o.Blank
	t.Kept += o.Kept
	t.Failed += o.Failed
	t.HeldBack += o.HeldBack
	t.StillHeld += o.StillHeld
	t.StillDiffers += o.StillDiffers
	t.Unreconciled += o.Unreconciled
	t.Suspected += o.Suspected
	t.Moved += o.Moved
	t.Probed += o.Probed
	t.Unkept += o.Unkept
	t.Compared += o.Compared
	t.Drifted += o.Drifted
	t.Unseen += o.Unseen
	t.Refused += o.Refused
	t.Rejected += o.Rejected
	t.Partly += o.Partly
	t.Conflicts += o.Conflicts
	t.Skipped += o.Skipped
	t.Waiting += o.Waiting
	if t.Due.IsZero() || !o.Due.IsZero() && o.Due.Before(t.Due) {
		t.Due = o.Due
	}
	t.Requests += o.Requests
	t.Retries += o.Retries
	t.Limiter += o.Limiter
	t.Backoff += o.Backoff
	t.Convert += o.Convert
	t.Put += o.Put
	t.Rows += o.Rows
	t.Rounded += o.Rounded
	t.Nulls += o.Nulls
	for _, a := range o.Altered {
		t.Alter(a)
	}
	t.CSVBytes += o.CSVBytes
	t.ParquetBytes += o.ParquetBytes
}

// An Alteration says that cells of a column were stored in another form than they came in.
type Alteration struct {
	Column string `json:"column"`
	What   string `json:"what"` // what happened to the cells, as a sentence
	Cells  int64  `json:"cells"`
	First  string `json:"first"` // the value and the place of the first one
}

// Alter adds an alteration to those of the same column and kind.
func (t *Outcome) Alter(a Alteration) {
	i := slices.IndexFunc(t.Altered, func(b Alteration) bool { return a.Column == b.Column && a.What == b.What })
	if i < 0 {
		t.Altered = append(slices.Clip(t.Altered), a)
		return
	}
	t.Altered = slices.Clone(t.Altered)
	t.Altered[i].Cells += a.Cells
}

// Measure sets how many requests the unit took and how long it waited, as the client of the job's
// kind has counted.
func (t *Outcome) Measure(requests, retries, csvBytes int64, limiter, backoff time.Duration) {
	t.Requests, t.Retries, t.CSVBytes, t.Limiter, t.Backoff = requests, retries, csvBytes, limiter, backoff
}

// Asked adds further requests to the service, and how long they waited.
func (t *Outcome) Asked(o Outcome) {
	t.Measure(t.Requests+o.Requests, t.Retries+o.Retries, t.CSVBytes+o.CSVBytes, t.Limiter+o.Limiter,
		t.Backoff+o.Backoff)
}

// Count counts one partition by its state.
func (t *Outcome) Count(s State) {
	switch s {
	case Unchanged:
		t.Unchanged++
	case Empty:
		t.Empty++
	case Kept:
		t.Kept++
	default:
		t.Written++
	}
}

// AllBlank reports whether a table was fetched for the first time and has no row at all, which a
// wrong filter, start or token may have caused.
func (t Outcome) AllBlank() bool { return t.Blank > 0 && t.Written+t.Unchanged+t.Kept == 0 }

// NotTaken returns how many rows of pushed files weren't taken as they are.
func (t Outcome) NotTaken() int64 { return t.Refused + t.Rejected + t.Conflicts }

// Done returns how many partitions are as they should be.
func (t Outcome) Done() int { return t.Written + t.Unchanged + t.Empty + t.Kept + t.Probed }

// A Problem is something that is wrong with partitions of a table, or worth knowing about them.
// Package status finds problems, and words them the same for commands, pages, notices, results and
// records of runs.
type Problem struct {
	Condition  string        `json:"condition"` // a short name, one of refresh.Condition or of package status
	What       string        `json:"what"`      // how many partitions have it, and what it is
	Partitions int           `json:"partitions"`
	Days       []ProblemDays `json:"days,omitempty"`    // the newest first
	Advice     string        `json:"advice,omitempty"`  // what Command is for, or what happens without one
	Command    string        `json:"command,omitempty"` // what ends it, or shows more of it, without the program's name
	Wrong      bool          `json:"wrong"`             // true: it should be ended; false: it is only worth knowing

	// Run is the last run of the job, if the problem is about that and not about partitions.
	Run    string   `json:"run,omitempty"`
	Errors []string `json:"errors,omitempty"` // the errors of Run
}

// ProblemDays is a range of successive partitions with the same problem.
type ProblemDays struct {
	From       civil.Date `json:"from"`    // the first partition
	Through    civil.Date `json:"through"` // the last one
	Partitions int        `json:"partitions"`
	Why        string     `json:"why,omitempty"`
	Run        string     `json:"run,omitempty"`   // the run that failed or was interrupted
	Error      string     `json:"error,omitempty"` // the error of the failure
}

// A Rest is what a table lacks although nothing of it is due. A run that leaves it unchanged hasn't
// failed, but reports it.
type Rest struct {
	Lacking Lacking `json:"lacking,omitzero"`
	Lost    int     `json:"lost,omitempty"` // partitions that can't be fetched any more
	// Kept counts partitions whose last answer was empty: they show older rows, as on_empty asks.
	Kept int `json:"kept,omitempty"`
}

// Lacking says how many partitions lack columns that the table has now.
type Lacking struct {
	Partitions int      `json:"partitions"`
	Columns    []string `json:"columns"` // columns that at least one of them lacks, ascending
	Later      bool     `json:"later"`   // runs don't fetch them again, as the config asks
}
