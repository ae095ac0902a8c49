package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/sinks"
)

// longViews returns the designs of the views in long form that the command line asks for. A view in
// long form has a row for each period or event where the table has a column.
func (v *viewMaker) longViews(table string, s *sinks.Schema) (list []views.Long, err error) {
	for _, form := range []struct {
		asked  bool
		design func(string, *sinks.Schema, []string) (views.Long, error)
	}{{v.cohorts, Cohorts}, {v.events, Events}} {
		if !form.asked {
			continue
		}
		l, err := form.design(table, s, v.by)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// Cohorts designs a view with a row for each cohort and period. A cohort is a date with values of
// the dimensions in by; when by is empty, of all dimensions. A row is ripe, which means final, when
// the period is over by the planner's rules. The error says why the table can have no such view.
func Cohorts(table string, s *sinks.Schema, by []string) (views.Long, error) {
	l := views.Long{Name: "_cohorts", Keys: []string{"cohort", "period_unit", "period", "days"},
		Shown: []string{"period_unit", "period"}}
	if s.On == "" {
		return l, errors.New("--cohorts: the table has no date, so that it has no cohorts; give the job a dimension " +
			"such as day")
	}
	days := map[string]int{} // after the install until a period is over, by the period's key
	err := fillLong(&l, table, s, by, func(f catalog.Field) (name, key string, ok bool) {
		if name, key, ok = f.Without("{p}"); ok {
			days[views.Text(key)] = f.Horizon
		}
		return name, key, ok
	})
	if err != nil {
		return l, err
	}
	if len(l.Values) == 0 {
		return l, errors.New("--cohorts: the table has no metric of a cohort's period, such as retained_users_d7, " +
			"that can be summed or computed")
	}
	for key, n := range days {
		// A key is SQL text, such as 'd7' with its quotes.
		unit := map[byte]string{'d': "day", 'w': "week", 'm': "month"}[key[1]]
		l.Rows = append(l.Rows, []string{key, views.Text(unit), strings.Trim(key[2:], "'"), strconv.Itoa(n)})
	}
	slices.SortFunc(l.Rows, func(a, b []string) int {
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(days[a[0]], days[b[0]]))
	})
	for _, c := range s.Columns {
		if c.Slug() == "cost" && slices.Contains(l.Of.Sums, c.Name) {
			l.Values = append(l.Values, views.Value{Name: c.Name})
		}
	}
	l.Ripe = views.Ripe{Period: s.Period, Ahead: minutesAhead(s.About.Zone), Days: "days"}
	return l, nil
}

// Events designs a view with a row for each event. by and the error are those of Cohorts.
func Events(table string, s *sinks.Schema, by []string) (views.Long, error) {
	l := views.Long{Name: "_events", Keys: []string{"event"}, Shown: []string{"event"}}
	err := fillLong(&l, table, s, by, func(f catalog.Field) (name, key string, ok bool) {
		if strings.Contains(f.Pattern, "{p}") {
			return "", "", false
		}
		name, key, ok = f.Without("{e}")
		if row := []string{views.Text(key)}; ok && !slices.ContainsFunc(l.Rows,
			func(r []string) bool { return r[0] == row[0] }) {
			l.Rows = append(l.Rows, row)
		}
		return name, key, ok
	})
	if err == nil && len(l.Values) == 0 {
		err = errors.New("--events: the table has no metric of an event, such as purchase_events, that can be " +
			"summed or computed")
	}
	return l, err
}

// fillLong sets l.Of and l.Values. For each column, cut returns the name of the view's column that
// has its values, and the key of the row (the period or the event) in which they are. Columns for
// which ok is false aren't in the view.
func fillLong(l *views.Long, table string, s *sinks.Schema, by []string,
	cut func(catalog.Field) (name, key string, ok bool)) (err error) {
	var dimensions []string
	for _, c := range s.Columns {
		if c.Required && c.Name != s.On {
			dimensions = append(dimensions, c.Name)
		}
		if c.Required && (c.Name == "ripe" || slices.Contains(l.Keys, c.Name)) {
			return fmt.Errorf("the view %s%s adds a column %s, and the table has one", table, l.Name, c.Name)
		}
	}
	if len(by) == 0 {
		by = dimensions
	}
	if l.Of, _, err = Summed(table, s, by); err != nil {
		return err
	}
	for _, c := range s.Columns {
		summed := slices.Contains(l.Of.Sums, c.Name) || slices.ContainsFunc(l.Of.Ratios,
			func(r views.Ratio) bool { return r.Name == c.Name })
		if c.Required || !summed {
			continue
		}
		name, key, ok := cut(metricField(c.Slug()))
		if !ok {
			continue
		}
		at := slices.IndexFunc(l.Values, func(v views.Value) bool { return v.Name == name })
		if at < 0 {
			at, l.Values = len(l.Values), append(l.Values, views.Value{Name: name, From: map[string]string{}})
		}
		l.Values[at].From[views.Text(key)] = c.Name
	}
	return nil
}

// minutesAhead returns by how many minutes a zone is ahead of UTC. Where summer time changes that,
// it is the smaller number, so that no day counts as over too early.
func minutesAhead(zone string) int {
	if offset, err := time.Parse("UTC-07:00", zone); err == nil {
		_, seconds := offset.Zone()
		return seconds / 60
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return -12 * 60 // an unknown zone: UTC-12, where a day ends last
	}
	_, winter := time.Date(time.Now().Year(), time.January, 1, 0, 0, 0, 0, location).Zone()
	_, summer := time.Date(time.Now().Year(), time.July, 1, 0, 0, 0, 0, location).Zone()
	return min(winter, summer) / 60
}
