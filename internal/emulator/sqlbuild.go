package emulator

import (
	"fmt"
	"slices"
	"strings"
)

// statement is SQL with its arguments, and how to print its columns: the dimensions are texts.
type statement struct {
	text  string
	args  []any
	units []unit
}

// sqlBuilder writes the grouping of one span. It collects the sums that formulas ask for: every distinct row expression
// is summed once.
type sqlBuilder struct {
	q      *query
	span   span
	name   string            // begins the names of its columns
	rows   *strings.Replacer // what depends on the query only
	sums   []string
	known  map[string]int
	events []int // joined
}

// The names of the two groupings that a statement may have.
const (
	reportName     = "s"
	comparisonName = "c"
)

// build writes the statement: an inner query groups and sums facts, an outer one applies the formulas, drops groups and
// sorts. A comparison is a second inner query, joined by the dimensions' labels.
func (g *glossary) build(q *query) (statement, error) {
	var st statement
	var columns, keep []string
	for i := range q.dimensions {
		columns = append(columns, fmt.Sprintf("s_g%d", i))
	}
	var builders []*sqlBuilder
	for i, s := range q.spans() {
		b := newBuilder(q, s, []string{reportName, comparisonName}[i])
		builders = append(builders, b)
		for _, m := range q.metrics {
			e, err := g.formulas.value(m, b)
			if err != nil {
				return st, err
			}
			columns = append(columns, e.sql)
			st.units = append(st.units, e.unit)
		}
	}
	main := builders[0]
	var bounds []any
	for _, f := range q.bounds {
		e, err := g.formulas.value(f.metric, main)
		if err != nil {
			return st, err
		}
		keep = append(keep, f.sql(e))
		bounds = append(bounds, f.bound)
	}
	if end := q.longestCohort(); q.maturity == "fully_mature" && end >= 0 {
		lastDay := main.aggregate("MAX("+main.span.local+"/86400)", whole)
		keep = append(keep, fmt.Sprintf("%d-%s>%d", q.zoneToday, lastDay.sql, end))
	}
	var text strings.Builder
	text.WriteString("SELECT " + strings.Join(columns, ", ") + " FROM ")
	for i, b := range builders {
		inner, args, err := b.inner()
		if err != nil {
			return st, err
		}
		st.args = append(st.args, args...)
		if i == 0 {
			text.WriteString("(" + inner + ")")
			continue
		}
		var same []string
		for n := range q.dimensions {
			same = append(same, fmt.Sprintf("s_g%d=c_g%d", n, n))
		}
		text.WriteString(" LEFT JOIN (" + inner + ") ON " + strings.Join(same, " AND "))
	}
	if len(keep) > 0 {
		text.WriteString(" WHERE " + strings.Join(keep, " AND "))
	}
	st.args = append(st.args, bounds...)
	text.WriteString(" ORDER BY " + q.order())
	if q.limit > 0 {
		fmt.Fprintf(&text, " LIMIT %d", q.limit)
	}
	st.text = text.String()
	return st, nil
}

// value is a metric over a builder's sums, as it is printed.
func (t formulaTable) value(m column, b *sqlBuilder) (expr, error) {
	e, err := t.compile(m, b.sum)
	if err != nil {
		return e, fmt.Errorf("metric %s: %w", m.slug, err)
	}
	return e, nil
}

// longestCohort is the last day of age that one of the report's cohort metrics covers, or -1.
func (q *query) longestCohort() int {
	longest := -1
	for _, m := range q.metrics {
		if m.def.isCohort() {
			longest = max(longest, m.period.end)
		}
	}
	return longest
}

// order names every dimension at the end, so that rows come in one order whatever sort says; a column that is named again
// changes nothing.
func (q *query) order() string {
	var keys []string
	for _, k := range q.sort {
		text := fmt.Sprint(k.column)
		if k.descending {
			text += " DESC"
		}
		keys = append(keys, text)
	}
	for i := range q.dimensions {
		keys = append(keys, fmt.Sprint(i+1))
	}
	if q.groupsBy("hour") {
		keys = append(keys, "s_hour")
	}
	return strings.Join(keys, ",")
}

func newBuilder(q *query, s span, name string) *sqlBuilder {
	b := &sqlBuilder{q: q, span: s, name: name, known: map[string]int{}}
	cost := "f.spend"
	switch q.spendMode {
	case "network":
		cost = networkSpend
	case "mixed":
		cost = "(CASE WHEN d.has_network=1 THEN " + networkSpend + " ELSE f.spend END)"
	}
	amounts := b.amounts()
	b.rows = strings.NewReplacer(append(amounts, "{cost}", strings.NewReplacer(amounts...).Replace(cost))...)
	return b
}

