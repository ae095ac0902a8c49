package bqsink

import (
	"context"
	"sync"
)

// A turn is a lock that a waiting context can leave, because calls are made while it is held.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

// places holds what is known of each partition that this process has worked on.
type places struct {
	mu    sync.Mutex
	known map[string]*slot
}

// A slot is held by one Put at a time: the jobs of two on one partition would land in any order.
type slot struct {
	turn    turn
	run     string
	attempt int  // number of the run's last job
	settled bool // no job of anybody is known to be under way, since the run looked for them
}

func (p *places) take(ctx context.Context, at place, run string) (*slot, error) {
	p.mu.Lock()
	if p.known == nil {
		p.known = map[string]*slot{}
	}
	s := p.known[at.destination()]
	if s == nil {
		s = &slot{turn: newTurn()}
		p.known[at.destination()] = s
	}
	p.mu.Unlock()
	if err := s.turn.take(ctx); err != nil {
		return nil, err
	}
	if s.run != run {
		s.run, s.attempt, s.settled = run, 0, false
	}
	return s, nil
}
