// Package jobs is the engine: it plans what is missing, claims it, has it done once, and remembers. Without it, every
// kind of job would have its own idea of what is done, and a crash or a second process would lose or double days.
package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/reportferry/reportferry/sinks"
)

// A Kind plans units of work. A Kind doesn't change: what one run finds out is in its Plan. Plans of several jobs are made
// at once.
type Kind interface {
	Plan(ctx context.Context, now time.Time) (Plan, error)
}

// A Plan is what a job would do now. Making one sends nothing to the service that changes anything, claims nothing, and
// writes at most shapes to the ledger.
type Plan struct {
	Units []Unit

	// Tidy is called once no more units are taken; nil: nothing to tidy.
	Tidy func(context.Context) error

	// Inspect says how the table is, by what the ledger holds when it is called and what the units have learnt. It asks
	// the service for nothing. Nil: the kind has no partitions.
	Inspect func(context.Context, Past) (Inspection, error)

	// Schema is the table's definition, for which it may ask the service. Nil: the kind has no partitions.
	Schema func(context.Context) (*sinks.Schema, error)

	shared bool // other tasks have the same plan, and begin with units other than the first own ones
	own    int
}

// A Unit is one piece of a plan, done under one claim. The runner claims it, does it, and repeats it after a failure or a
// crash: doing it twice equals doing it once.
type Unit struct {
	Name   string   // unique in the table; of a window: the first day of its grid cell
	Claims []string // names of the claims that it is done under, in the order of claiming; nil: Name alone

	Due      []Due    // the partitions that it replaces, ascending; none for kinds without partitions
	Files    []string // the files that it pushes, one after the other; none for kinds that push none
	Requests int      // reports that it asks for, unless the service is too slow for one of them

	Do func(context.Context, Hold) (Outcome, error)

	// Over tells without a claim whether another process has done the unit since it was planned. It saves tasks that come
	// to each other's units the half dozen calls of the ledger's bucket that a claim costs. Nil: only Do can tell.
	Over func(context.Context) (bool, error)
}

// size is how many windows a unit counts as: each of its files is one.
func (u Unit) size() int { return max(1, len(u.Files)) }

func (u Unit) claims() []string {
	if u.Claims == nil {
		return []string{u.Name}
	}
	return u.Claims
}

// A Job is a named entry of the config, ready to run.
type Job struct {
	Name    string
	Table   string // where its claims live
	Kind    Kind
	Targets []Target // where its partitions go
}

// An Outcome counts what came of a unit, or of many. Partitions are counted once: written, unchanged, empty, kept or
// failed.
type Outcome struct {
	Windows   int `json:"windows"`
	Held      int `json:"held"` // windows that another process holds
	Written   int `json:"written"`
	Unchanged int `json:"unchanged"`
	Empty     int `json:"empty"`
	Kept      int `json:"kept"` // empty in the answer, old rows kept as on_empty asks
	Failed    int `json:"failed"`

	Waiting int       `json:"waiting,omitempty"` // windows that were left as they are until later
	Due     time.Time `json:"due,omitzero"`      // when the first of them is due, when that is known

	Requests     int64         `json:"requests"`
	Retries      int64         `json:"retries"`
	Limiter      time.Duration `json:"limiter_ns"` // waited on the limiter
	Backoff      time.Duration `json:"backoff_ns"` // waited between the attempts of a request
	Rows         int64         `json:"rows"`
	Rounded      int64         `json:"rounded"` // money cells that had more than six decimals
	Nulls        int64         `json:"nulls"`   // blank cells of metrics
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
	t.Kept += o.Kept
	t.Failed += o.Failed
	t.Waiting += o.Waiting
	if t.Due.IsZero() || !o.Due.IsZero() && o.Due.Before(t.Due) {
		t.Due = o.Due
	}
	t.Requests += o.Requests
	t.Retries += o.Retries
	t.Limiter += o.Limiter
	t.Backoff += o.Backoff
	t.Rows += o.Rows
	t.Rounded += o.Rounded
	t.Nulls += o.Nulls
	t.CSVBytes += o.CSVBytes
	t.ParquetBytes += o.ParquetBytes
}

// Measure sets what the unit cost the service and waited for, as the kind's client has counted it.
func (t *Outcome) Measure(requests, retries, csvBytes int64, limiter, backoff time.Duration) {
	t.Requests, t.Retries, t.CSVBytes, t.Limiter, t.Backoff = requests, retries, csvBytes, limiter, backoff
}

// Count counts what Publish said of one partition.
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

// Done counts the partitions that are as they should be.
func (t Outcome) Done() int { return t.Written + t.Unchanged + t.Empty + t.Kept }

// Errors that change how a run goes on, and its exit code.
var (
	// ErrRefused: the config and the ledger contradict each other; nothing was asked or written.
	ErrRefused = errors.New("refused")
	// ErrDenied: the service or a store refused the credentials; going on would only repeat that.
	ErrDenied = errors.New("access denied")
	// ErrStop: what one unit was refused for holds for every unit of the job; going on would only repeat that.
	ErrStop = errors.New("the job goes no further")
	// ErrEmptied: the answer is empty where rows are recorded, and on_empty is guard.
	ErrEmptied = errors.New("the answer has no rows")
	// ErrLedger: the ledger's bucket could not be read or written.
	ErrLedger = errors.New("ledger")
	// ErrLost: the claim was lost to another process, or its lease ended; nothing more may be published under it.
	ErrLost = errors.New("claim lost")
)
