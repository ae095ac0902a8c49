package ledger

import (
	"context"
	"time"
)

// commitWait is how long a commit waits for other units of this process that work on the same
// month, so that one swap writes the records of all.
const commitWait = time.Second

type putKey struct{}

// WithPut returns a context for Begin. The ledger calls put when everything that the lease is for
// has been put, and only the records are left to write.
func WithPut(ctx context.Context, put func()) context.Context {
	return context.WithValue(ctx, putKey{}, put)
}

// join counts a lease among those of this process that work on its months.
func (l *Lease) join(ctx context.Context) {
	l.allPut, _ = ctx.Value(putKey{}).(func())
	months, t := l.months(), l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range months {
		l.working[name] = true
		t.working[name]++
	}
}

// leave says that a lease begins to commit in a month, or ends. It tells whether others of this
// process work on that month still, the first time that it is called.
func (l *Lease) leave(name string) (others bool) {
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if !l.working[name] {
		return false
	}
	delete(l.working, name)
	t.working[name]--
	return t.working[name] > 0
}

// allSent tells whether the records of everything that the lease is for have been sent.
func (l *Lease) allSent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.open {
		if !l.sent[p] {
			return false
		}
	}
	return true
}