// inner groups the span's facts. Hours are told apart by UTC's, so that the one that a zone repeats in autumn gives two
// rows; a comparison is joined by labels and can't be.
func (b *sqlBuilder) inner() (string, []any, error) {
	q := b.q
	var columns, group []string
	for i, d := range q.dimensions {
		name := fmt.Sprintf("%s_g%d", b.name, i)
		columns = append(columns, q.label(d, b.span.shown())+" AS "+name)
		group = append(group, name)
	}
	if b.name == reportName && q.groupsBy("hour") {
		columns, group = append(columns, "f.ts AS s_hour"), append(group, "s_hour")
	}
	from := " FROM facts f CROSS JOIN slices d ON d.id=f.slice"
	if q.firstSource {
		from += " CROSS JOIN slices a ON a.id=f.first_slice"
	}
	for _, n := range b.events {
		from += fmt.Sprintf(" LEFT JOIN app_events x%d ON x%d.event=%d AND x%d.app=d.app", n, n, n, n)
	}
	where, args, err := b.where()
	return "SELECT " + strings.Join(append(columns, b.sums...), ", ") + from + " WHERE " + where + " GROUP BY " + strings.Join(group, ","), args, err
}

func (b *sqlBuilder) where() (string, []any, error) {
	q, hours, days := b.q, b.span.hours, b.span.utcDays()
	keep := []string{
		fmt.Sprintf("f.id>=%d AND f.id<%d", firstFactID(days.from), firstFactID(days.to+1)),
		fmt.Sprintf("f.ts BETWEEN %d AND %d", hours.first, hours.last),
		"d.app IN (" + numbers(q.apps) + ")",
		fmt.Sprintf("f.sandbox=%t", q.sandbox),
	}
	if q.reattributed != "all" {
		keep = append(keep, "f.reattributed="+q.reattributed)
	}
	if q.engagements != nil {
		keep = append(keep, fmt.Sprintf("f.engagement IN (%d,%s)", engagementNone, numbers(q.engagements)))
	}
	var args []any
	for _, f := range q.factFilters(b.span) {
		text, arg, err := f.sql()
		if err != nil {
			return "", nil, err
		}
		keep, args = append(keep, text), append(args, arg)
	}
	return strings.Join(keep, " AND "), args, nil
}

// numbers joins ids by commas.
func numbers(ids []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]")
}

// amounts are the replacements that bring every amount into the report's currency and mode at its source, so that all
// that is derived from it stays exactly additive.
func (b *sqlBuilder) amounts() []string {
	ads := b.q.adFactor()
	out := []string{"{age}", fmt.Sprintf("(%d-f.day)", b.q.today), "{ads}", ads}
	for _, c := range []string{"f.spend", "f.net_spend"} {
		out = append(out, c, b.converted(c))
	}
	for _, c := range []string{"f.revenue", "d.arpu"} {
		out = append(out, c, b.gross(c))
	}
	for _, c := range []string{"f.ad_revenue", "d.adpu"} {
		amount := b.converted(c)
		if ads != "1" {
			amount = "(" + ads + "*" + amount + ")"
		}
		out = append(out, c, amount)
	}
	return out
}

func (b *sqlBuilder) converted(column string) string {
	if b.q.currency.num == b.q.currency.den {
		return column
	}
	return fmt.Sprintf("(%s*%d/%d)", column, b.q.currency.num, b.q.currency.den)
}

// gross is an amount of in-app revenue: the part that iap_revenue_mode asks for.
func (b *sqlBuilder) gross(column string) string {
	if b.q.iapPercent == 100 {
		return b.converted(column)
	}
	return fmt.Sprintf("(%s*%d/100)", b.converted(column), b.q.iapPercent)
}

// sum asks for the sum of a column's row expression over a group.
func (b *sqlBuilder) sum(c column) expr {
	row := c.def.row
	if row == "{active_days}" {
		return b.aggregate("COUNT(DISTINCT "+b.span.local+"/86400)", whole)
	}
	row = expandCohorts(row, c.period)
	row = strings.ReplaceAll(row, "{start}", fmt.Sprint(c.period.start))
	row = b.rows.Replace(row)
	if strings.Contains(row, "xe.") {
		if !slices.Contains(b.events, c.number) {
			b.events = append(b.events, c.number)
		}
		alias := fmt.Sprintf("x%d.", c.number)
		row = strings.ReplaceAll(row, "xe.price", b.gross(alias+"price"))
		row = strings.ReplaceAll(row, "xe.", alias)
	}
	if b.q.maturity == "mature" && c.def.isCohort() {
		row = fmt.Sprintf("(%d-%s/86400>%d)*(%s)", b.q.zoneToday, b.span.local, c.period.end, row)
	}
	u := whole
	if c.def.kind == money {
		u = micros
	}
	return b.aggregate("coalesce(SUM("+row+"),0)", u)
}

// isCohort tells metrics of a cohort's period from others that a formula puts beside them.
func (m *metricDef) isCohort() bool { return strings.Contains(m.slug, "{p}") }

func (b *sqlBuilder) aggregate(sql string, u unit) expr {
	n, ok := b.known[sql]
	if !ok {
		n = len(b.sums)
		b.known[sql] = n
		b.sums = append(b.sums, fmt.Sprintf("%s AS %s%d", sql, b.name, n))
	}
	name := fmt.Sprintf("%s%d", b.name, n)
	if b.name != reportName {
		name = "coalesce(" + name + ",0)" // no such group in the comparison period
	}
	return expr{name, u}
}

// adFactor is SQL for {ads}.
func (q *query) adFactor() string {
	if q.adSources == nil {
		return "1"
	}
	return "(f.ad_source IN (" + numbers(q.adSources) + "))"
}
