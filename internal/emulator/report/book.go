package report

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// A Movement is a number of a report that changed at a moment of the emulator's clock.
type Movement struct {
	At     time.Time         `json:"at"`
	Row    map[string]string `json:"row"` // the dimensions' values, day among them
	Metric string            `json:"metric"`
	Was    string            `json:"was"` // as reports show it; "0" or "0.0" for a row that wasn't there
	Is     string            `json:"is"`
	Delta  string            `json:"delta"` // exact
	// Numbers of the restatements of this moment, from 1. Without any, the clock alone changed it.
	By []int `json:"by,omitempty"`
}

// sumsReport reads what a report of sums says at one moment after the other. It doesn't go through
// a CSV: its numbers are the integers that SQLite adds up.
type sumsReport struct {
	service *Service
	params  url.Values     // of the report
	last    time.Time      // the time to which relative dates are relative
	names   []string       // slugs of the dimensions
	slugs   []string       // slugs of the metrics
	units   []metrics.Unit // of the metrics
	day     int            // index of the dimension day, or -1
}

// entry is a row of the report: the values of its dimensions, and those of its metrics.
type entry struct {
	labels []string
	cells  []int64
}

// Totals returns the rows of a report of sums, by their dimensions joined by "|", as they were at a
// moment of the emulator's clock.
func (s *Service) Totals(ctx context.Context, v url.Values, at time.Time) (map[string]map[string]string, error) {
	b, err := s.newSumsReport(v, at)
	if err != nil {
		return nil, err
	}
	_, entries, err := b.rowsAt(ctx, at, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, e := range entries {
		row := map[string]string{}
		for i, slug := range b.slugs {
			row[slug] = b.print(e.cells[i], i)
		}
		out[strings.Join(e.labels, "|")] = row
	}
	return out, nil
}

// Book lists what changed in a report of sums after since, up to and including until, by the clock
// and by restatements, in the order of time, then of the rows. A day that appears is no change.
func (s *Service) Book(ctx context.Context, v url.Values, since, until time.Time) ([]Movement, error) {
	b, err := s.newSumsReport(v, until)
	if err != nil {
		return nil, err
	}
	if b.day < 0 {
		return nil, fmt.Errorf("the book goes by day: name it in dimensions")
	}
	today, known, err := b.rowsAt(ctx, since, nil)
	if err != nil {
		return nil, err
	}
	restated, err := s.world.Restated(ctx)
	if err != nil {
		return nil, err
	}
	var out []Movement
	// Go from moment to moment, and compare the rows of then with those known before.
	for _, m := range b.moments(restated, since, until) {
		newest, now, err := b.rowsAt(ctx, m.at, &m.days)
		if err != nil {
			return nil, err
		}
		inside := func(day string) bool { return day >= dayText(m.days.From) && day <= dayText(m.days.To) }
		for _, key := range slices.Sorted(maps.Keys(merged(known, now))) {
			was, had := known[key]
			is, has := now[key]
			labels := is.labels
			if !has {
				labels = was.labels
			}
			if day := labels[b.day]; !inside(day) {
				continue
			} else if day <= today {
				out = append(out, b.compare(m, labels, was, is)...)
			}
			if has {
				known[key] = is
			} else if had {
				delete(known, key)
			}
		}
		today = newest
	}
	return out, nil
}

// compare returns what changed in a row.
func (b *sumsReport) compare(m moment, labels []string, was, is entry) (out []Movement) {
	for i, slug := range b.slugs {
		var from, to int64
		if was.cells != nil {
			from = was.cells[i]
		}
		if is.cells != nil {
			to = is.cells[i]
		}
		if from == to {
			continue
		}
		row := map[string]string{}
		for n, name := range b.names {
			row[name] = labels[n]
		}
		out = append(out, Movement{At: m.at, Row: row, Metric: slug, Was: b.print(from, i), Is: b.print(to, i),
			Delta: b.print(to-from, i), By: m.by})
	}
	return out
}

// merged returns the union of two sets of rows.
func merged(a, b map[string]entry) map[string]entry {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// print returns a number as reports show it.
func (b *sumsReport) print(n int64, metric int) string {
	text, _ := appendNumber(nil, n, b.units[metric]) // an integer is always printed
	return string(text)
}

// newSumsReport reads the parameters of a report of sums.
func (s *Service) newSumsReport(v url.Values, last time.Time) (*sumsReport, error) {
	account := s.world.Account()
	b := &sumsReport{service: &Service{s.opts, s.world, account, s.glossary.With(&account.Catalog)},
		params: maps.Clone(v), last: last}
	if v.Get("dimensions") == "" {
		b.params.Set("dimensions", "day")
	}
	q, bad := b.service.parse(b.params, last)
	if bad != nil {
		return nil, bad
	}
	if q.Compared || !b.service.glossary.Sums(q.Metrics) {
		return nil, fmt.Errorf("the book has sums only: no quotient, no difference without a sign, no comparison")
	}
	b.params.Set("date_period", dayText(q.Period.From)+":"+dayText(q.Period.To))
	for _, d := range q.Dimensions {
		b.names = append(b.names, d.Slug)
	}
	for _, m := range q.Metrics {
		b.slugs = append(b.slugs, m.Slug)
	}
	b.day = slices.Index(b.names, "day")
	return b, nil
}

// rowsAt returns the rows of the report at a moment, for all its days or those given, and the
// newest day that has facts then.
func (b *sumsReport) rowsAt(ctx context.Context, at time.Time, days *metrics.Period) (today string,
	rows map[string]entry, err error) {
	q, bad := b.service.parse(b.params, at)
	if bad != nil {
		return "", nil, bad
	}
	q.At, today, rows = at, dayText(q.ZoneToday), map[string]entry{}
	if days != nil {
		q.Period = metrics.Period{From: max(q.Period.From, days.From), To: min(q.Period.To, days.To)}
		if q.Period.Days() == 0 {
			return today, rows, nil
		}
	}
	err = b.service.run(ctx, &q.Query, func(st metrics.Statement, sqlRows *sql.Rows) error {
		b.units = st.Units
		list := newRows(sqlRows, len(q.Dimensions)+len(st.Units), nil)
		for list.next() {
			var e entry
			for _, cell := range list.row {
				switch cell := cell.(type) {
				case string:
					e.labels = append(e.labels, cell)
				case int64:
					e.cells = append(e.cells, cell)
				default:
					return fmt.Errorf("a sum is a %T", cell)
				}
			}
			rows[strings.Join(e.labels, "|")] = e
		}
		return list.err
	})
	return today, rows, err
}

// dayText returns a day, counted from 1970-01-01, as reports show it.
func dayText(day int) string { return facts.DayTime(day).Format(time.DateOnly) }
