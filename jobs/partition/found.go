package partition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// leastFile is the size of the least Parquet file in bytes: the magic number twice, and the length of the end. A store refuses to
// give a range of an empty object.
const leastFile = 12

// Found judges the parts that Look has found in a sink of which the ledger has no receipt: the ledger is new, or was lost, or the
// sink is, and somebody with another ledger may fill the table as well. Numbers of the same meaning are fetched again and replaced,
// and a warning says so. Others are refused, because readers would find both side by side. With replace set, a person has asked
// for all to be replaced, so that only partitions of another length are refused, which would stay beside the new ones.
func (t *Table) Found(ctx context.Context, now ledger.Shape, replace bool) error {
	for _, target := range t.o.Targets {
		newest, n := t.newest(target)
		if n == 0 || newest.Size < leastFile || t.knows(target) {
			continue
		}
		if err := t.Refresh(ctx); err != nil {
			return err
		}
		if t.knows(target) { // another process of this ledger has just put them there
			continue
		}
		fingerprint, columns, err := t.meaning(ctx, target, newest)
		if err != nil { // what can't be read may be anybody's
			return fmt.Errorf("see what is there of %s in %s, key %s: %w", t.Name(), target.Name, newest.Key, err)
		}
		if fingerprint == "" {
			continue // nothing of ours, which Publish refuses to replace
		}
		if err := t.judge(target, n, fingerprint, columns, now, replace); err != nil {
			return err
		}
	}
	return nil
}

// meaning gives the fingerprint and the columns of what a sink holds; none of what this program didn't write.
func (t *Table) meaning(ctx context.Context, target ledger.Target, o sinks.Object) (fingerprint string, columns []string, err error) {
	switch sink := target.Sink.(type) {
	case sinks.Ranger:
		file := &watched{ReaderAt: sink.At(ctx, o.Key)}
		c, err := table.Contents(file, o.Size)
		if err != nil && file.err == nil {
			return "", nil, nil // no Parquet file
		}
		return c.Notes["fingerprint"], c.Columns, file.err
	case sinks.Labeller:
		return sink.Meaning(ctx, t.Name(), o.Partition)
	}
	return "", nil, nil
}

// A watched file remembers that it couldn't be read, which tells nothing of what it holds.
type watched struct {
	io.ReaderAt
	err error
}

func (w *watched) ReadAt(b []byte, at int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(b, at)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

func (t *Table) judge(target ledger.Target, n int, fingerprint string, columns []string, now ledger.Shape, replace bool) error {
	parts, unneeded := "partitions", "If they aren't needed, drop the table"
	if _, ok := target.Sink.(sinks.Ranger); ok {
		parts, unneeded = "files", "If the files aren't needed, delete them"
	}
	where := fmt.Sprintf("%s already holds %s of this table (%d) that this ledger didn't put there", target.Name, parts, n)
	switch {
	case fingerprint == now.FingerprintID():
		t.o.Log.Warn(where+". If the old ledger was lost, all is well: what is due is fetched again and replaces them. "+
			"If another config fills this table too, give one of the two jobs another table", "job", t.o.Job)
		return nil
	case replace:
		was := ledger.Shape{Fingerprint: map[string]string{ledger.FingerprintPeriod: periodOf(columns, now)}}
		return ledger.CheckRebaseline(t.Name(), was, now)
	}
	return fmt.Errorf("table %s: %w, because %s. Their numbers mean something else: theirs are the columns %s, "+
		"or another account, currency, zone or filter. If another config fills this table, give this job another table. "+
		"%s, or replace them with run --rebaseline",
		t.Name(), ledger.ErrRefused, where, strings.Join(columns, ", "), unneeded)
}

// knows tells whether a record names what the target holds, or a put to it that was interrupted.
func (t *Table) knows(target ledger.Target) bool {
	for _, e := range t.Records() {
		if _, has := e.Receipt(target); has || e.State == ledger.Publishing {
			return true
		}
	}
	return false
}

// newest is the object of the newest part that the target showed when Look listed it, and the number of its parts.
func (t *Table) newest(target ledger.Target) (newest sinks.Object, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.seen[target.Identity()].objects {
		if o.Partition == (civil.Date{}) {
			continue
		}
		if n++; n == 1 || o.Partition.After(newest.Partition) {
			newest = o
		}
	}
	return newest, n
}

// periodOf is the period of files with these columns, which is that of the finest date among them. Where now has none of its
// own, as tables of snapshots do, there is none to compare.
func periodOf(columns []string, now ledger.Shape) string {
	if now.Fingerprint[ledger.FingerprintPeriod] == "" {
		return ""
	}
	for _, period := range []string{"hour", "day", "week", "month", "quarter", "year"} {
		if slices.Contains(columns, period) {
			return strings.Replace(period, "hour", "day", 1)
		}
	}
	return refresh.Whole.String()
}
