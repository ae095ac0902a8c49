package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"
)

// storeDate stores the date of an answer, and when it was received.
func (b *Bucket) storeDate(date time.Time) {
	if date.IsZero() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.date, b.dateReceived = date, time.Now()
}

// Now returns the time by the store's clock: the date of its last answer, plus what this machine's
// monotonic clock has counted since. Most stores give whole seconds. When there was no answer yet,
// Now makes a call. A folder gives no date; the time is then that of this machine, and known is
// false.
func (b *Bucket) Now(ctx context.Context) (now time.Time, known bool, err error) {
	b.mu.Lock()
	dated := b.undated || !b.date.IsZero()
	b.mu.Unlock()
	if !dated {
		if _, _, err := b.readProbe(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return time.Time{}, false, err
		}
	}
	b.mu.Lock()
	b.undated = b.date.IsZero()
	known = !b.undated
	b.mu.Unlock()
	return b.Time(), known, nil
}

// Time returns the same as Now, but never calls the store. When there was no answer yet, it returns
// this machine's time.
func (b *Bucket) Time() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.date.IsZero() {
		return time.Now()
	}
	return b.date.Add(time.Since(b.dateReceived))
}

// A proof remembers for one process whether the store honours conditions.
type proof struct {
	turn chan struct{} // a lock for which a bubble of testing/synctest can wait
	done atomic.Bool   // the conditions were tested, or needn't be; err is the result
	err  error         // set before done becomes true
}

// probeKey is the object with which conditions are tested. Its content says whether the store has
// passed.
const probeKey = ".reportferry-probe.json"

// The contents of the probe, before the store has passed and after.
const (
	unproved = `{"about":"reportferry looks whether this store honours If-None-Match and If-Match"}` + "\n"
	proved   = `{"about":"this store honours If-None-Match and If-Match"}` + "\n"
)

// noVersion is a generation and an ETag that no object has.
const noVersion = "1"

// Prove checks that the store refuses two puts: one that demands the absence of an object that
// exists, and one that demands a version that doesn't exist. When the store accepts one of them,
// the error is ErrUnsafe. Success is recorded in the store, so that a later process needs only one
// call for it. A folder isn't tested: one on a file system that may not keep locks is refused.
func (b *Bucket) Prove(ctx context.Context) error {
	p := &b.proof
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.done.Load() {
		return p.err
	}
	err := b.prove(ctx)
	if err == nil || errors.Is(err, ErrUnsafe) {
		p.err = err
		p.done.Store(true)
	}
	return err
}

// readProbe reads the probe, and notes if it says that the store honours conditions.
func (b *Bucket) readProbe(ctx context.Context) (data []byte, version string, err error) {
	data, version, err = b.Get(ctx, probeKey)
	if err == nil && string(data) == proved {
		b.proof.done.Store(true)
	}
	return data, version, err
}

// prove makes the calls of Prove: it creates the probe, makes the two puts that must be refused,
// and replaces the probe's content to record the success.
func (b *Bucket) prove(ctx context.Context) error {
	data, version, err := b.readProbe(ctx)
	switch {
	case err == nil && string(data) == proved:
		return nil
	case err == nil && string(data) != unproved:
		return fmt.Errorf("%s/%s isn't what reportferry writes there; move it away", b.url, probeKey)
	case errors.Is(err, fs.ErrNotExist):
		// Another process may create the probe at the same time.
		if version, err = b.Put(ctx, probeKey, []byte(unproved), Condition{Absent: true}); errors.Is(err, ErrConflict) {
			_, version, err = b.Get(ctx, probeKey)
		}
	}
	if err != nil {
		return err
	}
	for _, refused := range []struct {
		on   Condition
		name string
	}{{Condition{Absent: true}, "If-None-Match: it created one object twice"},
		{Condition{Version: noVersion}, "If-Match: it replaced a version that never was"}} {
		_, err := b.Put(ctx, probeKey, []byte(unproved), refused.on)
		if err == nil {
			return fmt.Errorf("%w (%s, %s/%s): of two runs at once each would believe that it has won; use a store "+
				"that honours them, or a folder",
				ErrUnsafe, refused.name, b.url, probeKey)
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	if _, err = b.Put(ctx, probeKey, []byte(proved), Condition{Version: version}); errors.Is(err, ErrConflict) {
		return nil // another process has proved it
	}
	return err
}
