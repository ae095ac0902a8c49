// Package state writes tables that describe a job's table: which of its partitions are final,
// reconciled, or changed after they were final, and which numbers were restated when. Without it
// only the ledger would know, and a dashboard couldn't leave out what is still moving.
//
//	records of the table ──▶ _reportferry_partitions     one row a partition ─┐
//	its history          ──▶ _reportferry_restatements   one row a change    ─┴─▶ the job's own sinks, by month of the partition
//
// Before the first partition of a rebaseline is replaced, all partitions with the old meaning are
// listed as such, so that a reader who goes by these tables never adds up numbers of two meanings,
// however the run ends.
//
// Both tables are written through package partition, and recorded in the months of the job's table
// (ledger.Table.Derived). A run writes them when it is done with the job's units, and only those
// months in which a partition has another record by then. Their own records say how far they are,
// by the sum of the sequence numbers of all partitions of a month. So the next run finds whatever a
// killed run has left undone.
package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// Prefix begins the names of the tables by default.
const Prefix = "_reportferry_"

// The kinds of tables, which follow the prefix. In a bucket each is a folder for all jobs, with a
// folder of each job's table in it; in a warehouse, a table for each.
const (
	Partitions   = "partitions"
	Restatements = "restatements"
)

// OtherMeaning is the state of a partition whose numbers mean something else than the newest ones,
// or may do so after an interrupted put.
const OtherMeaning = string(refresh.Mixed)

// Tables are the tables that describe one job's table.
type Tables struct {
	Prefix string // of the names; empty: there are no such tables
	Job    string
	Of     *partition.Table // the job's table
	// Rules returns the job's rules, with Stale and FinalAfter of the columns as they are by now.
	Rules     func(context.Context) (refresh.Rules, error)
	Warehouse sinks.Schema // labels, the key and the history count
	Now       time.Time
	Ledger    *ledger.Ledger

	planned time.Time // what newest returned when the run was planned
}

// New prepares the tables for a run. The first partition of a rebaseline has them written before it
// is replaced.
func New(s Tables) *Tables {
	if s.Prefix != "" {
		s.planned = s.newest()
		s.Of.BeforeRebaseline(s.Write)
	}
	return &s
}

// Finish writes the tables, and tidies the months of the job's table. A run that did nothing writes
// them only if an earlier run was killed, or failed, before it wrote them.
func (s *Tables) Finish(ctx context.Context, done ledger.Outcome) error {
	var err error
	if s.Prefix != "" && (done.Done()+done.Failed > 0 || s.behind()) {
		err = s.Write(ctx)
	}
	if ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	return errors.Join(err, s.Of.Tidy(ctx))
}

// newest returns when a partition was fetched last.
func (s *Tables) newest() (newest time.Time) {
	for _, e := range s.Of.Records() {
		if e.Fetched.After(newest) {
			newest = e.Fetched
		}
	}
	return newest
}

// behind tells whether the tables may lack something that an earlier run has recorded: a run that
// succeeded has written them. If the job's table was released, behind goes by what was known when
// the run was planned; a process that has recorded more since writes the tables itself.
func (s *Tables) behind() bool {
	newest := s.planned
	if s.Of.Has() {
		newest = s.newest()
	}
	return s.Ledger.LastSuccess(s.Job).Before(newest)
}

// Write brings both tables up to date. The restatements come first, because the records of the
// other table say how far both are. Several tasks that end at the same time all write the tables,
// one after the other, because only the last one sees all records.
func (s *Tables) Write(ctx context.Context) error {
	begun := time.Now()
	for {
		err := s.write(ctx)
		var held *ledger.HeldError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &held) && time.Since(begun) < longestTurn:
			if !wait(ctx, min(time.Second, held.Free+time.Millisecond)) {
				return ctx.Err()
			}
		case errors.As(err, new(*ledger.DamagedError)):
			return fmt.Errorf("write the tables that say how %s is: %w", s.Of.Name(), err)
		case !errors.Is(err, ledger.ErrLost) || time.Since(begun) > longestTurn:
			return fmt.Errorf("write the tables that say how %s is: %w; the next run writes them", s.Of.Name(), err)
		}
	}
}

