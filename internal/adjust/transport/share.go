package transport

import "time"

// A Share is one process's part of Rate and InFlight, when several processes ask the service at
// once. The zero Share is all of it.
type Share struct {
	Index int // of this process, from 0
	Count int // of processes
}

// divided gives the options of one process.
func (o Options) divided() Options {
	if o.Share.Count > 1 {
		o.Rate /= float64(o.Share.Count)
		o.Burst = 1 // bursts would add up
	}
	return o
}

// part gives this process's part of a number of places, which may be none.
func (s Share) part(n int) int {
	if s.Count <= 1 {
		return n
	}
	part := n / s.Count
	if s.Index < n%s.Count {
		part++
	}
	return part
}

// turns are the moments at which one process of several may send. Each has its own, by the wall
// clock, so that the processes together keep the rate in every second and not in the mean only,
// whenever each began. Clocks that run apart by d make a second hold what belongs into one and d.
type turns struct {
	pitch, offset time.Duration // 0: any moment
	last          time.Time
}

func newTurns(s Share, perSecond float64) turns {
	if s.Count <= 1 {
		return turns{}
	}
	pitch := time.Duration(float64(time.Second) / perSecond)
	// In the middle of its slot: a request that is sent a little late counts in the same second.
	return turns{pitch: pitch, offset: pitch * time.Duration(2*s.Index+1) / time.Duration(2*s.Count)}
}

// after gives the first turn at t or later that wasn't given yet.
func (s *turns) after(t time.Time) time.Time {
	if s.pitch == 0 {
		return t
	}
	if next := s.last.Add(s.pitch); t.Before(next) {
		t = next
	}
	late := (time.Duration(t.UnixNano()) - s.offset) % s.pitch
	if late > 0 {
		t = t.Add(s.pitch - late)
	}
	s.last = t
	return t
}
