package icesink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks"
)

// A committer commits the puts into one table. It commits all waiting puts at once, because for
// each commit the table is loaded and its manifests are written again, however many files change.
type committer struct {
	sink *Sink
	name string

	mu          sync.Mutex
	waiting     []*put
	committing  bool
	cachedTable *loadedTable // the table after the last commit; nil when it must be loaded
	cachedAt    time.Time    // when cachedTable was loaded or committed
}

// cacheTime is how long the table after a commit is used again without loading it. This is safe,
// because the catalog refuses a commit that is based on an older state than its own. The time is
// short because credentials for the files, which some catalogs give with the table, don't last.
const cacheTime = time.Minute

// setCached keeps the table as it is after a commit. With nil, the committer forgets its table.
func (c *committer) setCached(t *loadedTable) {
	c.mu.Lock()
	c.cachedTable, c.cachedAt = t, time.Now()
	c.mu.Unlock()
	if t != nil {
		c.sink.limitCache(c)
	}
}

// mostCached is how many tables have their content kept in memory. Ten years of days take 10 MB.
const mostCached = 8

// limitCache notes that c has just kept its table. When more than mostCached committers keep one,
// the committer that committed longest ago forgets its own.
func (s *Sink) limitCache(c *committer) {
	s.mu.Lock()
	s.caching = append(slices.DeleteFunc(s.caching, func(other *committer) bool { return other == c }), c)
	var oldest *committer
	if len(s.caching) > mostCached {
		oldest = s.caching[0]
		s.caching = slices.Delete(s.caching, 0, 1)
	}
	s.mu.Unlock()
	if oldest != nil {
		oldest.setCached(nil)
	}
}

// cached returns the table as it was after the last commit, or nil if that is too long ago.
func (c *committer) cached() *loadedTable {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cachedTable == nil || time.Since(c.cachedAt) > cacheTime {
		return nil
	}
	return c.cachedTable
}

// add queues a put to be committed. The put's channel done gets the result.
func (c *committer) add(p *put) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, p)
	if !c.committing {
		c.committing = true
		go c.commitAll()
	}
}

// commitAll commits the waiting puts, batch by batch, until none is left.
func (c *committer) commitAll() {
	for {
		c.mu.Lock()
		batch := c.waiting
		c.waiting = nil
		if len(batch) == 0 {
			c.committing = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		// Of several puts into one partition, each needs a commit of its own.
		var now, later []*put
		for _, p := range batch {
			if slices.ContainsFunc(now, func(other *put) bool { return other.at == p.at }) {
				later = append(later, p)
			} else {
				now = append(now, p)
			}
		}
		c.mu.Lock()
		c.waiting = append(later, c.waiting...)
		c.mu.Unlock()
		c.commit(now)
	}
}

// commit commits a batch, and reports the result to each put. The puts that were committed get
// their result after the table's maintenance.
func (c *committer) commit(batch []*put) {
	ctx, stop := batchContext(batch)
	defer stop()
	var done []*put
	err := c.sink.repeat(ctx, func() (err error) {
		done, err = c.attempt(ctx, &batch)
		if err != nil {
			c.setCached(nil)
		}
		return err
	})
	for _, p := range batch { // attempt takes puts with a result out of the batch
		p.finish(err)
	}
	if len(done) > 0 {
		c.maintain(ctx, done)
	}
	for _, p := range done {
		p.finish(nil)
	}
}

// batchContext returns a context for a batch, and a function that ends it. The end of a put's
// context doesn't interrupt a commit that is under way, because its outcome would be unknown. When
// the contexts of all puts have ended, the commit gets commitTime to finish.
func batchContext(batch []*put) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(batch[0].ctx))
	var stops []func() bool
	var left sync.WaitGroup
	left.Add(len(batch))
	for _, p := range batch {
		stops = append(stops, context.AfterFunc(p.ctx, left.Done))
	}
	go func() {
		left.Wait() // the contexts of all have ended, or the batch is over
		select {
		case <-ctx.Done():
		case <-time.After(commitTime):
			cancel()
		}
	}()
	return ctx, func() {
		cancel()
		for _, stop := range stops {
			if stop() {
				left.Done()
			}
		}
	}
}

// commitTime bounds the wait for the answer to a commit after the contexts of its puts have ended.
// A process that gets SIGTERM has 10 s.
const commitTime = 7 * time.Second

// errConflict says that the table has another snapshot than the one that a commit was based on.
var errConflict = errors.New("the table was changed meanwhile")

