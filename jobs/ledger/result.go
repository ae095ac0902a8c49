package ledger

import (
	"slices"
	"time"

	"cloud.google.com/go/civil"
)

// A Result is what came of one job.
type Result struct {
	Job     string  `json:"job"`
	Table   string  `json:"table"`
	Outcome Outcome `json:"outcome"`
	// Units for the next run, because the deadline was near or the run was stopped.
	Left int `json:"left,omitempty"`
	// Partitions that were due when the job was over, and that other tasks have a part of.
	Others  int  `json:"others,omitempty"`
	Stopped bool `json:"stopped,omitempty"` // before the job was over, or before it began
	Rest    Rest `json:"rest,omitzero"`
	// The newest partition fetched after its end, when the job was over.
	Newest *civil.Date `json:"newest_complete,omitempty"`
	// Of its table, when the job was over, with the newest of their days.
	Problems []Problem     `json:"problems,omitempty"`
	Stored   Stored        `json:"-"`
	Took     time.Duration `json:"took_ns"`
	Errs     []error       `json:"-"`
	Failures []Failure     `json:"failures,omitempty"`
	Timings  []Timing      `json:"timings,omitempty"` // of units, ascending; records of earlier versions have none
	Untold   int           `json:"untold,omitempty"`  // units without a timing, because there were so many
}

// Stored is what a table has when a job is over.
type Stored struct {
	Rows       int64
	Partitions int        // with rows
	Newest     civil.Date // of these
}

// Stored counts what the partitions hold by their records.
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

// A Failure is what the ledger keeps of an error.
type Failure struct {
	Unit  string `json:"unit,omitempty"` // which failed; empty: the job couldn't be planned, or not be ended
	Error string `json:"error"`          // its first 500 bytes, as a terminal may show them
}

// Succeeded tells whether the job did everything that was due and that no other run holds. Of
// several tasks that share a job only the last one can know.
func (r Result) Succeeded() bool {
	got := r.Outcome.Held == 0 || r.Outcome.Held < r.Outcome.Windows
	return len(r.Failures) == 0 && len(r.Errs) == 0 && r.Left == 0 && r.Others == 0 && !r.Stopped &&
		r.Outcome.Waiting == 0 && got
}

