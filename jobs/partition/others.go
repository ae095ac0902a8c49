package partition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// mostOpened is how many parts, and how many files under other keys, are opened. Files of a
// person's own are few, and those of another layout many.
const mostOpened = 10

// leastFile is the size of the smallest Parquet file in bytes: the magic number twice, and the
// length of the footer. A store refuses to give a range of an empty object.
const leastFile = 12

// CheckOthers compares what FindChanged has listed in the sinks with what the ledger has put there.
// Other parts may come from another ledger that fills the table as well, from this ledger before it
// was lost, or from somebody who restored them:
//
//   - Parts whose numbers mean the same are fetched again and replaced, and each run warns.
//   - Parts whose numbers mean something else are refused, because readers would find both side by
//     side. With replace set, a person has asked for all to be replaced: the run only warns, but
//     refuses partitions of another length, which would stay beside the new ones.
//   - Parts with a metric that the config neither wants nor drops are refused unless replace is
//     set: a fetch would take the metric away, and after a loss of the ledger a person may have an
//     older config.
//
// For files under other keys see checkLayout.
func (t *Table) CheckOthers(ctx context.Context, now ledger.Shape, replace bool) error {
	for _, target := range t.o.Targets {
		if parts, otherKeys := t.others(target); len(parts)+len(otherKeys) == 0 {
			continue
		}
		if err := t.Refresh(ctx); err != nil {
			return err
		}
		parts, otherKeys := t.others(target) // without those that another process of this ledger has just put there
		if len(otherKeys) > 0 {
			if err := t.checkLayout(ctx, target, otherKeys); err != nil {
				return err
			}
		}
		if len(parts) == 0 {
			continue
		}
		fingerprint, columns, err := t.meaningOfParts(ctx, target, parts, now.FingerprintID())
		if err != nil {
			return err
		}
		if fingerprint == "" {
			continue // this program wrote none of them, and Publish refuses to replace them
		}
		if err := t.checkMeaning(target, len(parts), fingerprint, columns, now, replace); err != nil {
			return err
		}
	}
	return nil
}

// LeftBefore refuses a rebaseline that would leave parts of another ledger as they are, because
// they lie before the first partition that a run fetches: readers would find two meanings, and no
// later run would replace them.
func (t *Table) LeftBefore(first civil.Date) error {
	for _, target := range t.o.Targets {
		if parts, _ := t.others(target); len(parts) > 0 && parts[0].Partition.Before(first) {
			oldest := parts[0].Partition
			return fmt.Errorf("table %s: %w, because %s holds partitions from %s on that this ledger didn't put "+
				"there, and a rebaseline from %s on would leave the older "+
				"ones with their meaning: let start be %s for it", t.Name(), ledger.ErrRefused, target.Name, oldest,
				first, oldest)
		}
	}
	return nil
}

// checkLayout looks for files of this table that lie in its folder under other keys than the
// layout's, where readers find their rows, too. If none of the parts that were put is there, the
// files are those of another layout and are refused: no store replaces files under two keys at one
// moment. If one is there, they are copies that somebody made, or what an earlier version left, and
// each run warns.
func (t *Table) checkLayout(ctx context.Context, target ledger.Target, otherKeys []sinks.Object) error {
	sink, ok := target.Sink.(sinks.Ranger)
	if !ok {
		return nil
	}
	for _, o := range otherKeys[:min(len(otherKeys), mostOpened)] {
		c, err := contents(ctx, sink, o)
		if err != nil {
			return fmt.Errorf("see what is there of %s in %s, key %s: %w", t.Name(), target.Name, o.Key, err)
		}
		if c.Notes["fingerprint"] == "" || c.Notes["table"] != t.Name() {
			continue
		}
		where := fmt.Sprintf("%s holds files of this table under other keys than those of its layout (%d, such as %s)",
			target.Name, len(otherKeys), o.Key)
		for _, e := range t.Records() {
			r, has := e.Receipt(target)
			if _, there := t.listingOf(target).objects[r.Key]; has && there {
				t.o.Log.Warn(where+", so that readers find their rows, too. Delete them; check lists them", "job",
					t.o.Job)
				return nil
			}
		}
		return fmt.Errorf("table %s: %w, because %s, and readers would find each row twice, or for a while not at "+
			"all. Give the new layout (key=) another "+
			"folder in the sink's URL: runs fill it beside the old one, and the old files can go when nobody reads "+
			"them any more. If nobody reads them "+
			"now, delete them first; the next run fetches all again", t.Name(), ledger.ErrRefused, where)
	}
	return nil
}

// meaningOfParts returns the fingerprint and the columns of the newest part that can be read. If
// its fingerprint is now, it returns those of the oldest part instead: a rebaseline goes from one
// end to the other, and may have stopped half way.
func (t *Table) meaningOfParts(ctx context.Context, target ledger.Target, parts []sinks.Object,
	now string) (fingerprint string, columns []string, err error) {
	newest := slices.Clone(parts)
	slices.Reverse(newest)
	for _, list := range [][]sinks.Object{newest, parts} {
		for _, o := range list[:min(len(list), mostOpened)] {
			is, has, err := t.meaning(ctx, target, o)
			if err != nil { // what can't be read may be anybody's
				return "", nil, fmt.Errorf("see what is there of %s in %s, key %s: %w", t.Name(), target.Name, o.Key,
					err)
			}
			if is != "" {
				fingerprint, columns = is, has
				break
			}
		}
		if fingerprint != now {
			break
		}
	}
	return fingerprint, columns, nil
}

