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
	// Stat says which file it is now. It is asked before, between and after the readings.
	Stat(ctx context.Context) (Stat, error)

	// Header names the original columns, for the rejects file, once a reading has begun.
	Header() []string

	// Read calls each for every record, in order. In the first reading (sending is false) the Value
	// and Cells of good records aren't looked at; in the second both must stay valid afterwards.
	// The Record itself is only looked at during the call. An error of each ends the reading and is
	// returned.
	Read(ctx context.Context, sending bool, each func(*Record[V]) error) error
}

// A Stat pins a file.
type Stat struct {
	Version  string    // another one means other content: a generation, an ETag, or size and time
	Modified time.Time // by the store's clock
	Size     int64     // bytes
}

// A Record is one row of a file. ID, Content, Refusal and Skipped come out the same in every
// reading.
type Record[V any] struct {
	Row     int64    // from 1, ascending; gaps are allowed
	ID      [16]byte // 128-bit hash of what identifies it, or, with Push.Order, what it is about; evenly spread
	Also    [16]byte // with Push.Order: another thing that it is about, which is in Content, too; zero: none
	Content uint64   // hash of the rest
	Value   V
	Refusal *Rejection // not nil: it isn't sent
	Expired bool       // refused by the clock alone: it may have been good in an earlier reading. ID and Content count
	// Why the row is no record, such as "is a row of totals"; then nothing else counts. Empty: it
	// is one.
	Skipped string
	Cells   []string // as they stand in the file
}

// A Rejection says why a record isn't taken, by the kind (as Refusal) or by the service (as an
// error of Send). Its words are kept in the ledger: they never quote what identifies a person.
type Rejection struct{ Field, Reason string }

func (r *Rejection) Error() string {
	if r.Field == "" {
		return "rejected: " + r.Reason
	}
	return "rejected: " + r.Field + ": " + r.Reason
}

// Is makes every Rejection an ErrRejected.
func (r *Rejection) Is(target error) bool { return target == ErrRejected }

// What Send tells by. nil: accepted; jobs.ErrDenied: stop everything; any other error: the record
// was surely not taken, it stays pending and the file fails.
var (
	// ErrRejected: the service will never take this record. A *Rejection has the words.
	ErrRejected = errors.New("rejected")
	// ErrHad: the service refuses the record because it has it already: from an earlier attempt,
	// when there was one that may have been taken. It comes with an ErrRejected, for when there was
	// none.
	ErrHad = errors.New("the service has it already")
	// ErrUnknown: the service may have taken it.
	ErrUnknown = errors.New("it isn't known whether the record was taken")
)

// SendError puts the error of a service's client in the words of Send. denied and unknown are what
// the client says for jobs.ErrDenied and ErrUnknown; a record that the service will never take has
// an error with a Refusal, which says why.
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

// What Do says of a file.
var (
	// ErrGrowing: the file is being written; the next run takes it.
	ErrGrowing = errors.New("still being written")
	// ErrTooMany: more rejects than allowed before anything of the file was sent; nothing of it is.
	ErrTooMany = errors.New("too many rejects")
	// ErrForgotten: the file was pushed so long ago that nothing tells its new records from those
	// that were sent.
	ErrForgotten = errors.New("pushed before with other content, and its records are no longer known")
)

// An UnfitError is what is wrong with a file as a whole: it can't be cut into rows, or lacks a
// column. It stays until the file or the job is another. What is wrong with the way to the file is
// none.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }
func (e *UnfitError) Unwrap() error { return e.Err }

// lasting tells whether an error stays until somebody does something about the file, or the job.
func lasting(err error) bool {
	var unfit *UnfitError
	return errors.Is(err, ErrTooMany) || errors.Is(err, ErrForgotten) || errors.As(err, &unfit)
}

// A QuietError says until when a file waits because it changed a short while ago. It is an
// ErrGrowing.
type QuietError struct {
	Age, Quiet time.Duration
	Due        time.Time // by this machine's clock
}

func (e *QuietError) Error() string {
	return fmt.Sprintf("%v: modified %v ago, and it is taken after %v, at %s", ErrGrowing, e.Age.Round(time.Second),
		e.Quiet, e.Due.UTC().Format(time.RFC3339))
}

// Is makes every QuietError an ErrGrowing.
func (e *QuietError) Is(target error) bool { return target == ErrGrowing }

// Most bounds rejects that can be no records. Share > 0 is that share of the rows; else Count
// counts.
type Most struct {
	Count int64
	Share float64
}

// exceeded tells whether rejects are more than m allows of rows; nil allows all.
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
