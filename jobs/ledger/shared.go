package ledger

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A sharedRead reads something that only grows. Goroutines that ask for it at about the same time
// share one read. Each gets the result of a read that began after it asked, so that it sees
// everything that existed by then.
type sharedRead struct {
	turn *semaphore.Weighted // a lock for reading

	mu       sync.Mutex
	asked    int // number of calls of do
	answered int // the first this many of them have their result
}

func newSharedRead() *sharedRead { return &sharedRead{turn: semaphore.NewWeighted(1)} }

// do returns once a read has succeeded that began after the call; one of the callers executes it. A
// failed read is reported only to the caller that executed it, and the next caller reads again.
func (s *sharedRead) do(ctx context.Context, read func() error) error {
	s.mu.Lock()
	s.asked++
	mine := s.asked
	s.mu.Unlock()
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.turn.Release(1)
	s.mu.Lock()
	answered, all := s.answered >= mine, s.asked
	s.mu.Unlock()
	if answered {
		return nil
	}
	if err := read(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = all
	return nil
}