// meaning returns the fingerprint and the columns of what a sink holds. They are empty for what
// this program didn't write.
func (t *Table) meaning(ctx context.Context, target ledger.Target, o sinks.Object) (fingerprint string,
	columns []string, err error) {
	switch sink := target.Sink.(type) {
	case sinks.Ranger:
		c, err := contents(ctx, sink, o)
		return c.Notes["fingerprint"], c.Columns, err
	case sinks.Labeller:
		return sink.Meaning(ctx, t.Name(), o.Partition)
	}
	return "", nil, nil
}

// contents reads the footer of a Parquet file. For another file it returns nothing, and no error.
func contents(ctx context.Context, sink sinks.Ranger, o sinks.Object) (table.Content, error) {
	file := &errorKeeper{ReaderAt: sink.At(ctx, o.Key)}
	c, err := table.Contents(file, o.Size)
	if err != nil && file.err == nil {
		return table.Content{}, nil // no Parquet file
	}
	return c, file.err
}

// An errorKeeper keeps an error of reading a file, which says nothing about what the file holds.
type errorKeeper struct {
	io.ReaderAt
	err error
}

func (w *errorKeeper) ReadAt(b []byte, at int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(b, at)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// checkMeaning warns about parts that mean the same as the table now, and refuses others, as
// CheckOthers says.
func (t *Table) checkMeaning(target ledger.Target, n int, fingerprint string, columns []string, now ledger.Shape,
	replace bool) error {
	parts, unneeded := "partitions", "If they aren't needed, drop the table"
	if _, ok := target.Sink.(sinks.Ranger); ok {
		parts, unneeded = "files", "If the files aren't needed, delete them"
	}
	where := fmt.Sprintf("%s already holds %s of this table (%d) that this ledger didn't put there", target.Name, parts,
		n)
	const turns = "If another config fills this table too, the two take turns for ever: give one of the two jobs " +
		"another table"
	lacking := slices.DeleteFunc(slices.Clone(columns), func(name string) bool {
		_, metric := catalog.Metric(name) // the columns of events aren't all known before they are asked for
		return !metric || slices.Contains(t.o.Drop, name) || slices.ContainsFunc(now.Columns,
			func(c ledger.Column) bool { return c.Name == name || c.Source == name })
	})
	switch {
	case fingerprint == now.FingerprintID() && len(lacking) > 0 && !replace:
		return fmt.Errorf("table %s: %w, because %s, with columns that the config lacks: %s. A fetch would take "+
			"them away: name them under "+
			"metrics, or under drop if they aren't needed", t.Name(), ledger.ErrRefused, where,
			strings.Join(lacking, ", "))
	case fingerprint == now.FingerprintID():
		t.o.Log.Warn(where+". If the old ledger was lost, all is well: what is due is fetched again and replaces "+
			"them, as it does what somebody has restored; "+
			"backfill records those of days that no run asks for. "+turns,
			"job", t.o.Job)
		return nil
	case replace:
		was := ledger.Shape{Fingerprint: map[string]string{ledger.FingerprintPeriod: periodOf(columns, now)}}
		if err := ledger.CheckRebaseline(t.Name(), was, now); err != nil {
			return err
		}
		t.o.Log.Warn(
			where+". Their numbers mean something else, and this run replaces them, as it was asked to. "+turns, "job",
			t.o.Job)
		return nil
	}
	return fmt.Errorf("table %s: %w, because %s. Their numbers mean something else: theirs are the columns %s, "+
		"or another account, currency, zone or filter. If another config fills this table, give this job another "+
		"table. "+
		"%s, or replace them with run --rebaseline",
		t.Name(), ledger.ErrRefused, where, strings.Join(columns, ", "), unneeded)
}

// others returns the parts that the target showed when FindChanged listed it, and that this ledger
// hasn't put there, as far as it knows, the newest at the end. otherKeys are the files that lie
// under other keys. It leaves out partitions whose put was interrupted or is under way, which may
// hold anything.
func (t *Table) others(target ledger.Target) (parts, otherKeys []sinks.Object) {
	t.mu.Lock()
	objects := t.listings[target.Identity()].objects
	t.mu.Unlock()
	_, inFiles := target.Sink.(sinks.Ranger)
	for _, o := range objects {
		e, _ := t.Record(o.Partition)
		r, has := e.Receipt(target)
		switch {
		case o.Size < leastFile:
		case o.Partition == (civil.Date{}):
			if inFiles {
				otherKeys = append(otherKeys, o)
			}
		case e.State != ledger.Publishing && !t.Leased(o.Partition) &&
			(!has || r.Key != o.Key || o.Version != r.Version && t.changed(e, target)):
			parts = append(parts, o)
		}
	}
	slices.SortFunc(parts, func(a, b sinks.Object) int { return a.Partition.Compare(b.Partition) })
	slices.SortFunc(otherKeys, func(a, b sinks.Object) int { return strings.Compare(b.Key, a.Key) })
	return parts, otherKeys
}

// periodOf returns the period of files with these columns, which is that of the finest date among
// them. If now has no period, as tables of snapshots don't, it returns "": there is none to
// compare.
func periodOf(columns []string, now ledger.Shape) string {
	if now.Fingerprint[ledger.FingerprintPeriod] == "" {
		return ""
	}
	for _, period := range []string{"hour", "day", "week", "month", "quarter", "year"} {
		renamed := func(c ledger.Column) bool { return c.Source == period && slices.Contains(columns, c.Name) }
		if slices.Contains(columns, period) || slices.ContainsFunc(now.Columns, renamed) {
			return strings.Replace(period, "hour", "day", 1)
		}
	}
	return refresh.Whole.String()
}