// longestTurn is how long a run waits for others that write the same tables. The lease of one that
// was killed is over by then, by default.
const longestTurn = 10 * time.Minute

// wait waits for so long. It returns false when ctx ends before.
func wait(ctx context.Context, long time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(long):
		return true
	}
}

// write does what Write does, in one attempt.
func (s *Tables) write(ctx context.Context) error {
	// Other processes may have recorded more, and may write these tables, too. From here on, all
	// that is known of a month is from one version of its document. So if another process writes
	// rows afterwards, which may be of newer records, that is noticed before they are overwritten.
	if err := s.Of.Refresh(ctx); err != nil {
		return err
	}
	// The months whose rows aren't up to date, by their records.
	to, changes := s.Of.Derived(s.Prefix+Partitions), s.Of.Derived(s.Prefix+Restatements)
	rules, err := s.Rules(ctx)
	if err != nil {
		return err
	}
	d := s.partitions(rules)
	all := s.months()
	dates := slices.SortedFunc(maps.Keys(all), civil.Date.Compare)
	var stale []civil.Date // of snapshots also the newest two months: their days become final by the clock alone
	anew := false          // another config has written the rest, or the same one while partitions had another meaning
	for i, date := range dates {
		e, recorded := to.Record(date)
		anew = anew || recorded && e.Shape != d.Shape.ID()
		if !recorded || !all[date].matches(e, d.Shape.ID()) || !e.Reached(rules.Targets) || rules.Snapshots &&
			i >= len(dates)-2 {
			stale = append(stale, date)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	if anew {
		if err := s.Of.DescribeMixed(ctx, rebased(rules) != nil); err != nil {
			return err
		}
	}
	// The months whose rows a sink doesn't hold as they were put.
	changed, err := to.FindChanged(ctx)
	if err != nil {
		return err
	}
	for date := range changed {
		if _, has := all[date]; has && !slices.Contains(stale, date) {
			stale = append(stale, date)
		}
	}
	slices.SortFunc(stale, civil.Date.Compare)
	if err := s.restatements(ctx, changes, stale); err != nil {
		return err
	}
	// The rows of all these months.
	shapes, err := s.Of.Shapes(ctx)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, date := range stale {
		for _, e := range all[date] {
			rows = append(rows, s.partitionRow(rules, date, e, shapes[e.Shape]))
		}
	}
	return to.PutRows(ctx, d, stale, rows, s.Now)
}

// A month is the records of the partitions that begin in it, ascending.
type month []ledger.Record

// months sorts the records of the job's table by the months whose rows describe them.
func (s *Tables) months() map[civil.Date]month {
	all := map[civil.Date]month{}
	for _, e := range s.Of.Sorted() {
		all[monthOf(e.Partition)] = append(all[monthOf(e.Partition)], e)
	}
	return all
}

// monthOf is the month whose rows describe a partition. A table without periods has no date, and
// its row is in the first month of all.
func monthOf(partition civil.Date) civil.Date {
	if partition == sinks.Whole {
		return civil.Date{Year: 1970, Month: time.January, Day: 1}
	}
	return refresh.Month.Start(partition)
}

// matches tells whether e, the record of the month's rows as they were last written, was made of
// the same records, by the same rules. The sum of sequence numbers shows it, because they only
// grow. A record in doubt has no number of its own: as long as there is one, the month is made
// anew, and written where that makes a difference.
func (m month) matches(e ledger.Record, shape string) bool {
	sum := int64(0)
	for _, r := range m {
		if r.Doubt {
			return false
		}
		sum += int64(r.Seq)
	}
	return e.State != ledger.Publishing && e.Shape == shape && e.Rows == int64(len(m)) &&
		e.Sums["seq"] == strconv.FormatInt(sum, 10)
}
