package adjust

import (
	"sync/atomic"
	"time"
)

// Meter counts what one job costs the service and what it waits for. It may be read while requests run.
type Meter struct {
	Requests atomic.Int64 // attempts sent
	Retries  atomic.Int64 // attempts after the first one of their request
	Bytes    atomic.Int64 // CSV bytes received, after decompression, those of broken answers included
	Limiter  atomic.Int64 // nanoseconds waited for the token bucket, pauses asked for by Retry-After included
	Backoff  atomic.Int64 // nanoseconds slept between two attempts
}

// Totals are what m has counted so far.
func (m *Meter) Totals() (requests, retries, bytes int64, limiter, backoff time.Duration) {
	return m.Requests.Load(), m.Retries.Load(), m.Bytes.Load(), time.Duration(m.Limiter.Load()), time.Duration(m.Backoff.Load())
}
