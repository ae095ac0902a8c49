package transport

import "time"

// A Share is one process's part of the limits Rate and InFlight, when several processes call the
// service at the same time. The zero Share is all of it.
type Share struct {
	Index int // of this process, from 0
	Count int // of processes
}

// withShare returns the options with this process's part of the rate.
func (o Options) withShare() Options {
	if o.Share.Count > 1 {
		o.Rate /= float64(o.Share.Count)
		o.Burst = 1 // bursts would add up
	}
	return o
}

// part returns this process's part of n requests in flight, which may be 0.
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

// turns are the times at which one of several processes may send a request. Each process has time
// slots of its own on the wall clock. So all processes together keep the rate in each second, and
// not only on average, whenever each of them was started. When their clocks differ by d, a second
// may get the requests of 1 s + d.
type turns struct {
	interval time.Duration // between two turns; 0 when a request may be sent at any time
	offset   time.Duration // of the turns from multiples of interval since 1970
	last     time.Time     // the turn that was returned last
}

// newTurns returns the turns of a process that sends perSecond requests a second.
func newTurns(s Share, perSecond float64) turns {
	if s.Count <= 1 {
		return turns{}
	}
	interval := time.Duration(float64(time.Second) / perSecond)
	// In the middle of its slot: a request that is sent a little late counts in the same second.
	return turns{interval: interval, offset: interval * time.Duration(2*s.Index+1) / time.Duration(2*s.Count)}
}

// after returns the first turn at t or later that it hasn't returned yet.
func (s *turns) after(t time.Time) time.Time {
	if s.interval == 0 {
		return t
	}
	if next := s.last.Add(s.interval); t.Before(next) {
		t = next
	}
	late := (time.Duration(t.UnixNano()) - s.offset) % s.interval
	if late > 0 {
		t = t.Add(s.interval - late)
	}
	s.last = t
	return t
}
