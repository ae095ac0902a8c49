// Package faults scripts the failures of a fake server: which calls fail, how often, and in what
// order. Without it, each fake would count calls in a way of its own, and a test that moves from
// one fake to another would make a different call fail.
//
// Each fake has a fault type of its own, because what can go wrong depends on the service: a report
// loses a column, a load job stays running. This package has what the fakes share: when a fault
// strikes (Schedule), the list of faults in force with a count for each (Script), their JSON
// (Marshal, Unmarshal), and the ways to be slow (Sleep) and to drop a connection (Drop).
//
//	a call ── Script.Next ──┬── the first fault that looks at the call and is due ── the fake does what it says
//	                        └── none ── the fake answers as ever
//
// A Script is safe for concurrent use. Its counts begin at 1 whenever it is set, so that a test
// says "the second call from here on" and nothing that happened earlier changes its meaning.
package faults

import (
	"errors"
	"fmt"
	"sync"
)

// A Schedule says which calls a fault strikes, of those that match it: number Nth, counted from 1
// since the script was set, and then every Every-th one, at most Times in all. Zeros mean the first
// call, once. With Every set and Times zero it strikes without end.
type Schedule struct{ Nth, Every, Times int }

// Strikes reports whether the n-th matching call is struck.
func (s Schedule) Strikes(n int) bool {
	since := n - max(s.Nth, 1)
	every := max(s.Every, 1)
	times := s.Times
	if times == 0 && s.Every == 0 {
		times = 1
	}
	return since >= 0 && since%every == 0 && (times == 0 || since/every < times)
}

// ErrNegative is what Validate returns for a fault with a number below zero.
var ErrNegative = errors.New("numbers of a fault can't be negative")

// A Fault is one entry of a fake's script.
type Fault interface {
	Schedule() Schedule
	// Validate returns an error that says what makes the fault meaningless. It is called before the
	// fault is in force.
	Validate() error
}

// Validate checks a script. Its error gives the position of the wrong fault, counted from 1.
func Validate[F Fault](list []F) error {
	for i, f := range list {
		s := f.Schedule()
		err := f.Validate()
		if err == nil && min(s.Nth, s.Every, s.Times) < 0 {
			err = ErrNegative
		}
		if err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return nil
}

// A Script is the list of faults in force. The zero value is empty: no call fails.
type Script[F Fault] struct {
	mu     sync.Mutex
	faults []F
	seen   []int // for each fault, how many calls have matched it
}

// Set replaces the script, and counting starts again at 1. A script that Validate refuses changes
// nothing.
func (s *Script[F]) Set(list []F) error {
	if err := Validate(list); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.seen = append([]F(nil), list...), make([]int, len(list))
	return nil
}

// A Strike identifies one strike in a script: by the index of the fault, from 0, and by that
// fault's count of matching calls, from 1.
type Strike struct{ Fault, Call int }

// Next counts a call for every fault that looksAt matches to it. It returns a copy of the first
// fault that strikes, or nil.
func (s *Script[F]) Next(looksAt func(F) bool) (struck *F, at Strike) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if !looksAt(f) {
			continue
		}
		s.seen[i]++
		if struck == nil && f.Schedule().Strikes(s.seen[i]) {
			struck, at = &f, Strike{i, s.seen[i]}
		}
	}
	return struck, at
}
