package bucket

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Fate is what becomes of one call to a Faulty. The zero Fate is that of a good network.
type Fate struct {
	Delay time.Duration // until the store gets the call. When the caller gives up before that, the store doesn't get it
	Slow  time.Duration // until the caller gets the answer of what the store has done
	Never bool          // the store doesn't get the call, but for Later
	Err   error         // what the caller gets instead of the store's answer. With Never and without Err it waits until it gives up
	Twice bool          // the store gets it twice, and the second answer counts: the store's client has sent it again by itself

	// Later is given a function that makes the store do the call, once more or, with Never, at all. It is called whenever the simulation
	// likes, for example when the caller is long gone, by time.AfterFunc or when all else is over.
	Later func(apply func())

	// Lag makes a listing show what the store held so long ago.
	Lag time.Duration
}

// A faulty is a store in memory behind a bad network.
type faulty struct {
	memory *Memory
	decide func(c Call) Fate
	mu     sync.Mutex
}

type change struct {
	at  time.Time
	key string
	to  *Object // nil: it was deleted
}

// NewFaulty opens a store in memory over a bad network. What happens there is what decide says of each call, and nothing is left to
// chance; decide is asked by one goroutine at a time. Each process of a test may have a network of its own to the same Memory.
func NewFaulty(m *Memory, decide func(c Call) Fate) *Bucket {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log == nil {
		m.log = &[]change{}
		for key, o := range m.objects {
			m.changed(time.Time{}, key, &o.Object)
		}
	}
	b := m.Open()
	b.driver = &faulty{memory: m, decide: decide}
	return b
}

// changed remembers a change for listings that lag.
func (m *Memory) changed(now time.Time, key string, to *Object) {
	if m.log != nil {
		*m.log = append(*m.log, change{now, key, to})
	}
}

func (f *faulty) Do(ctx context.Context, c Call) (Answer, error) {
	f.mu.Lock()
	fate := f.decide(c)
	f.mu.Unlock()
	sent := context.WithoutCancel(ctx) // what is on its way can't be called back
	if fate.Later != nil {
		fate.Later(func() { _, _ = f.memory.Do(sent, c) })
	}
	if fate.Never {
		if fate.Err == nil {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}
		return Answer{}, cmp.Or(wait(ctx, fate.Delay+fate.Slow), fate.Err)
	}
	if err := wait(ctx, fate.Delay); err != nil {
		return Answer{}, err
	}
	a, err := f.memory.Do(sent, c)
	if fate.Twice {
		a, err = f.memory.Do(sent, c)
	}
	if fate.Lag > 0 && (c.Op == OpList || c.Op == OpListFiles) {
		a.Objects = f.memory.listAt(c.Key, a.Date.Add(-fate.Lag))
	}
	if late := wait(ctx, fate.Slow); late != nil {
		return Answer{}, late
	}
	if fate.Err != nil {
		return Answer{}, fate.Err
	}
	return a, err
}

func wait(ctx context.Context, d time.Duration) error {
	if d > 0 && Sleep(ctx, d) {
		return nil
	}
	return ctx.Err()
}

// listAt lists what the store held at a time.
func (m *Memory) listAt(prefix string, at time.Time) (objects []Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := map[string]Object{}
	for _, c := range *m.log {
		switch {
		case c.at.After(at) || !strings.HasPrefix(c.key, prefix):
		case c.to == nil:
			delete(held, c.key)
		default:
			held[c.key] = *c.to
		}
	}
	for _, key := range slices.Sorted(maps.Keys(held)) {
		objects = append(objects, held[key])
	}
	return objects
}
