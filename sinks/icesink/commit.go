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

// A committer commits what is put into one table, everything that waits at once: between two
// commits the table is loaded and its manifests are written again, however many files change.
type committer struct {
	sink *Sink
	name string

	mu      sync.Mutex
	waiting []*put
	busy    bool
	known   *loaded   // the table after the last commit; nil: it is to be asked for
	since   time.Time // when known was loaded or committed
}

// knownTime is for how long a table is taken for what it was after a commit. A commit on an older
// state than the catalog's is refused, so that this is no danger; but credentials for the files,
// which some catalogs give with the table, don't last.
const knownTime = time.Minute

func (c *committer) know(t *loaded) {
	c.mu.Lock()
	c.known, c.since = t, time.Now()
	c.mu.Unlock()
	if t != nil {
		c.sink.remember(c)
	}
}

// mostKnown is of how many tables it is remembered what they hold. Ten years of days take 10 MB.
const mostKnown = 8

// remember has what is known of the table that was committed to longest ago forgotten, when there
// are too many.
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

// lately gives the table as it was after the last commit; nil if that is too long ago.
func (c *committer) lately() *loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || time.Since(c.since) > knownTime {
		return nil
	}
	return c.known
}

// add has a put committed. Its channel tells when.
func (c *committer) add(p *put) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, p)
	if !c.busy {
		c.busy = true
		go c.commitAll()
	}
}

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
		// Two puts of one partition replace each other, one after the other.
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

// commit commits a batch, and tells each put what became of it.
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
	for _, p := range batch { // those that are left
		p.end(err)
	}
	if len(done) > 0 {
		c.tend(ctx, done)
	}
	for _, p := range done {
		p.end(nil)
	}
}

// lasting gives a context for a batch. A commit that is under way isn't cut short by the end of a
// put's context, which would leave its outcome unknown, but for long.
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

// commitTime bounds the wait for the answer to a commit after its put has ended. A process that
// gets SIGTERM has 10 s.
const commitTime = 7 * time.Second

// errConflict says that the table has another snapshot than the one on which a commit was to be
// made.
var errConflict = errors.New("the table was changed meanwhile")

// attempt tries to commit what is left of a batch. It takes out of the batch what is settled, and
// gives those that are to be answered that they are done.
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
	c.know(&loaded{Table: made, files: t.files, held: t.held}) // which would take reading all manifests again
	*batch = nil
	return rest, nil
}

// lost tells whether a commit failed because somebody else was faster. Not all catalogs answer so:
// some errors are of the library, which checks by itself what the catalog has, and a load balancer
// that sends a commit twice answers no for one that was done.
func (c *committer) lost(ctx context.Context, on *loaded, err error) error {
	if errors.Is(err, table.ErrCommitFailed) {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	if now, failed := c.sink.load(ctx, c.name); failed == nil && now.MetadataLocation() != on.MetadataLocation() {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	return err
}

// load gives the table as it was after the last commit, and what the partitions hold. Where that
// isn't what a put may replace, the table is loaded, because somebody else may have changed it
// since.
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

// outcome finds out what became of a put so far: it was done, or can't be done. Otherwise it is to
// be committed.
func (p *put) outcome(t *loaded, now state) (settled bool, err error) {
	// An earlier attempt did it, and its answer was lost.
	if now.holding != nil && now.stamp == p.stamp && !now.foreign {
		p.sent = nil
		return true, nil
	}
	// Those haven't happened, and can't any more.
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

// end tells the put what became of it.
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

// head is the ID of the table's current snapshot; 0 when it has none.
func (t *loaded) head() int64 {
	if s := t.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}

// swap takes files out of the table and others in, in one commit, which the catalog refuses if the
// table has another snapshot by then. The library tries once: only here is it known what may be
// replaced.
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
