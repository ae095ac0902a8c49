package report

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Has reports whether a silent fault applies to an answer by these dimensions, a comma list. of
// says to which answers it applies: to totals, which are by dates and currencies alone, to rows, or
// any.
func Has(of, dimensions string) bool {
	names := splitList(dimensions)
	dated := func(slug string) bool {
		d, err := metrics.FindDimension(slug)
		return err == nil && (d.Time != nil || d.IsCurrency())
	}
	totals := !slices.ContainsFunc(names, func(slug string) bool { return !dated(slug) })
	return len(names) > 0 && (of == wire.OfAny || totals == (of == wire.OfTotals))
}

// leaveOutApp takes the app of a silent fault out of the report: one that is hidden, or one that is
// dropped, unless app_token__in names it.
func (s *Service) leaveOutApp(q *request, v url.Values, f *wire.Fault) {
	dropped := f != nil && f.Kind == wire.FaultDropApp && !slices.Contains(filterList(v.Get("app_token__in")), f.App)
	if !dropped && f.Hidden() == "" {
		return
	}
	missing := s.account.Find(f.App)
	q.Apps = slices.DeleteFunc(slices.Clone(q.Apps), func(app int) bool { return app == missing })
}

// silentFault is what a silent fault does to one answer. It picks rows by their labels as the
// account has them.
type silentFault struct {
	fault  *wire.Fault
	where  map[int]string // labels to pick, by the dimension's index, which is -1 if the report lacks it
	day    int            // index of the dimension day or hour, or -1
	halved int            // cell of the row that is halved, or -1
	picked int            // how many rows matched where so far
	count  int            // how many rows came so far, for cut_rows
}

// silentFault returns what f does to the report's rows; it is nil when f isn't a silent fault.
func (q *request) silentFault(f *wire.Fault) *silentFault {
	if !f.Silent() {
		return nil
	}
	place := func(slug string) int {
		return slices.IndexFunc(q.Dimensions, func(d metrics.Dimension) bool { return d.Slug == slug })
	}
	l := &silentFault{fault: f, where: map[int]string{}, day: max(place("day"), place("hour")), halved: -1}
	for slug, value := range f.Where {
		l.where[place(slug)] = value
	}
	if f.Kind == wire.FaultHalve {
		l.halved = len(q.Dimensions) + slices.IndexFunc(q.Metrics,
			func(c metrics.Column) bool { return c.Slug == f.Column })
		switch {
		case f.Column == "":
			l.halved = len(q.Dimensions) + len(q.Metrics) - 1
		case l.halved < len(q.Dimensions):
			l.halved = -1
		}
	}
	return l
}

// cohortDrift returns the cells of cohort metrics in a report by dates alone, and by how many
// percent they are higher than the sum of the rows. Other reports have no such cells.
func (q *request) cohortDrift(chosen reading.Set, dimensions string) (cells []int, percent int64) {
	percent, err := strconv.ParseInt(chosen.Of(reading.CohortDrift), 10, 64)
	if err != nil || !Has(wire.OfTotals, dimensions) {
		return nil, 0
	}
	for i, m := range q.Metrics {
		if m.Def.IsCohort() {
			cells = append(cells, len(q.Dimensions)+i)
		}
	}
	return cells, percent
}

// effect returns how often the next row is written, and whether its metric is halved.
func (l *silentFault) effect(label func(dimension int) string) (times int, halve bool) {
	if l == nil {
		return 1, false
	}
	switch l.fault.Kind {
	case wire.FaultDropRows:
		if l.picks(label) {
			return 0, false
		}
	case wire.FaultDoubleRows:
		if l.picks(label) {
			return 2, false
		}
	case wire.FaultHalve:
		return 1, l.halved >= 0 && l.picks(label)
	case wire.FaultDropDay:
		if l.day >= 0 && strings.HasPrefix(label(l.day), l.fault.Day) {
			return 0, false
		}
	case wire.FaultCutRows:
		if l.count++; l.count > l.fault.Rows {
			return 0, false
		}
	}
	return 1, false
}

// picks tells whether the fault is about a row: each EveryRow-th of those that match where.
func (l *silentFault) picks(label func(int) string) bool {
	for i, want := range l.where {
		if i < 0 || label(i) != want {
			return false
		}
	}
	l.picked++
	return l.picked%max(l.fault.EveryRow, 1) == 0
}
