package ledger

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A sharedRead reads something that only grows. Goroutines that ask for it at about the same time
// share one reading: each gets one that began after it asked, so that it sees all that was there by
// then.
type sharedRead struct {
	turn *semaphore.Weighted // held to read

	mu       sync.Mutex
	asked    int // how often
	answered int // as many of them as have been answered
}

func newSharedRead() *sharedRead { return &sharedRead{turn: semaphore.NewWeighted(1)} }

// do has one of those who ask read. A reading that fails answers nobody but the one whose reading
// it was.
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
