package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/internal/bucket"
)

// A Document is one object of the ledger that is replaced whole, on the condition of the version
// that was read. T is its content, as JSON. A process has one Document of a key. It is safe for
// concurrent use: changes that are ready at the same time share one write.
type Document[T any] struct {
	ledger *Ledger
	key    string
	damage DamagedError  // what the error of a damaged one says besides
	turn   chan struct{} // held to read and to write

	mu     sync.Mutex
	queue  []*pending[T]
	known  bool // the object was read or written
	stored snapshot[T]
	tried  uint64 // digest of what was to be written last
}

// A snapshot is the object as it was read or written last.
type snapshot[T any] struct {
	version string // empty: it wasn't there
	raw     []byte // the content as JSON, from which copies are made
	content T      // shared by readers, who don't change it
}

// A Change is what a caller does to a document.
type Change[T any] struct {
	// Apply changes a copy. An error refuses the change, which then has no effect, and other
	// changes aren't concerned. It is called again after each race that was lost, on what is there
	// by then, and must look at that anew.
	Apply func(content *T) error

	// Done tells whether the change is in effect already. It is asked when the answer to a write
	// was lost, or came twice, and looks for a token of this change alone. Nil: to apply it once
	// more does no harm.
	Done func(content *T) bool

	// Shared is called when the change is ready, and tells whether others are about to write the
	// document: their write has this change too, if it comes within commitWait. Nil: it is written
	// at once.
	Shared func() bool
}

type pending[T any] struct {
	Change[T]
	sent bool          // it may be in effect
	done chan struct{} // closed when it is over
	over bool          // err is the answer
	err  error
}

// ErrNothing is the error with which Apply says that there is nothing to write. Change returns nil
// then.
var ErrNothing = errors.New("nothing to write")

// NewDocument gives the document of a key. It reads nothing. The error of a damaged one says with
// cost what deleting it would do; empty: what it recorded counts as missing then, and is fetched
// again.
func NewDocument[T any](l *Ledger, key, cost string) *Document[T] {
	return &Document[T]{ledger: l, key: key, damage: DamagedError{Location: l.location(key), Cost: cost},
		turn: make(chan struct{}, 1)}
}

// Load reads the document. There is none as long as nobody has written it: then the content is the
// zero T, and exists is false. Callers share the content and don't change it. A damaged one is a
// *DamagedError.
func (d *Document[T]) Load(ctx context.Context) (content T, exists bool, err error) {
	if err := d.take(ctx); err != nil {
		return content, false, err
	}
	defer d.give()
	if err := d.read(ctx); err != nil {
		return content, false, err
	}
	return d.Last(), d.Version() != "", nil
}

// Last is the content as this process has read or written it last. Before that it is the zero T.
func (d *Document[T]) Last() T {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stored.content
}

// Version is that of Last; empty: there was no document, or the store doesn't say what it made of
// the last write.
func (d *Document[T]) Version() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stored.version
}

// Size is how many bytes Last has as JSON.
func (d *Document[T]) Size() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.stored.raw)
}

// Forget lets go of what was read, for its memory. Nobody may be at work on the document.
func (d *Document[T]) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored, d.known = snapshot[T]{}, false
}

// Change writes a change, on the version that this process knows, and after a lost race on the one
// that is there by then. When the error isn't that of Apply, the change may be in effect, or come
// to be.
func (d *Document[T]) Change(ctx context.Context, c Change[T]) error {
	if err := ctx.Err(); err != nil { // as in take
		return err
	}
	if err := d.ledger.store.Prove(ctx); err != nil {
		return errors.Join(ErrRefused, err)
	}
	p := &pending[T]{Change: c, done: make(chan struct{})}
	d.mu.Lock()
	d.queue = append(d.queue, p)
	d.mu.Unlock()
	if c.Shared != nil && c.Shared() {
		select {
		case <-p.done:
			return p.err
		case <-time.After(commitWait):
		case <-ctx.Done():
		}
	}
	err := d.take(ctx)
	if err == nil {
		defer d.give()
		if !p.over { // nobody else has written it meanwhile
			err = d.writeQueue(ctx)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.over {
		return p.err
	}
	d.queue = slices.DeleteFunc(d.queue, func(o *pending[T]) bool { return o == p })
	return err
}

func (d *Document[T]) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // else a select would choose by lot, and a simulation wouldn't repeat itself
		return err
	}
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Document[T]) give() { <-d.turn }

