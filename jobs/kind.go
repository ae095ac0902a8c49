// Package jobs is the engine: it plans what is missing, claims it, has it done once, and remembers. Without it, every
// kind of job would have its own idea of what is done, and a crash or a second process would lose or double days.
package jobs

import (
	"context"
	"errors"
	"time"
)

// A Kind plans units of work and does them. The runner claims a unit, does it, and repeats it after a failure or a
// crash: doing it twice equals doing it once. Plans of several jobs are made at once, and so are their Finish calls.
type Kind interface {
	Plan(ctx context.Context, now time.Time) ([]Unit, error)
	Do(ctx context.Context, u Unit) (Outcome, error)
}

// A Unit is what a kind plans and does under one claim.
type Unit struct {
	Name   string // inside its table; a window: the first day of its grid cell
	Window Window
	Claim  Hold // set by the runner before Do
	Shared bool // another task begins with it, so that it's probably done when this one comes to it
}

// claims names the claims that the unit is done under.
func (u Unit) claims() []string {
	if names := u.Window.Claims(); len(names) > 0 {
		return names
	}
	return []string{u.Name}
}

// A Looker is a kind that can tell without a claim whether a unit is done by now. It saves tasks that come to each
// other's units the half dozen calls of the ledger's bucket that a claim costs.
type Looker interface {
	Over(ctx context.Context, u Unit) (bool, error)
}

// A Job is a named entry of the config, ready to run.
type Job struct {
	Name  string
	Table string // where its claims live
	Kind  Kind

	Targets []Target // where its partitions go

	// AtOnce bounds the units of the job that are under way at once; 0: as many as the runner takes.
	AtOnce int

	// Finish tidies up once no more units are taken; nil: nothing to tidy.
	Finish func(context.Context) error

	// Rest says what the table lacks when the plan has been done, from what the kind has read and recorded; nil: nothing.
	Rest func(context.Context) (Rest, error)

	// Inspect says how the table is, from the ledger alone. Nil: the kind has no partitions.
	Inspect func(ctx context.Context, now time.Time, past Past) (Inspection, error)
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
