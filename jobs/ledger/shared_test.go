package ledger

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each gets a look that began after it asked, and many that ask during one look share the next.
func TestSharedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = time.Second
		l, looks := newSharedRead(), atomic.Int32{}
		var last atomic.Pointer[time.Time] // when the last look began that is over
		look := func() error {
			began := time.Now()
			time.Sleep(takes)
			looks.Add(1)
			last.Store(&began)
			return nil
		}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 30 * time.Millisecond)
				asked := time.Now()
				check(t, l.do(t.Context(), look))
				if began := *last.Load(); began.Before(asked) {
					t.Errorf("%v old: the look that answers", asked.Sub(began))
				}
				if waited := time.Since(asked); waited > 2*takes {
					t.Errorf("waited %v for a look of %v", waited, takes)
				}
			})
		}
		all.Wait()
		if n := looks.Load(); n > 5 {
			t.Errorf("%d looks answer 100 that ask within three of them", n)
		}
	})
}

// A look that fails is one's own matter: the others look for themselves.
func TestShareAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, broken := newSharedRead(), errors.New("broken")
		var failed, done atomic.Int32
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				err := l.do(t.Context(), func() error {
					time.Sleep(time.Second)
					if i%2 == 0 {
						return broken
					}
					return nil
				})
				if errors.Is(err, broken) {
					failed.Add(1)
				} else if err == nil {
					done.Add(1)
				}
			})
		}
		all.Wait()
		if failed.Load() > 2 || failed.Load()+done.Load() != 4 || done.Load() < 2 {
			t.Errorf("%d failed and %d have seen it", failed.Load(), done.Load())
		}
		over, cancel := context.WithCancel(t.Context())
		all.Go(func() { check(t, l.do(t.Context(), func() error { time.Sleep(time.Hour); return nil })) })
		synctest.Wait()
		time.AfterFunc(time.Second, cancel)
		if err := l.do(over, func() error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("whoever is stopped waits for another's look: %v", err)
		}
		all.Wait()
	})
}
