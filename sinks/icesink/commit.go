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

// A committer commits the puts into one table. It commits all that wait together, because for each
// commit the table is loaded and its manifests are written again, however many files change.
type committer struct {
	sink *Sink
	name string

	mu      sync.Mutex
	waiting []*put
	busy    bool
	known   *loaded   // the table after the last commit; nil when it must be loaded
	since   time.Time // when known was loaded or committed
}

// knownTime is how long the table after a commit is used again without loading it. This is safe,
// because a commit on an older state than the catalog's is refused. The time is short because
// credentials for the files, which some catalogs give with the table, don't last.
const knownTime = time.Minute

// know keeps the table as it is after a commit. nil makes the committer forget what it knows.
func (c *committer) know(t *loaded) {
	c.mu.Lock()
	c.known, c.since = t, time.Now()
	c.mu.Unlock()
	if t != nil {
		c.sink.remember(c)
	}
}

// mostKnown is the number of tables whose content is kept in memory. Ten years of days take 10 MB.
const mostKnown = 8

// remember notes that c knows its table. When too many do, the one that committed longest ago
// forgets its table.
func (s *Sink) remember(c *committer) {
	s.mu.Lock()
	s.recent = append(slices.DeleteFunc(s.recent, func(other *committer) bool { return other == c }), c)
	var oldest *committer
	if len(s.recent) > mostKnown {
		oldest = s.recent[0]
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.mu.Unlock()
	if oldest != nil {
		oldest.know(nil)
	}
}

// lately returns the table as it was after the last commit, or nil if that is too long ago.
func (c *committer) lately() *loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || time.Since(c.since) > knownTime {
		return nil
	}
	return c.known
}

// add queues a put to be committed. The put's channel done gets the result.
func (c *committer) add(p *put) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, p)
	if !c.busy {
		c.busy = true
		go c.commitAll()
	}
}

// commitAll commits what waits until nothing does.
func (c *committer) commitAll() {
	for {
		c.mu.Lock()
		batch := c.waiting
		c.waiting = nil
		if len(batch) == 0 {
			c.busy = false
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

// commit commits a batch, and reports the result to each put.
func (c *committer) commit(batch []*put) {
	ctx, stop := lasting(batch)
	defer stop()
	var done []*put
	err := c.sink.repeat(ctx, func() (err error) {
		done, err = c.attempt(ctx, &batch)
		if err != nil {
			c.know(nil)
		}
		return err
	})
	for _, p := range batch { // attempt takes puts with a result out of the batch
		p.end(err)
	}
	if len(done) > 0 {
		c.tend(ctx, done)
	}
	for _, p := range done {
		p.end(nil)
	}
}

// lasting returns a context for a batch. The end of a put's context doesn't interrupt a commit that
// is under way, because its outcome would be unknown. When the contexts of all puts have ended, the
// commit gets commitTime to finish.
func lasting(batch []*put) (context.Context, func()) {
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

// attempt tries to commit the puts that are left in a batch. It takes puts whose outcome is known
// out of the batch. It returns those that it has committed, which the caller is to answer.
func (c *committer) attempt(ctx context.Context, batch *[]*put) (done []*put, err error) {
	t, states, err := c.load(ctx, *batch)
	if err != nil {
		return nil, err
	}
	var out, in []iceberg.DataFile
	var rest []*put
	for i, p := range *batch {
		if settled, err := p.outcome(t, states[i]); settled {
			p.end(err)
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
	head := t.head()
	for _, p := range rest {
		p.sent[head] = true
	}
	made, err := t.swap(ctx, out, in, rest)
	if err != nil {
		if refused(err) {
			for _, p := range rest {
				delete(p.sent, head)
			}
		}
		return nil, c.lost(ctx, t, err)
	}
	for _, p := range rest {
		p.sent = nil
		t.held[p.at] = &holding{at: p.at, files: []iceberg.DataFile{p.file},
			oldest: made.CurrentSnapshot().SequenceNumber}
	}
	c.know(&loaded{Table: made, files: t.files, held: t.held}) // held spares reading all manifests again
	*batch = nil
	return rest, nil
}

// lost returns the error of a commit, with errConflict if it failed because somebody else was
// faster. It compares the table, because not all catalogs answer with such an error: some errors
// come from the library, which itself checks what the catalog has, and a load balancer that sends a
// commit twice returns the refusal of the second although the first was done.
func (c *committer) lost(ctx context.Context, on *loaded, err error) error {
	if errors.Is(err, table.ErrCommitFailed) {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	if now, failed := c.sink.load(ctx, c.name); failed == nil && now.MetadataLocation() != on.MetadataLocation() {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	return err
}

// load returns the table as it was after the last commit, and what the partitions of the batch
// hold. If a put may not replace what its partition holds, load asks the catalog for the table,
// because somebody else may have changed it since.
func (c *committer) load(ctx context.Context, batch []*put) (t *loaded, states []state, err error) {
	t = c.lately()
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

// outcome finds out whether a put has been done already, or can't be done. If neither, settled is
// false, and the put is to be committed.
func (p *put) outcome(t *loaded, now state) (settled bool, err error) {
	// An earlier attempt committed it, and the answer was lost.
	if now.holding != nil && now.stamp == p.stamp && !now.foreign {
		p.sent = nil
		return true, nil
	}
	// Commits on other snapshots than the current one haven't happened, and can't any more.
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

// end reports the result to the caller of Put, and says so if the outcome is unknown.
func (p *put) end(err error) {
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
func (t *loaded) head() int64 {
	if s := t.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}

// swap takes the files out out of the table and the files in into it, in one commit, which the
// catalog refuses if the table has another snapshot by then. The library tries only once, because
// it doesn't know what a put may replace.
func (t *loaded) swap(ctx context.Context, out, in []iceberg.DataFile, puts []*put) (*table.Table, error) {
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
	if err := tx.ReplaceDataFilesWithDataFiles(ctx, out, in, properties(puts), table.WithoutAutoNameMapping(),
		table.WithoutDuplicateCheck()); err != nil {
		return nil, err
	}
	return tx.Commit(ctx)
}
