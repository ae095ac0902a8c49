package spend

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/store"
)

// factRow is a row of facts that is made of spend.
type factRow struct {
	fact    *facts.Fact // the fact whose engagements the spend is for
	pricing uint8       // index in costTypes, counted from 1
	entries []entry     // one for each currency
}

// entry is a row's spend in one currency.
type entry struct {
	currency uint8 // index in isoCodes
	records  int
	sum      int64 // in units of 0.00001 of the currency
}

// count adds a record to its row when sign is 1, and takes it out again when sign is -1. f is the
// fact of a row that may be new.
func (b *costStore) count(r keptRecord, f *facts.Fact, sign int) {
	if r.row == 0 {
		return
	}
	row := b.rows[r.row]
	if row == nil {
		row = &factRow{fact: f, pricing: r.pricing}
		b.rows[r.row] = row
	}
	i := slices.IndexFunc(row.entries, func(e entry) bool { return e.currency == r.currency })
	if i < 0 {
		i = len(row.entries)
		row.entries = append(row.entries, entry{currency: r.currency})
	}
	e := &row.entries[i]
	e.records += sign
	e.sum += int64(sign) * r.amount
	if e.records == 0 {
		row.entries = slices.Delete(row.entries, i, i+1)
	}
	b.dirty[r.row] = true
}

// micros returns the row's spend in micros of USD, rounded up. A report in the record's own
// currency rounds down. So it shows what was sent, unless a micro of USD is more than one of the
// currency.
func (row *factRow) micros() (usd int64) {
	for _, e := range row.entries {
		amount := e.sum * 10 // sums are in units of 0.00001, which are ten micros
		if row.pricing == facts.PayImpression {
			amount = divideUp(amount, 1000) // the price is for a thousand impressions
		}
		rate := ratesByCode[e.currency]
		usd += divideUp(amount*int64(rate.Den), int64(rate.Num))
	}
	return usd
}

// divideUp divides numbers that aren't negative, and rounds up.
func divideUp(a, b int64) int64 { return (a + b - 1) / b }

// publish brings the table facts up to date: a report that begins after it shows every record that
// was answered before. The changed rows are taken inside the transaction, so that what is written
// is never older than what was there.
func (b *costStore) publish(s *store.DB) error {
	b.mu.Lock()
	none := len(b.rows) == 0
	b.mu.Unlock()
	if none {
		return nil
	}
	ctx := context.Background()
	var ids []int
	err := s.Change(ctx, func(tx *sql.Tx) error {
		var rows []facts.Fact
		ids, rows = b.changed()
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, "DELETE FROM facts WHERE id=?", id); err != nil {
				return err
			}
		}
		return facts.Insert(ctx, tx, rows)
	})
	if err != nil {
		b.mark(ids)
		return fmt.Errorf("write spend: %w", err)
	}
	return nil
}

// changed takes the rows that the facts lack: it returns the ids of all of them, and their content
// by now. A row whose last record was moved elsewhere has only an id.
func (b *costStore) changed() (ids []int, rows []facts.Fact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids = slices.Sorted(maps.Keys(b.dirty))
	clear(b.dirty)
	for _, id := range ids {
		row := b.rows[id]
		if len(row.entries) == 0 {
			continue
		}
		rows = append(rows, facts.Fact{ID: id, Day: row.fact.Day, Slice: row.fact.Slice, Hour: row.fact.Hour,
			FirstSlice: row.fact.FirstSlice,
			Engagement: row.fact.Engagement, Reattributed: row.fact.Reattributed, AdSource: row.fact.AdSource,
			Pricing: int(row.pricing), Spend: int(row.micros())})
	}
	return ids, rows
}

// mark notes again that the facts lack some rows.
func (b *costStore) mark(ids []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.dirty[id] = true
	}
}
