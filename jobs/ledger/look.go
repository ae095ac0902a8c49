package ledger

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A look is a reading that takes calls, such as that of a table's months. Goroutines that ask for it at about the same time share
// one: each gets one that began after it asked, so that it sees all that was there by then.
type look struct {
	turn *semaphore.Weighted // held to look

	mu    sync.Mutex
	asked int // how often
	seen  int // as many of them as have been answered
}

func newLook() *look { return &look{turn: semaphore.NewWeighted(1)} }

// share has one of those who ask look. A look that fails answers nobody but the one whose look it was.
func (l *look) share(ctx context.Context, look func() error) error {
	l.mu.Lock()
	l.asked++
	mine := l.asked
	l.mu.Unlock()
	if err := l.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer l.turn.Release(1)
	l.mu.Lock()
	answered, all := l.seen >= mine, l.asked
	l.mu.Unlock()
	if answered {
		return nil
	}
	if err := look(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = all
	return nil
}
