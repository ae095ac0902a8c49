package buckettest

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
)

// A Fate is what happens to one call over a faulty network. The zero Fate is a call without faults.
type Fate struct {
	Delay time.Duration // until the store gets the call; if the caller gives up before, the store never does
	Slow  time.Duration // from when the store has done the call until the caller gets the answer
	Never bool          // the store never gets the call, except by Later
	// Err is what the caller gets instead of the store's answer. With Never and without Err, the
	// caller waits until it gives up.
	Err error
	// Twice: the store gets the call twice, and the second answer counts, as when the store's
	// client repeats a call by itself.
	Twice bool

	// Later is given a function that makes the store execute the call: once more or, with Never,
	// for the first time. The test may call that function at any time, for example when the caller
	// is long gone.
	Later func(apply func())
}

// A faulty is a store in memory behind a bad network.
type faulty struct {
	*bucket.Memory
	decide func(c bucket.Call) Fate
	mu     sync.Mutex
}

// NewFaulty opens a store in memory behind a bad network. decide determines what happens to each
// call, so nothing is random; it is called by one goroutine at a time. Each process of a test may
// have a network of its own to the same Memory.
func NewFaulty(m *bucket.Memory, decide func(c bucket.Call) Fate) *bucket.Bucket {
	return bucket.New("mem://", &faulty{Memory: m, decide: decide})
}

func (f *faulty) Do(ctx context.Context, c bucket.Call) (bucket.Answer, error) {
	f.mu.Lock()
	fate := f.decide(c)
	f.mu.Unlock()
	sent := context.WithoutCancel(ctx) // a call that was sent can't be cancelled
	if fate.Later != nil {
		fate.Later(func() { _, _ = f.Memory.Do(sent, c) })
	}
	if fate.Never {
		if fate.Err == nil {
			<-ctx.Done()
			return bucket.Answer{}, ctx.Err()
		}
		return bucket.Answer{}, cmp.Or(wait(ctx, fate.Delay+fate.Slow), fate.Err)
	}
	if err := wait(ctx, fate.Delay); err != nil {
		return bucket.Answer{}, err
	}
	a, err := f.Memory.Do(sent, c)
	if fate.Twice {
		a, err = f.Memory.Do(sent, c)
	}
	if late := wait(ctx, fate.Slow); late != nil {
		return bucket.Answer{}, late
	}
	if fate.Err != nil {
		return bucket.Answer{}, fate.Err
	}
	return a, err
}

// wait waits for d. It returns the context's error if that ends before.
func wait(ctx context.Context, d time.Duration) error {
	if d > 0 && bucket.Sleep(ctx, d) {
		return nil
	}
	return ctx.Err()
}
