package bqsink

import "golang.org/x/time/rate"

// Unpaced makes a sink submit jobs as fast as it can. The pace has a test of its own.
func (s *Sink) Unpaced() *Sink {
	s.pace.perSecond = rate.Inf
	return s
}
