package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An instant is a moment by two clocks: the wall clock, which people set, and the running time, which may stand still
// in sleep.
type instant struct {
	wall    time.Time
	running time.Duration
}

func (l *Ledger) instant() instant {
	wall, running := l.clock()
	return instant{wall, running}
}

// since is how much time has passed, by the clock that shows more. A process that overestimates it gives up a lease
// that it still has, which costs work; one that underestimates it would keep a lease that is another's by now.
func (i instant) since(earlier instant) time.Duration {
	return max(i.wall.Sub(earlier.wall), i.running-earlier.running)
}

// A proof remembers that the store honours conditional creates. A process asks for it once, before its first create.
type proof struct {
	turn chan struct{} // a lock that a bubble of testing/synctest can wait for
	done bool
	err  error
}

// ErrUnsafe says that the ledger's store creates an object that exists, so that two runs can't be kept apart on it.
var ErrUnsafe = errors.New("the store doesn't honour If-None-Match: it created one object twice")

const probeKey = "probe.json"

// prove creates one key twice and wants the second to fail. The key stays, so that later processes need one call.
func (l *Ledger) prove(ctx context.Context) error {
	p := &l.proof
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.done {
		return p.err
	}
	data, err := encodeObject(struct{}{})
	if err != nil {
		return err
	}
	first := l.createObject(ctx, probeKey, data)
	if first == nil {
		first = l.createObject(ctx, probeKey, data)
	}
	switch {
	case errors.Is(first, errExists):
		p.done = true
	case first == nil:
		p.done = true
		p.err = fmt.Errorf("%w: %w (%s); every run would believe that a partition is its own; put the ledger into a store "+
			"that honours it, or into a folder", ErrRefused, ErrUnsafe, l.location(probeKey))
	default:
		return first
	}
	return p.err
}
