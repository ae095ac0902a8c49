package buckettest

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
)

// A Fate is what becomes of one call over a faulty network. The zero Fate is that of a good one.
type Fate struct {
	Delay time.Duration // until the store gets the call. When the caller gives up before that, the store doesn't get it
	Slow  time.Duration // until the caller gets the answer of what the store has done
	Never bool          // the store doesn't get the call, but for Later
	// What the caller gets instead of the store's answer. With Never and without Err it waits until
	// it gives up.
	Err error
	// The store gets it twice, and the second answer counts: the store's client has sent it again
	// by itself.
	Twice bool

	// Later is given a function that makes the store do the call, once more or, with Never, at all.
	// It is called whenever the test likes, for example when the caller is long gone.
	Later func(apply func())
}

// A faulty is a store in memory behind a bad network.
type faulty struct {
	*bucket.Memory
	decide func(c bucket.Call) Fate
	mu     sync.Mutex
}

// NewFaulty opens a store in memory over a bad network. What happens there is what decide says of
// each call, and nothing is left to chance; decide is asked by one goroutine at a time. Each
// process of a test may have a network of its own to the same Memory.
func NewFaulty(m *bucket.Memory, decide func(c bucket.Call) Fate) *bucket.Bucket {
	return bucket.New("mem://", &faulty{Memory: m, decide: decide})
}

func (f *faulty) Do(ctx context.Context, c bucket.Call) (bucket.Answer, error) {
	f.mu.Lock()
	fate := f.decide(c)
	f.mu.Unlock()
	sent := context.WithoutCancel(ctx) // what is on its way can't be called back
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

func wait(ctx context.Context, d time.Duration) error {
	if d > 0 && bucket.Sleep(ctx, d) {
		return nil
	}
	return ctx.Err()
}
