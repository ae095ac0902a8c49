package facts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Restatement changes facts of past days: either one metric (Column), or names of networks,
// campaigns and the like (Rename). A metric isn't changed in facts of uploaded spend and of test
// traffic. The old facts are kept, see At.
type Restatement struct {
	From, To int               // days since 1970-01-01 UTC
	Where    map[string]string // only facts whose slices have these values in these columns of TextColumns
	Column   string            // the metric to change, a key of RestatedColumns; "" with Rename
	Factor   int               // in millionths: what the column is multiplied by, unless Delta is set
	Delta    int               // or what is added to the largest fact of each day, down to 0 at least
	Rename   map[string]string // new values, by column of RenamedColumns
	Note     string            // free text, kept in the table restatements
}

// RestatedColumns are the metrics that a Restatement can change: for each, the column of facts and
// the SQL condition for the facts f, with slices d, in which that column may be other than 0.
var RestatedColumns = map[string]struct{ column, where string }{
	"installs": {"installs", "1"}, "clicks": {"clicks", "1"}, "impressions": {"impressions", "1"},
	"base_sessions": {"sessions", "1"},
	"events":        {"dau", "1"}, "cost": {"spend", "f.pricing>0"}, "network_cost": {"net_spend", "d.has_network=1"},
	"revenue": {"revenue", "1"}, "ad_revenue": {"ad_revenue", "1"},
}

// RenamedColumns are the dimensions that a Restatement can rename.
var RenamedColumns = []string{"network", "campaign", "campaign_network", "adgroup", "adgroup_network", "creative",
	"creative_network",
	"source_network", "partner_name", "channel"}

// Validate returns an error if the restatement contradicts itself or names unknown columns.
func (r Restatement) Validate() error {
	known := func(columns map[string]string, list []string) error {
		for column := range columns {
			if !slices.Contains(list, column) {
				return fmt.Errorf("%q is not one of %s", column, strings.Join(list, ", "))
			}
		}
		return nil
	}
	_, restated := RestatedColumns[r.Column]
	switch {
	case r.To < r.From:
		return errors.New("it ends before it begins")
	case (r.Column == "") == (r.Rename == nil):
		return errors.New("it takes either a metric, with a factor or a delta, or something to rename")
	case r.Column != "" && !restated:
		return fmt.Errorf("metric %q is not one of %s", r.Column,
			strings.Join(slices.Sorted(maps.Keys(RestatedColumns)), ", "))
	case r.Factor < 0 || r.Factor != 0 && r.Delta != 0:
		return errors.New("it takes a factor from 0 on or a delta, not both")
	}
	return errors.Join(known(r.Where, TextColumns), known(r.Rename, RenamedColumns))
}

