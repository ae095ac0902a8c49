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

// A Document is one object of the ledger. It is replaced as a whole, on the condition that the
// object still has the version that was read. T is its content, as JSON. A process has one Document
// for a key. It is safe for concurrent use; changes that are ready at the same time share one
// write.
type Document[T any] struct {
	ledger *Ledger
	key    string
	damage DamagedError  // location and cost for the error about a damaged document
	turn   chan struct{} // a lock for reads and writes of the object

	mu          sync.Mutex
	queue       []*pendingChange[T] // the changes that wait to be written
	known       bool                // the object was read or written, so that stored is its last version
	stored      snapshot[T]
	triedDigest uint64 // digest of the last content that was to be written
}

// A snapshot is the object as it was read or written last.
type snapshot[T any] struct {
	version string // empty: there was no object
	raw     []byte // the content as JSON, from which copies are made
	content T      // shared by readers, who must not change it
}

// A Change is a change of a document.
type Change[T any] struct {
	// Apply changes a copy of the content. If it returns an error, this change has no effect, and
	// other changes aren't concerned. After each lost race it is called again with the new content,
	// and must check that anew.
	Apply func(content *T) error

	// Done reports whether the change is in effect already. It is called when the answer to a write
	// was lost, or the write was repeated, and looks for a token that only this change writes. Nil:
	// applying the change again does no harm.
	Done func(content *T) bool

	// Shared is called when the change is ready. It reports whether other goroutines are about to
	// write the document; the change then waits up to commitWait to be part of their write. Nil:
	// the change is written at once.
	Shared func() bool
}

// A pendingChange is a change that waits to be written.
type pendingChange[T any] struct {
	Change[T]
	sent bool          // it was sent to the store, and may be in effect
	done chan struct{} // closed when over becomes true
	over bool          // the change has ended, with err
	err  error
}

// ErrNothing is what Apply returns when there is nothing to write. Change then returns nil.
var ErrNothing = errors.New("nothing to write")

// NewDocument returns the document of a key, without reading it. cost says what deleting a damaged
// document would do, for its error. Empty means: what it recorded then counts as missing, and is
// fetched again.
func NewDocument[T any](l *Ledger, key, cost string) *Document[T] {
	return &Document[T]{ledger: l, key: key, damage: DamagedError{Location: l.location(key), Cost: cost},
		turn: make(chan struct{}, 1)}
}

// Load reads the document. If it was never written, the content is the zero T, and exists is false.
// Callers share the content and must not change it. The error of a damaged document is a
// *DamagedError.
func (d *Document[T]) Load(ctx context.Context) (content T, exists bool, err error) {
	if err := d.take(ctx); err != nil {
		return content, false, err
	}
	defer d.give()
	if err := d.readObject(ctx); err != nil {
		return content, false, err
	}
	return d.Last(), d.Version() != "", nil
}

// Last returns the content that this process has read or written last; before that, the zero T.
func (d *Document[T]) Last() T {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stored.content
}

// Version returns the version of Last. It is "" if there was no document, or if the store didn't
// return the version of the last write.
func (d *Document[T]) Version() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stored.version
}

// Size returns the length of Last as JSON, in bytes.
func (d *Document[T]) Size() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.stored.raw)
}

// Forget drops what was read, to free its memory. The document must not be in use.
func (d *Document[T]) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored, d.known = snapshot[T]{}, false
}

// Change writes a change, on the condition of the version that this process knows or, after a lost
// race, of the version that is then stored. After an error other than that of Apply, the change may
// be in effect, now or later.
func (d *Document[T]) Change(ctx context.Context, c Change[T]) error {
	if err := ctx.Err(); err != nil { // as in take
		return err
	}
	if err := d.ledger.store.Prove(ctx); err != nil {
		return errors.Join(ErrRefused, err)
	}
	p := &pendingChange[T]{Change: c, done: make(chan struct{})}
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
		if !p.over { // no other goroutine has written it meanwhile
			err = d.writeQueue(ctx)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.over {
		return p.err
	}
	d.queue = slices.DeleteFunc(d.queue, func(o *pendingChange[T]) bool { return o == p })
	return err
}

// take locks the document for reads and writes of the object; give unlocks it.
func (d *Document[T]) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // a select would choose at random, and a simulation wouldn't repeat itself
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

// mostUnknown is how many writes with an unknown outcome are retried before their changes fail.
const mostUnknown = 5

// writeQueue writes all waiting changes in one write, and tries again after a lost race or an
// unknown outcome. The caller must have called take. After an error, the changes that haven't ended
// keep waiting, and the next caller writes them.
func (d *Document[T]) writeQueue(ctx context.Context) error {
	unknown := 0
	for lost := 0; ; lost++ { // lost counts the attempts that have failed
		if lost > 0 && !bucket.Sleep(ctx, d.pause(lost)) {
			return ctx.Err()
		}
		// Read the object if need be, and apply the changes to its content.
		if !d.known || lost > 0 {
			if err := d.readObject(ctx); err != nil {
				return err
			}
		}
		batch, next, err := d.apply()
		if err != nil || len(batch) == 0 {
			return err
		}
		// Write the new content on the condition that the object still has the version that was
		// read.
		on := bucket.Condition{Version: d.stored.version, Absent: d.stored.version == ""}
		d.triedDigest = xxhash.Sum64(next.raw)
		data, err := encodeDocument(next.raw)
		if err != nil {
			return fmt.Errorf("%w: write %s: %w", ErrBucket, d.damage.Location, err)
		}
		next.version, err = d.ledger.store.Put(ctx, d.key, data, on)
		switch {
		case err == nil:
			d.endAll(batch, &next)
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

// readObject reads the object from the store. A missing object has the zero content.
func (d *Document[T]) readObject(ctx context.Context) error {
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

// forget makes the next change read the object first.
func (d *Document[T]) forget() { d.known = false }

// apply returns the next content, with the waiting changes applied, and those changes. It ends the
// changes that are in effect already, or whose Apply refuses them.
func (d *Document[T]) apply() (batch []*pendingChange[T], next snapshot[T], err error) {
	d.mu.Lock()
	queue := d.queue
	d.queue = nil
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.queue = slices.DeleteFunc(append(queue, d.queue...), func(p *pendingChange[T]) bool { return p.over })
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
				break // the copy is dropped, with what the refused change did to it
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

// end ends a change with its result; ErrNothing counts as success.
func (d *Document[T]) end(p *pendingChange[T], err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !errors.Is(err, ErrNothing) {
		p.err = err
	}
	p.over = true
	close(p.done)
}

// endAll ends the changes of a write that succeeded.
func (d *Document[T]) endAll(batch []*pendingChange[T], next *snapshot[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored = *next
	d.known = next.version != "" // some stores don't return the version
	for _, p := range batch {
		p.over = true
		close(p.done)
	}
	d.queue = slices.DeleteFunc(d.queue, func(p *pendingChange[T]) bool { return p.over })
}

// pause returns how long a writer that has lost several times waits before its next attempt: up to
// 20, 40, 80 ... milliseconds, and at most a second. The exact length depends on the content that
// it tried to write, so that colliding writers spread out and a simulation repeats itself exactly.
func (d *Document[T]) pause(lost int) time.Duration {
	longest := min(time.Second, 10*time.Millisecond<<min(lost, 10))
	return time.Duration(d.triedDigest % uint64(longest)) //nolint:gosec // it is positive
}
