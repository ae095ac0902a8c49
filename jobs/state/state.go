// Package state writes tables that tell of a job's table: which of its partitions are final, reconciled, or changed after they
// were final, and which numbers were restated when. Without it only the ledger would know, and a dashboard couldn't leave out
// what is still moving.
//
//	records of the table ──▶ _reportferry_partitions     one row a partition ─┐
//	its history          ──▶ _reportferry_restatements   one row a change    ─┴─▶ the job's own sinks, by month of the partition
//
// Before the first partition of a rebaseline is replaced, all that have the old meaning are told of as such, so that whoever goes by
// these tables never adds up numbers of two meanings, however the run ends.
//
// Both are ordinary tables: they are put and recorded as package partition does it, under a claim of the job's table. A run writes
// them when it is done with the job's units, and only those months of which a partition has another record by then. How far they
// are is in their own records, as the sum of the sequence numbers of all partitions of a month, so that a run that was killed
// leaves nothing behind that the next one wouldn't find.
package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// Prefix begins the names of the tables by default.
const Prefix = "_reportferry_"

// The kinds of tables, each of which follows the prefix. In a bucket each is a folder for all jobs, with a folder of each job's table in it; in a
// warehouse, a table for each.
const (
	Partitions   = "partitions"
	Restatements = "restatements"
)

// OtherMeaning is the state of a partition whose numbers mean something else than the newest ones, or may do so after an interrupted put.
const OtherMeaning = string(refresh.Mixed)

// claim names the claim of the job's table under which both are written.
const claim = "state"

// Tables are the tables that tell of one job's table.
type Tables struct {
	Prefix    string // of the names
	Job       string
	Of        *partition.Table
	Rules     func(context.Context) (refresh.Rules, error) // with Stale and FinalAfter of the columns as they are by now
	Warehouse sinks.Schema                                 // of which labels, the key and the history count
	Now       time.Time
	Ledger    *ledger.Ledger
}

// Plan is the part of the job's plan that writes them.
func (s Tables) Plan() *jobs.States {
	planned := s.newest()
	states := &jobs.States{Claim: claim, Behind: func() bool { return s.behind(planned) }, Write: s.Write}
	s.Of.BeforeRebaseline(func(ctx context.Context) error {
		if states.Now == nil {
			return nil
		}
		return states.Now(ctx)
	})
	return states
}

// newest is when a partition was fetched last.
func (s Tables) newest() (newest time.Time) {
	for _, e := range s.Of.Records() {
		if e.Fetched.After(newest) {
			newest = e.Fetched
		}
	}
	return newest
}

// behind tells whether the tables may lack something that an earlier run has recorded: a run that succeeded has written them. Of a
// table that was let go, what was known when it was planned has to do: who has recorded more since writes them too.
func (s Tables) behind(newest time.Time) bool {
	if s.Of.Has() {
		newest = s.newest()
	}
	return s.Ledger.LastSuccess(s.Job).Before(newest)
}

// Write brings both tables up to date. It is called under the claim. The changes come first: the other table's records say how far
// both are.
func (s Tables) Write(ctx context.Context, c ledger.Hold) error {
	if err := s.write(ctx, c); err != nil {
		return fmt.Errorf("write the tables that tell of %s: %w", s.Of.Name(), err)
	}
	return nil
}

func (s Tables) write(ctx context.Context, c ledger.Hold) error {
	// Other processes may have recorded more. Of several that write these tables one after the other the last has seen it all.
	if err := s.Of.Refresh(ctx); err != nil {
		return err
	}
	rules, err := s.Rules(ctx)
	if err != nil {
		return err
	}
	to, err := s.Of.Beside(ctx, sinks.Derived(s.Prefix+Partitions, s.Of.Name()))
	if err != nil {
		return err
	}
	d := s.partitions(rules)
	all := s.months()
	dates := slices.SortedFunc(maps.Keys(all), civil.Date.Compare)
	var stale []civil.Date // and, of snapshots, the newest two months: their days become final by the clock alone
	anew := false          // another config has written the rest, or the same one while partitions had another meaning
	for i, date := range dates {
		e, recorded := to.Record(date)
		anew = anew || recorded && e.Shape != d.Shape.ID()
		if !recorded || !all[date].in(e, d.Shape.ID()) || !e.Reached(rules.Targets) || rules.Snapshots && i >= len(dates)-2 {
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
	changed, err := to.Look(ctx)
	if err != nil {
		return err
	}
	for date := range changed {
		if _, has := all[date]; has && !slices.Contains(stale, date) {
			stale = append(stale, date)
		}
	}
	slices.SortFunc(stale, civil.Date.Compare)
	if err := s.restatements(ctx, c, stale); err != nil {
		return err
	}
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
	return put(ctx, to, c, d, stale, rows, s.Now)
}

// put puts months of one of the tables. It has no claims of its own, so that there is nothing to tidy up but records, now and then.
func put(ctx context.Context, to *partition.Table, c ledger.Hold, d partition.Definition, months []civil.Date, rows [][]any, now time.Time) error {
	if err := to.PutRows(ctx, c, d, months, rows, now); err != nil || !to.Untidy() {
		return err
	}
	return to.Table.Tidy(ctx)
}

// A month is the records of the partitions that begin in it, ascending.
type month []ledger.Record

// months sorts the records of the job's table by the months under which they are told of.
func (s Tables) months() map[civil.Date]month {
	all := map[civil.Date]month{}
	for _, e := range s.Of.Sorted() {
		all[monthOf(e.Partition)] = append(all[monthOf(e.Partition)], e)
	}
	return all
}

// monthOf is the month that tells of a partition. A table without periods has no date, and is told of under the first month of
// all.
func monthOf(partition civil.Date) civil.Date {
	if partition == sinks.Whole {
		return civil.Date{Year: 1970, Month: time.January, Day: 1}
	}
	return refresh.Month.Start(partition)
}

// in tells whether what was recorded when the month was last put was made of the same records, by the same rules. Sequence numbers
// only grow.
func (m month) in(e ledger.Record, shape string) bool {
	sum := int64(0)
	for _, r := range m {
		sum += int64(r.Seq)
	}
	return e.State != ledger.Publishing && e.Shape == shape && e.Rows == int64(len(m)) && e.Sums["seq"] == strconv.FormatInt(sum, 10)
}