// Restate applies r. Reports show the new facts from the time at of the emulator's clock, or from
// the time of the last restatement if that is later.
func (w *World) Restate(ctx context.Context, at time.Time, r Restatement) error {
	apps := make([]int, len(w.Account().Apps))
	for i := range apps {
		apps[i] = i
	}
	r.From, r.To = max(r.From, w.FirstDay), min(r.To, DayOf(at)) // other days have no facts
	if err := w.Ensure(apps, r.From, r.To); err != nil {
		return err
	}
	err := w.Change(ctx, func(e *Edit) error {
		var number int
		var last int64
		err := e.QueryRowContext(ctx, "SELECT 1+count(*), coalesce(max(at),0) FROM restatements").Scan(&number, &last)
		if err != nil {
			return err
		}
		moment, changed := max(last, at.UnixNano()), 0
		if r.Rename != nil {
			changed, err = e.renameSlices(ctx, number, moment, r)
		} else {
			changed, err = e.restate(ctx, number, moment, r)
		}
		if err == nil {
			_, err = e.ExecContext(ctx, "INSERT INTO restatements VALUES (?,?,?,?,?,?)", number, moment, r.From, r.To,
				changed, r.Note)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("restate facts: %w", err)
	}
	return nil
}

// restate changes one metric: in all selected facts by Factor, or in the largest of each day by
// Delta.
func (e *Edit) restate(ctx context.Context, number int, at int64, r Restatement) (changed int, err error) {
	what := RestatedColumns[r.Column]
	where, args := r.where()
	where += " AND f.sandbox=0 AND f.id%" + fmt.Sprint(rowsPerDay) + "<" + fmt.Sprint(firstSpendRow) + " AND " +
		what.where
	ids := "SELECT f.id FROM facts f JOIN slices d ON d.id=f.slice WHERE " + where
	value := fmt.Sprintf("%s*%d/%d", what.column, r.Factor, Million)
	if r.Delta != 0 {
		value = fmt.Sprintf("max(0,%s%+d)", what.column, r.Delta)
		ids = "SELECT id FROM (SELECT f.id, row_number() OVER (PARTITION BY f.day ORDER BY f." + what.column +
			" DESC, f.id) AS place " +
			strings.TrimPrefix(ids, "SELECT f.id ") + ") WHERE place=1"
	}
	if _, err := e.ExecContext(ctx, "CREATE TEMP TABLE restated AS "+ids, args...); err != nil {
		return 0, err
	}
	return e.replace(ctx, number, at, what.column+"="+value)
}

// renameSlices makes renamed copies of the selected slices, and moves the facts of the
// restatement's days from the old slices to the copies.
func (e *Edit) renameSlices(ctx context.Context, number int, at int64, r Restatement) (changed int, err error) {
	where, args := r.where()
	const old = "SELECT DISTINCT d.id AS old, 0 AS new FROM facts f JOIN slices d ON d.id IN " +
		"(f.slice,f.first_slice) WHERE "
	if _, err := e.ExecContext(ctx, "CREATE TEMP TABLE renamed AS "+old+where, args...); err != nil {
		return 0, err
	}
	if err := e.makeRenamed(ctx, r.Rename); err != nil {
		return 0, err
	}
	ids := "SELECT f.id FROM facts f WHERE " + r.days() +
		" AND (f.slice IN (SELECT old FROM renamed) OR f.first_slice IN (SELECT old FROM renamed))"
	if _, err := e.ExecContext(ctx, "CREATE TEMP TABLE restated AS "+ids); err != nil {
		return 0, err
	}
	changed, err = e.replace(ctx, number, at, "slice=coalesce((SELECT new FROM renamed WHERE old=slice),slice), "+
		"first_slice=coalesce((SELECT new FROM renamed WHERE old=first_slice),first_slice)")
	if err == nil {
		_, err = e.ExecContext(ctx, "DROP TABLE renamed")
	}
	return changed, err
}

// replace copies the facts whose IDs are in the temporary table restated to past_facts, updates
// them by the SQL assignments in set, and drops the temporary table.
func (e *Edit) replace(ctx context.Context, number int, at int64, set string) (changed int, err error) {
	const these = " WHERE id IN (SELECT id FROM restated)"
	_, err = e.ExecContext(ctx, "INSERT INTO past_facts SELECT "+FactColumns+", ?, ? FROM facts"+these, number, at)
	if err != nil {
		return 0, err
	}
	done, err := e.ExecContext(ctx, "UPDATE facts SET "+set+these)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	if err == nil {
		_, err = e.ExecContext(ctx, "DROP TABLE restated")
	}
	return int(n), err
}

// days returns the SQL condition for facts f of the restatement's days.
func (r Restatement) days() string {
	return fmt.Sprintf("f.id>=%d AND f.id<%d", FirstFactID(r.From), FirstFactID(r.To+1))
}

// where returns the SQL condition for the selected facts f with slices d, and its arguments.
func (r Restatement) where() (text string, args []any) {
	text = r.days()
	for _, column := range slices.Sorted(maps.Keys(r.Where)) {
		text += " AND d." + column + "=?"
		args = append(args, r.Where[column])
	}
	return text, args
}