// mostUnknown is how many writes with an unknown end are tried again before their changes fail.
const mostUnknown = 5

// writeQueue writes all changes that wait. It is called in turn. After an error those that aren't
// over wait on, and whoever comes next writes them.
func (d *Document[T]) writeQueue(ctx context.Context) error {
	unknown := 0
	for lost := 0; ; lost++ {
		if lost > 0 && !bucket.Sleep(ctx, d.pause(lost)) {
			return ctx.Err()
		}
		if !d.known || lost > 0 {
			if err := d.read(ctx); err != nil {
				return err
			}
		}
		batch, next, err := d.apply()
		if err != nil || len(batch) == 0 {
			return err
		}
		on := bucket.Condition{Version: d.stored.version, Absent: d.stored.version == ""}
		d.tried = xxhash.Sum64(next.raw)
		data, err := encodeDocument(next.raw)
		if err != nil {
			return fmt.Errorf("%w: write %s: %w", ErrBucket, d.damage.Location, err)
		}
		next.version, err = d.ledger.store.Put(ctx, d.key, data, on)
		switch {
		case err == nil:
			d.answer(batch, &next)
			return nil
		case ctx.Err() != nil, errors.Is(err, fs.ErrPermission), errors.Is(err, bucket.ErrBusy):
			d.forget()
			return fmt.Errorf("%w: %w", ErrBucket, err)
		case !errors.Is(err, bucket.ErrConflict):
			if unknown++; unknown > mostUnknown {
				d.forget()
				return fmt.Errorf("%w: %w", ErrBucket, err)
			}
		}
	}
}

// read takes the object as it is there.
func (d *Document[T]) read(ctx context.Context) error {
	var s snapshot[T]
	data, version, err := d.ledger.store.Get(ctx, d.key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		version = ""
	case err != nil:
		return fmt.Errorf("%w: %w", ErrBucket, err)
	default:
		if s.raw, err = decodeDocument(data); err == nil {
			s.content, err = parse[T](s.raw)
		}
		if err != nil {
			damaged := d.damage
			damaged.Err = err
			return &damaged
		}
	}
	s.version = version
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored, d.known = s, true
	return nil
}

// forget has the next change read first.
func (d *Document[T]) forget() { d.known = false }

// apply makes the next content: it applies the changes that wait, and those that are in effect, or
// are refused, are over.
func (d *Document[T]) apply() (batch []*pending[T], next snapshot[T], err error) {
	d.mu.Lock()
	queue := d.queue
	d.queue = nil
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.queue = slices.DeleteFunc(append(queue, d.queue...), func(p *pending[T]) bool { return p.over })
	}()
	for {
		content, err := parse[T](d.stored.raw)
		if err != nil {
			return nil, next, err
		}
		batch = nil
		refused := false
		for _, p := range queue {
			switch {
			case p.over:
				continue
			case p.sent && p.Done != nil && p.Done(&content):
				d.end(p, nil)
				continue
			}
			if err := p.Apply(&content); err != nil {
				d.end(p, err)
				refused = true
				break // what it has done to this copy is dropped with it
			}
			batch = append(batch, p)
		}
		if refused {
			continue
		}
		next.content = content
		next.raw, err = marshal(content)
		for _, p := range batch {
			p.sent = true
		}
		return batch, next, err
	}
}

// end gives a change its answer.
func (d *Document[T]) end(p *pending[T], err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !errors.Is(err, ErrNothing) {
		p.err = err
	}
	p.over = true
	close(p.done)
}

// answer ends the changes of a write that succeeded.
func (d *Document[T]) answer(batch []*pending[T], next *snapshot[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored = *next
	d.known = next.version != "" // some stores don't say the version
	for _, p := range batch {
		p.over = true
		close(p.done)
	}
	d.queue = slices.DeleteFunc(d.queue, func(p *pending[T]) bool { return p.over })
}

// pause is how long a writer that has lost several times waits before its next turn: up to 20, 40,
// 80 ... milliseconds, and no more than a second. How far up goes by what it was about to write, so
// that writers who met part, and a simulation repeats itself.
func (d *Document[T]) pause(lost int) time.Duration {
	longest := min(time.Second, 10*time.Millisecond<<min(lost, 10))
	return time.Duration(d.tried % uint64(longest)) //nolint:gosec // it is positive
}
