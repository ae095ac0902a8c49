package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/jobs"
)

// A Source is a file that can be read twice.
type Source[V any] interface {
	// Stat returns the version of the file as it is now. It is called before, between and after the
	// readings.
	Stat(ctx context.Context) (Stat, error)

	// Header returns the names of the file's own columns, for the rejects file. It is called only
	// after a reading has begun.
	Header() []string

	// Read calls each for every record, in order. In the first reading (sending is false), the
	// Value and Cells of good records aren't used; in the second, both must stay valid after the
	// call. The Record itself is used only during the call. An error from each ends the reading,
	// and Read returns it.
	Read(ctx context.Context, sending bool, each func(*Record[V]) error) error
}

// A Stat identifies the content of a file.
type Stat struct {
	Version  string    // changes with the content: a generation, an ETag, or size and time
	Modified time.Time // by the store's clock
	Size     int64     // bytes
}

// A Record is one row of a file. ID, Content, Refusal and Skipped come out the same in every
// reading.
type Record[V any] struct {
	Row int64 // from 1, ascending; gaps are allowed
	// ID is a 128-bit hash of what identifies it or, with Task.Order, of the thing it is about. It
	// must be evenly spread.
	ID      [16]byte
	Also    [16]byte   // with Task.Order: hash of a second thing that it is about, also in Content; zero: none
	Content uint64     // hash of the rest
	Value   V          // what Send gets
	Refusal *Rejection // why it isn't sent; nil: it is to be sent
	Expired bool       // refused only by the clock: it may have been good before, so ID and Content must be set
	// Why the row isn't a record, such as "is a row of totals"; the other fields are then ignored.
	// Empty: it is a record.
	Skipped string
	Cells   []string // as they are in the file
}

// A Rejection says why a record isn't taken: by the kind, in Record.Refusal, or by the service, as
// an error of Send. Its words are kept in the ledger, so they must never quote what identifies a
// person.
type Rejection struct{ Field, Reason string }

func (r *Rejection) Error() string {
	if r.Field == "" {
		return "rejected: " + r.Reason
	}
	return "rejected: " + r.Field + ": " + r.Reason
}

// Is makes every Rejection an ErrRejected.
func (r *Rejection) Is(target error) bool { return target == ErrRejected }

// The errors that Send returns. Besides these, nil means that the record was accepted, and
// jobs.ErrDenied that everything must stop. Any other error means that the record was surely not
// taken: it stays pending and the file fails.
var (
	// ErrRejected means that the service will never take this record. A *Rejection says why.
	ErrRejected = errors.New("rejected")
	// ErrAlreadyTaken means that the service refuses the record because it has it already. The
	// record counts as accepted when an earlier attempt may have been taken. Otherwise it counts as
	// rejected, so Send must return an ErrRejected along with it.
	ErrAlreadyTaken = errors.New("the service has it already")
	// ErrUnknown means that the service may have taken the record.
	ErrUnknown = errors.New("it isn't known whether the record was taken")
)

// SendError translates an error of a service's client into one that Send may return. denied and
// unknown are the client's errors for jobs.ErrDenied and ErrUnknown. When the service will never
// take a record, the client's error has a method Refusal, which says why.
func SendError(err, denied, unknown error) error {
	var r interface{ Refusal() string }
	switch {
	case errors.Is(err, denied):
		return fmt.Errorf("%w: %w", jobs.ErrDenied, err)
	case errors.As(err, &r) && r.Refusal() != "":
		return &Rejection{Reason: r.Refusal()}
	case errors.Is(err, unknown):
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// The errors of Do about a file.
var (
	// ErrGrowing means that the file is being written; the next run takes it.
	ErrGrowing = errors.New("still being written")
	// ErrTooMany means that the file has more rejects than allowed; nothing of it is sent.
	ErrTooMany = errors.New("too many rejects")
	// ErrForgotten means that the file has changed, but was pushed so long ago that its new records
	// can't be told from those that were sent.
	ErrForgotten = errors.New("pushed before with other content, and its records are no longer known")
)

// An UnfitError says what is wrong with a file as a whole: it can't be cut into rows, or lacks a
// column. The error recurs until the file or the job is changed. A file that can't be reached is
// not an UnfitError.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }
func (e *UnfitError) Unwrap() error { return e.Err }

// recurs tells whether an error comes again in each run, until somebody changes the file or the
// job.
func recurs(err error) bool {
	var unfit *UnfitError
	return errors.Is(err, ErrTooMany) || errors.Is(err, ErrForgotten) || errors.As(err, &unfit)
}

// A QuietError says until when a file waits because it changed a short while ago. It is an
// ErrGrowing.
type QuietError struct {
	Age, Quiet time.Duration // how long ago the file changed, and how long ago is enough
	Due        time.Time     // when the wait is over, by this machine's clock
}

func (e *QuietError) Error() string {
	return fmt.Sprintf("%v: modified %v ago, and it is taken after %v, at %s", ErrGrowing, e.Age.Round(time.Second),
		e.Quiet, e.Due.UTC().Format(time.RFC3339))
}

// Is makes every QuietError an ErrGrowing.
func (e *QuietError) Is(target error) bool { return target == ErrGrowing }

// Most limits the invalid rows of a file: to a Share of its rows if that is above 0, otherwise to
// Count.
type Most struct {
	Count int64
	Share float64
}

// exceeded returns an ErrTooMany when a file with this many rows has more rejects than m allows. A
// nil m allows any number.
func (m *Most) exceeded(rejects, rows int64) error {
	switch {
	case m == nil:
		return nil
	case m.Share > 0 && float64(rejects) > m.Share*float64(rows):
		return fmt.Errorf("%w: %d of %d rows, the limit is %g %%", ErrTooMany, rejects, rows, 100*m.Share)
	case m.Share <= 0 && rejects > m.Count:
		return fmt.Errorf("%w: %d of %d rows, the limit is %d", ErrTooMany, rejects, rows, m.Count)
	}
	return nil
}
