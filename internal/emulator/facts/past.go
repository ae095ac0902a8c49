package facts

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// FactColumns are the columns of facts, as SQL.
const FactColumns = "id, day, slice, first_slice, ts, engagement, reattributed, sandbox, ad_source, salt, installs, " +
	"clicks, impressions, " +
	"sessions, dau, spend, net_spend, net_drift, revenue, ad_revenue, pricing"

// At returns SQL for the facts with first <= id < end, as they were at a moment of the emulator's
// clock.
func At(at time.Time, first, end int) string {
	// later is the number of the first restatement that changed a fact after the moment; past_facts
	// has the fact of the moment under it. Without one, the table facts has it.
	now, ids := at.UnixNano(), fmt.Sprintf("p.id>=%d AND p.id<%d", first, end)
	const later = "(SELECT min(number) FROM past_facts l WHERE l.id=p.id AND l.until>%d)"
	return fmt.Sprintf("(SELECT %[1]s FROM facts p WHERE %[2]s AND "+later+" IS NULL UNION ALL SELECT %[1]s FROM "+
		"past_facts p WHERE %[2]s AND number="+later+")",
		FactColumns, ids, now, now)
}

// Restated is a restatement that was made.
type Restated struct {
	At       time.Time // when, by the emulator's clock
	From, To int       // the days that it is about
	Rows     int       // the facts that it changed
	Note     string
}

// Restated lists the restatements, in the order in which they were made.
func (w *World) Restated(ctx context.Context) (list []Restated, err error) {
	err = w.Store.Query(ctx, "SELECT at, first_day, last_day, changed, note FROM restatements ORDER BY number", nil,
		func(rows *sql.Rows) error {
			for rows.Next() {
				var r Restated
				var at int64
				if err := rows.Scan(&at, &r.From, &r.To, &r.Rows, &r.Note); err != nil {
					return err
				}
				r.At = time.Unix(0, at).UTC()
				list = append(list, r)
			}
			return rows.Err()
		})
	return list, err
}

// firstRenamed is the least ID of slices that were made by renaming others. No other slice has an
// ID near it.
const firstRenamed = 1 << 40

// Labels returns all slices that the app's facts may have: those of its traffic, and those that
// were made by renaming.
func (a *App) Labels() []Slice { return slices.Concat(a.Slices, a.renamed) }

// makeRenamed makes a copy with these names, by column, of each slice in the table renamed, and
// notes the copy's ID there.
func (e *Edit) makeRenamed(ctx context.Context, names map[string]string) error {
	var old []int
	rows, err := e.QueryContext(ctx, "SELECT old FROM renamed ORDER BY old")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return err
		}
		old = append(old, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	next := firstRenamed
	for _, a := range e.account.Apps {
		next += len(a.renamed)
	}
	account := e.copy()
	for i := range account.Apps {
		a := &account.Apps[i]
		for _, s := range a.Labels() {
			if !slices.Contains(old, s.ID) {
				continue
			}
			was := s.ID
			s.ID, s.Texts = next, slices.Clone(s.Texts)
			for _, column := range slices.Sorted(maps.Keys(names)) {
				s.Texts[slices.Index(TextColumns, column)] = names[column]
			}
			a.renamed = append(slices.Clip(a.renamed), s)
			_, err := e.ExecContext(ctx, "UPDATE renamed SET new=? WHERE old=?", next, was)
			if err == nil {
				err = insertSlices(ctx, e.Tx, i, []Slice{s})
			}
			if err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// loadRenamed adds to the account the slices that the database file has from renaming.
func (a *Account) loadRenamed(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx,
		"SELECT id, app, organic, arpu, adpu, retention, has_network, "+strings.Join(TextColumns,
			", ")+" FROM slices WHERE id>=? ORDER BY id", firstRenamed)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		s := Slice{Texts: make([]string, len(TextColumns))}
		app, organic := 0, false
		into := []any{&s.ID, &app, &organic, &s.arpu, &s.adpu, &s.retention, &s.networkData}
		for i := range s.Texts {
			into = append(into, &s.Texts[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		s.OSName = s.TextOf("os_name")
		if organic {
			s.network = organicNetwork // what it was made from, whatever it is called now
		}
		a.Apps[app].renamed = append(slices.Clip(a.Apps[app].renamed), s)
	}
	return rows.Err()
}
