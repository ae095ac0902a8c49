package jobs

import (
	"context"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// marks are what the tasks of an execution tell each other: the jobs that are done.
type marks struct {
	of    *ledger.Execution // nil: there is one task, or the execution has no name
	turn  chan struct{}     // a mutex that testing/synctest sees as blocked
	began time.Time
	read  time.Time
	done  map[string]bool
}

// marks are the marks of a task's execution.
func (r *Runner) marks(ctx context.Context) *marks {
	m := &marks{turn: make(chan struct{}, 1), began: time.Now(), done: map[string]bool{}}
	if r.Share.several() && r.Share.Execution != "" {
		m.of = r.Ledger.Execution(r.Share.Execution)
	}
	if m.of != nil && r.Share.Index == 0 {
		_ = m.of.Begin(ctx) // what stays of earlier executions does no harm
	}
	return m
}

// mark tells the other tasks that a job is done. When that can't be written, they look for themselves.
func (m *marks) mark(ctx context.Context, job, run string) {
	if m.of == nil {
		return
	}
	_ = m.of.Mark(ctx, job, run)
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	m.done[job] = true
}

// has tells whether a job is done, by marks that were read a moment ago at most.
func (m *marks) has(ctx context.Context, job string) bool { return m.hasBy(ctx, job, m.moment()) }

// hasBy is has by marks that are no older than that.
func (m *marks) hasBy(ctx context.Context, job string, age time.Duration) bool {
	if m.of == nil {
		return false
	}
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if time.Since(m.read) >= age {
		if done, err := m.of.Marked(ctx); err == nil {
			for name := range done {
				m.done[name] = true
			}
		}
		m.read = time.Now()
	}
	return m.done[job]
}

// moment is how old marks may be. A task that waits for others so ends a twentieth later than they at the most, and asks 150 times when
// they take hours.
func (m *marks) moment() time.Duration { return max(time.Second, time.Since(m.began)/20) }
