package ledger

import (
	"context"
	"time"
)

// commitWait is how long a commit waits for other units of this process that work on the same
// month, so that one swap writes the records of all of them.
const commitWait = time.Second

// putKey is the key under which WithPut puts its function into a context.
type putKey struct{}

// WithPut returns a context for Begin. The ledger calls put when everything that the lease is for
// has been put, and only the records are left to write.
func WithPut(ctx context.Context, put func()) context.Context {
	return context.WithValue(ctx, putKey{}, put)
}

// join counts the lease as one that works on its months in this process, and takes over the
// function of WithPut.
func (l *Lease) join(ctx context.Context) {
	l.allPut, _ = ctx.Value(putKey{}).(func())
	months, t := l.months(), l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range months {
		l.uncommitted[name] = true
		t.uncommittedLeases[name]++
	}
}

// leave notes that a lease begins to commit in a month, or ends. The first call for a month reports
// whether other leases of this process still work on that month.
func (l *Lease) leave(name string) (others bool) {
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if !l.uncommitted[name] {
		return false
	}
	delete(l.uncommitted, name)
	t.uncommittedLeases[name]--
	return t.uncommittedLeases[name] > 0
}

// allSent reports whether the records of all open partitions have been sent.
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
