package emulator

import (
	"fmt"
	"slices"
	"strings"
)

// query is a csv_report request, read and checked.
type query struct {
	dimensions []dimension
	metrics    []column
	period     period // in the report's zone
	offset     int    // minutes east of UTC
	filters    []filter
	apps       []int // in scope after app_token__in
	sort       []sortKey
	readable   bool
	spendMode  string
	currency   exchangeRate
	today      int
}

// filter keeps facts whose dimension, folded to lower case, is one of values.
type filter struct {
	dimension dimension
	values    []string
}

type sortKey struct {
	column     int // from 1, dimensions first
	descending bool
}

// utcDays are the days whose facts the period may need: a zone's day lies on two days of UTC.
func (q *query) utcDays() period {
	return period{floorDiv(q.period.from*1440-q.offset, 1440), floorDiv((q.period.to+1)*1440-q.offset-1, 1440)}
}

// statement is SQL with its arguments, and how to print its columns: the dimensions are texts.
type statement struct {
	text  string
	args  []any
	units []unit
}

// sqlBuilder collects the sums that a query's formulas ask for: every distinct row expression is summed once.
type sqlBuilder struct {
	q      *query
	rows   *strings.Replacer // what depends on the query only
	sums   []string
	known  map[string]int
	events []int // joined
}

// build writes the statement: an inner query groups and sums facts, an outer one applies the formulas and sorts.
func (t formulaTable) build(q *query) (statement, error) {
	b := &sqlBuilder{q: q, known: map[string]int{}}
	cost := "f.spend"
	switch q.spendMode {
	case "network":
		cost = networkSpend
	case "mixed":
		cost = "(CASE WHEN d.has_network=1 THEN " + networkSpend + " ELSE f.spend END)"
	}
	b.rows = strings.NewReplacer(b.money(cost, "{cost}")...)

	var st statement
	outer := make([]string, 0, len(q.dimensions)+len(q.metrics))
	inner := make([]string, 0, len(q.dimensions)+len(q.metrics))
	group := make([]string, 0, len(q.dimensions))
	for i, d := range q.dimensions {
		name := fmt.Sprintf("g%d", i)
		outer = append(outer, name)
		group = append(group, name)
		inner = append(inner, d.sql(q.offset)+" AS "+name)
	}
	for _, m := range q.metrics {
		e, err := t.compile(m, b.sum)
		if err != nil {
			return st, fmt.Errorf("metric %s: %w", m.slug, err)
		}
		if m.def.kind == seconds && e.unit == real {
			e = expr{"CAST(" + e.sql + " AS INTEGER)", whole}
		}
		outer = append(outer, e.sql)
		st.units = append(st.units, e.unit)
	}
	inner = append(inner, b.sums...)

	var where strings.Builder
	days := q.utcDays()
	fmt.Fprintf(&where, "f.id>=%d AND f.id<%d", firstFactID(days.from), firstFactID(min(days.to, q.today)+1))
	fmt.Fprintf(&where, " AND f.ts*60>=%d AND f.ts*60<%d", q.period.from*1440-q.offset, (q.period.to+1)*1440-q.offset)
	fmt.Fprintf(&where, " AND d.app IN (%s)", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(q.apps)), ","), "[]"))
	for _, f := range q.filters {
		left := "d." + f.dimension.column + "_l"
		if f.dimension.time != "" {
			left = "lower(" + f.dimension.sql(q.offset) + ")"
		}
		where.WriteString(" AND " + left + " IN (?" + strings.Repeat(",?", len(f.values)-1) + ")")
		for _, v := range f.values {
			st.args = append(st.args, strings.ToLower(v))
		}
	}
	var joins strings.Builder
	for _, n := range b.events {
		fmt.Fprintf(&joins, " LEFT JOIN app_events x%d ON x%d.event=%d AND x%d.app=d.app", n, n, n, n)
	}
	st.text = "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(inner, ", ") +
		" FROM facts f CROSS JOIN slices d ON d.id=f.slice" + joins.String() + " WHERE " + where.String() +
		" GROUP BY " + strings.Join(group, ",") + ") ORDER BY " + b.order()
	return st, nil
}

