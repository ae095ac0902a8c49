package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"
)

// saw takes note of the date of an answer.
func (b *Bucket) saw(date time.Time) {
	if date.IsZero() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.date, b.at = date, time.Now()
}

// Now is the time by the store's clock, as its last answer had it and this machine's monotonic
// clock has gone on since; most stores have whole seconds. When there was no answer, one is asked
// for. Folders have this machine's clock, and known is false.
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

// Time is Now by the answers that there were. It asks the store for nothing; without an answer it
// is this machine's time.
func (b *Bucket) Time() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.date.IsZero() {
		return time.Now()
	}
	return b.date.Add(time.Since(b.at))
}

// A proof remembers that the store honours conditions.
type proof struct {
	turn chan struct{} // a lock that a bubble of testing/synctest can wait for
	done atomic.Bool
	err  error // set before done is
}

// probeKey is the object that shows whether the store honours conditions, and remembers it.
const probeKey = ".reportferry-probe.json"

const (
	unproved = `{"about":"reportferry looks whether this store honours If-None-Match and If-Match"}` + "\n"
	proved   = `{"about":"this store honours If-None-Match and If-Match"}` + "\n"
)

// noVersion is a generation and an ETag that no object has.
const noVersion = "1"

// Prove wants the store to refuse a put on absence of what is there, and one on a version that
// isn't. When it doesn't, the error is ErrUnsafe. What was proved once stands in the store, so that
// later processes need one call, and a process needs none after that. A folder is asked nothing:
// one on a file system that may not keep locks is refused.
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

// readProbe reads the probe, which may say that the store honours conditions.
func (b *Bucket) readProbe(ctx context.Context) (data []byte, version string, err error) {
	data, version, err = b.Get(ctx, probeKey)
	if err == nil && string(data) == proved {
		b.proof.done.Store(true)
	}
	return data, version, err
}

func (b *Bucket) prove(ctx context.Context) error {
	data, version, err := b.readProbe(ctx)
	switch {
	case err == nil && string(data) == proved:
		return nil
	case err == nil && string(data) != unproved:
		return fmt.Errorf("%s/%s isn't what reportferry writes there; move it away", b.url, probeKey)
	case errors.Is(err, fs.ErrNotExist):
		// Another does it too.
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
		return nil // another has proved it
	}
	return err
}