// attempt tries to commit the puts that are left in a batch. Puts that are done already, or can't
// be done, get their result and leave the batch. attempt returns the puts that it has committed,
// to which the caller reports the result.
func (c *committer) attempt(ctx context.Context, batch *[]*put) (done []*put, err error) {
	t, states, err := c.load(ctx, *batch)
	if err != nil {
		return nil, err
	}
	// Collect the files that the table loses and gains, from the puts that are still to be done.
	var out, in []iceberg.DataFile
	var rest []*put
	for i, p := range *batch {
		if decided, err := p.outcome(t, states[i]); decided {
			p.finish(err)
			continue
		}
		rest = append(rest, p)
		if held := states[i].holding; held != nil {
			out = append(out, held.files...)
		}
		in = append(in, p.file)
	}
	if *batch = rest; len(rest) == 0 {
		return nil, nil
	}
	// Until the answer comes, each of these puts may have been committed.
	head := t.head()
	for _, p := range rest {
		p.sent[head] = true
	}
	made, err := t.replaceFiles(ctx, out, in, rest)
	if err != nil {
		if refused(err) {
			for _, p := range rest {
				delete(p.sent, head)
			}
		}
		return nil, c.commitError(ctx, t, err)
	}
	// Keep the table as it is now. byPlace spares the next commit reading all manifests again.
	for _, p := range rest {
		p.sent = nil
		t.byPlace[p.at] = &holding{at: p.at, files: []iceberg.DataFile{p.file},
			oldest: made.CurrentSnapshot().SequenceNumber}
	}
	c.setCached(&loadedTable{Table: made, files: t.files, byPlace: t.byPlace})
	*batch = nil
	return rest, nil
}

// commitError returns the error of a commit, and wraps errConflict if the commit failed because
// somebody else was faster. It loads the table again and compares, because not all catalogs answer
// with a conflict:
//   - Some errors come from the library, which itself checks what the catalog has.
//   - A load balancer that sends a commit twice returns the refusal of the second, although the
//     first was done.
func (c *committer) commitError(ctx context.Context, on *loadedTable, err error) error {
	if errors.Is(err, table.ErrCommitFailed) {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	if now, failed := c.sink.load(ctx, c.name); failed == nil && now.MetadataLocation() != on.MetadataLocation() {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	return err
}

// load returns a table, and what each partition of the batch holds in it. It prefers the table as
// it was after the last commit. If there is none, or a put may not replace what its partition holds
// in it, load asks the catalog, because somebody else may have changed the table since.
func (c *committer) load(ctx context.Context, batch []*put) (t *loadedTable, states []state, err error) {
	t = c.cached()
	for known := t != nil; ; known = false {
		if !known {
			if t, err = c.sink.load(ctx, c.name); err != nil {
				return nil, nil, err
			}
		}
		states = nil
		good := true
		for _, p := range batch {
			now, err := t.state(ctx, p.at)
			if err != nil {
				return nil, nil, err
			}
			states = append(states, now)
			good = good && now.meets(p.over)
		}
		if good || !known {
			return t, states, nil
		}
	}
}

// outcome finds out whether a put has been done already (decided, no error) or can't be done
// (decided, with the error). If decided is false, the put is to be committed.
func (p *put) outcome(t *loadedTable, now state) (decided bool, err error) {
	// An earlier attempt committed it, and the answer was lost.
	if now.holding != nil && now.stamp == p.stamp && !now.foreign {
		p.sent = nil
		return true, nil
	}
	// Earlier commits that were based on other snapshots than the current one haven't happened, and
	// can't any more.
	maps.DeleteFunc(p.sent, func(on int64, _ bool) bool { return on != t.head() })
	switch {
	case p.ctx.Err() != nil:
		return true, p.ctx.Err()
	case !now.meets(p.over):
		return true, conflict(p.over, now)
	case t.Metadata().TableUUID() != p.table:
		return true, fmt.Errorf("%w: the table was dropped and made again while the put was under way",
			sinks.ErrConflict)
	}
	return false, nil
}

// finish reports the result to the caller of Put. The error says so if the outcome is unknown.
func (p *put) finish(err error) {
	if ended := p.ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w, after: %w", ended, err)
	}
	if err != nil && len(p.sent) > 0 {
		err = fmt.Errorf("%w; whether the rows were committed is unknown: the partition holds the old rows or the "+
			"new ones, whole; repeat the put", err)
	}
	p.done <- err
}

// conflict returns the error of a put that may not replace what its partition holds.
func conflict(over sinks.Condition, now state) error {
	have, want := "nothing", "nothing"
	if now.holding != nil {
		have = "version " + now.condition().Version
	}
	if over.Version != "" {
		want = "version " + over.Version
	}
	return fmt.Errorf("%w: %s is there, and the put may replace %s only", sinks.ErrConflict, have, want)
}

// head returns the ID of the table's current snapshot, or 0 when it has none.
func (t *loadedTable) head() int64 {
	if s := t.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}

// replaceFiles removes the files of the list out from the table and adds those of the list in, in
// one commit, which the catalog refuses if the table has another snapshot by then. The library
// tries only once, because it doesn't know what a put may replace.
func (t *loadedTable) replaceFiles(ctx context.Context, out, in []iceberg.DataFile, puts []*put) (*table.Table, error) {
	tx := t.NewTransaction()
	if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
		return nil, err
	}
	newest := slices.MaxFunc(puts, func(a, b *put) int { return a.at.first.Compare(b.at.first) })
	if newest.fingerprint != "" && newest.fingerprint != t.Properties()[propertyFingerprint] {
		if err := tx.SetProperties(iceberg.Properties{propertyFingerprint: newest.fingerprint}); err != nil {
			return nil, err
		}
	}
	if err := tx.ReplaceDataFilesWithDataFiles(ctx, out, in, snapshotProperties(puts), table.WithoutAutoNameMapping(),
		table.WithoutDuplicateCheck()); err != nil {
		return nil, err
	}
	return tx.Commit(ctx)
}