// An Outcome counts what came of a unit, or of many. Each partition is counted once: as written,
// unchanged, empty, kept, failed, held back or still held.
type Outcome struct {
	Windows   int `json:"windows"`
	Held      int `json:"held"` // windows that another process holds
	Written   int `json:"written"`
	Unchanged int `json:"unchanged"`
	Empty     int `json:"empty"`
	Blank     int `json:"blank,omitempty"` // empty ones of a table without any record before
	Kept      int `json:"kept"`            // empty in the answer, old rows kept as on_empty asks
	Failed    int `json:"failed"`
	HeldBack  int `json:"held_back,omitempty"`  // the answer isn't published, because it takes good rows away
	StillHeld int `json:"still_held,omitempty"` // held back since an earlier run: nothing new to report

	Unreconciled int `json:"unreconciled,omitempty"` // partitions whose rows differ from the service's totals
	// Partitions whose rows differ from the totals as in two answers before.
	StillDiffers int `json:"still_differs,omitempty"`
	// Partitions without rows, although the periods on each side have some, that were met in this
	// run.
	Suspected int `json:"suspected,omitempty"`
	Moved     int `json:"moved,omitempty"` // final partitions whose numbers changed all the same
	// Partitions that weren't fetched, because their totals haven't moved.
	Probed int `json:"probed,omitempty"`
	Unkept int `json:"unkept,omitempty"` // raw answers that couldn't be kept

	Compared int `json:"compared,omitempty"` // final partitions that were held against the service's totals of today
	// Of those, partitions that have moved and that keep their rows, as drift: warn asks.
	Drifted int `json:"drifted,omitempty"`
	Unseen  int `json:"unseen,omitempty"` // final partitions that couldn't be held against the totals

	Refused   int64 `json:"refused,omitempty"`   // rows of pushed files that aren't right, and weren't sent
	Rejected  int64 `json:"rejected,omitempty"`  // rows that the service refused
	Partly    int64 `json:"partly,omitempty"`    // of those, rows that it took in part
	Conflicts int64 `json:"conflicts,omitempty"` // rows that weren't sent because of what was sent before
	Skipped   int64 `json:"skipped,omitempty"`   // rows that are no records: totals, notes, empty ones

	Waiting int       `json:"waiting,omitempty"` // windows that were left as they are until later
	Due     time.Time `json:"due,omitzero"`      // when the first of them is due, when that is known

	Requests     int64         `json:"requests"`
	Retries      int64         `json:"retries"`
	Limiter      time.Duration `json:"limiter_ns"`           // waited on the limiter
	Backoff      time.Duration `json:"backoff_ns"`           // waited between the attempts of a request
	Convert      time.Duration `json:"convert_ns,omitempty"` // went into making Parquet of answers
	Put          time.Duration `json:"put_ns,omitempty"`     // went into publishing partitions
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

// An Alteration says of cells of a column that they were taken in another form than they came in.
type Alteration struct {
	Column string `json:"column"`
	What   string `json:"what"` // that happened to them, as a sentence
	Cells  int64  `json:"cells"`
	First  string `json:"first"` // the value and the place of the first one
}

// Alter counts an alteration with those of the same column.
func (t *Outcome) Alter(a Alteration) {
	i := slices.IndexFunc(t.Altered, func(b Alteration) bool { return a.Column == b.Column && a.What == b.What })
	if i < 0 {
		t.Altered = append(slices.Clip(t.Altered), a)
		return
	}
	t.Altered = slices.Clone(t.Altered)
	t.Altered[i].Cells += a.Cells
}

// Measure sets what the unit cost at the service and how long it waited, as the kind's client has
// counted.
func (t *Outcome) Measure(requests, retries, csvBytes int64, limiter, backoff time.Duration) {
	t.Requests, t.Retries, t.CSVBytes, t.Limiter, t.Backoff = requests, retries, csvBytes, limiter, backoff
}

// Asked adds what was asked of the service besides, and how long that waited.
func (t *Outcome) Asked(o Outcome) {
	t.Measure(t.Requests+o.Requests, t.Retries+o.Retries, t.CSVBytes+o.CSVBytes, t.Limiter+o.Limiter,
		t.Backoff+o.Backoff)
}

// Count counts one partition by what became of it.
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

// AllBlank tells whether a table was fetched for the first time and has no row at all, which a
// wrong filter, start or token may have caused.
func (t Outcome) AllBlank() bool { return t.Blank > 0 && t.Written+t.Unchanged+t.Kept == 0 }

// NotTaken is how many rows of pushed files weren't taken as they are.
func (t Outcome) NotTaken() int64 { return t.Refused + t.Rejected + t.Conflicts }

// Done is how many partitions are as they should be.
func (t Outcome) Done() int { return t.Written + t.Unchanged + t.Empty + t.Kept + t.Probed }

// A Problem is what is wrong with some partitions of a table, or is to be known of them. Package
// status finds it, and says the same of it wherever people look: in commands, pages, notices,
// results and records of runs.
type Problem struct {
	Condition  string        `json:"condition"` // the word for it, as refresh.Condition has it, or status
	What       string        `json:"what"`      // how many partitions, and what is so of them
	Partitions int           `json:"partitions"`
	Days       []ProblemDays `json:"days,omitempty"`    // the newest first
	Advice     string        `json:"advice,omitempty"`  // what Command is for, or what happens without one
	Command    string        `json:"command,omitempty"` // what ends it, or shows more of it, without the program's name
	Wrong      bool          `json:"wrong"`             // it is to be ended; else it is only to be known

	// The last one of the job, of a problem that is about it and not about partitions.
	Run    string   `json:"run,omitempty"`
	Errors []string `json:"errors,omitempty"` // of that run
}

// ProblemDays are partitions that follow one another and have the same problem.
type ProblemDays struct {
	From       civil.Date `json:"from"`    // the first partition
	Through    civil.Date `json:"through"` // the last one
	Partitions int        `json:"partitions"`
	Why        string     `json:"why,omitempty"`
	Run        string     `json:"run,omitempty"`   // that failed, or was interrupted
	Error      string     `json:"error,omitempty"` // of the failure
}

// A Rest is what a table lacks although nothing of it is due. A run that leaves it hasn't failed,
// and reports it all the same.
type Rest struct {
	Lacking Lacking `json:"lacking,omitzero"`
	Lost    int     `json:"lost,omitempty"` // partitions that can't be fetched any more
	// Partitions whose last answer was empty: they show older rows, as on_empty asks.
	Kept int `json:"kept,omitempty"`
}

// Lacking says how many partitions lack columns that the table has by now.
type Lacking struct {
	Partitions int      `json:"partitions"`
	Columns    []string `json:"columns"` // those that any of them lacks, ascending
	Later      bool     `json:"later"`   // runs leave them, as the config asks
}