func (b *sqlBuilder) order() string {
	var keys []string
	for _, k := range b.q.sort {
		text := fmt.Sprint(k.column)
		if k.descending {
			text += " DESC"
		}
		keys = append(keys, text)
	}
	for i := 1; i <= len(b.q.dimensions); i++ {
		if !slices.ContainsFunc(b.q.sort, func(k sortKey) bool { return k.column == i }) {
			keys = append(keys, fmt.Sprint(i))
		}
	}
	return strings.Join(keys, ",")
}

// money are the replacements that bring every amount into the report's currency at its source, so that all that is
// derived from it stays exactly additive; first may name one more placeholder for a row expression of money.
func (b *sqlBuilder) money(row, placeholder string) []string {
	out := []string{"{age}", fmt.Sprintf("(%d-f.day)", b.q.today)}
	for _, c := range []string{"f.spend", "f.net_spend", "f.revenue", "f.ad_revenue", "d.arpu", "d.adpu"} {
		out = append(out, c, b.converted(c))
	}
	return append(out, placeholder, strings.NewReplacer(out...).Replace(row))
}

func (b *sqlBuilder) converted(column string) string {
	if b.q.currency.num == b.q.currency.den {
		return column
	}
	return fmt.Sprintf("(%s*%d/%d)", column, b.q.currency.num, b.q.currency.den)
}

// sum asks for the sum of a column's row expression over a group.
func (b *sqlBuilder) sum(c column) expr {
	row := c.def.row
	if row == "{active_days}" {
		return b.aggregate(fmt.Sprintf("COUNT(DISTINCT (f.ts*60%+d)/1440)", b.q.offset), whole)
	}
	row = expandCohorts(row, c.period)
	row = strings.ReplaceAll(row, "{start}", fmt.Sprint(c.period.start))
	row = b.rows.Replace(row)
	if strings.Contains(row, "xe.") {
		if !slices.Contains(b.events, c.number) {
			b.events = append(b.events, c.number)
		}
		alias := fmt.Sprintf("x%d.", c.number)
		row = strings.ReplaceAll(row, "xe.price", b.converted(alias+"price"))
		row = strings.ReplaceAll(row, "xe.", alias)
	}
	u := whole
	if c.def.kind == money {
		u = micros
	}
	return b.aggregate("coalesce(SUM("+row+"),0)", u)
}

func (b *sqlBuilder) aggregate(sql string, u unit) expr {
	n, ok := b.known[sql]
	if !ok {
		n = len(b.sums)
		b.known[sql] = n
		b.sums = append(b.sums, fmt.Sprintf("%s AS s%d", sql, n))
	}
	return expr{fmt.Sprintf("s%d", n), u}
}

// expandCohorts replaces {until_end:x}, {until_now:x} and {inside:x}: what a fact's cohort has accumulated of base x by
// the end of the period, until now, and between the period's first and last day. A cohort is never ahead of its age.
func expandCohorts(row string, p cohortPeriod) string {
	var out []string
	for _, list := range [][]cohortBase{cohortBases, eventBases} {
		for _, b := range list {
			end := b.until(fmt.Sprintf("min(%d,{age})", p.end))
			inside := end
			if p.start > 0 {
				inside = "(" + end + "-" + b.until(fmt.Sprintf("min(%d,{age})", p.start-1)) + ")"
			}
			out = append(out, "{until_end:"+b.slug+"}", end, "{until_now:"+b.slug+"}", b.until("{age}"), "{inside:"+b.slug+"}", inside)
		}
	}
	return strings.NewReplacer(out...).Replace(row)
}

// until is SQL for what has come by the end of day age of a cohort.
func (b cohortBase) until(age string) string {
	grown := fmt.Sprintf("%s*(%s+1)/(%s+%d)", b.amount, age, age, b.half+1)
	if b.kind == money {
		return "(" + grown + ")"
	}
	return fmt.Sprintf("((%s+(f.salt*%d)%%1000000)/1000000)", grown, b.salt)
}
