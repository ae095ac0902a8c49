package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// Statement is SQL with its arguments, and how to print its columns: the dimensions are texts.
type Statement struct {
	Text  string
	Args  []any
	Units []Unit
}

// sqlBuilder writes the grouping of one span. It collects the sums that formulas ask for: every
// distinct row expression is summed once.
type sqlBuilder struct {
	query  *Query
	span   span
	name   string            // begins the names of its columns
	rows   *strings.Replacer // replaces placeholders that depend on the query only
	sums   []string          // aggregates, each AS the name of its column
	known  map[string]int    // indexes in sums, by aggregate
	events []int             // numbers of the events whose rows are joined
}

// The names of the two groupings that a statement may have.
const (
	reportName     = "s"
	comparisonName = "c"
)

// Build writes the statement: an inner query groups and sums facts, an outer one applies the
// formulas, drops groups and sorts. A comparison is a second inner query, joined by the dimensions'
// labels.
func (g *Glossary) Build(q *Query) (Statement, error) {
	var st Statement
	var columns, keep []string
	for i := range q.Dimensions {
		columns = append(columns, fmt.Sprintf("s_g%d", i))
	}
	// Write the formulas of the metrics, over the sums of each span.
	var builders []*sqlBuilder
	for i, s := range q.Spans() {
		b := newBuilder(q, s, []string{reportName, comparisonName}[i])
		builders = append(builders, b)
		for _, m := range q.Metrics {
			e, err := g.formulas.value(m, b)
			if err != nil {
				return st, err
			}
			columns = append(columns, e.sql)
			st.Units = append(st.Units, e.unit)
		}
	}
	// Write the conditions on groups: filters of metrics, and maturity.
	main := builders[0]
	var bounds []any
	for _, f := range q.Bounds {
		e, err := g.formulas.value(f.Metric, main)
		if err != nil {
			return st, err
		}
		keep = append(keep, f.sql(e))
		bounds = append(bounds, f.Bound)
	}
	if end := q.longestCohort(); q.Maturity == "fully_mature" && end >= 0 {
		lastDay := main.aggregate("MAX("+main.span.local+"/86400)", Whole)
		keep = append(keep, fmt.Sprintf("%d-%s>%d", q.ZoneToday, lastDay.sql, end))
	}
	// Put the outer query around the inner ones.
	var text strings.Builder
	text.WriteString("SELECT " + strings.Join(columns, ", ") + " FROM ")
	for i, b := range builders {
		inner, args, err := b.inner()
		if err != nil {
			return st, err
		}
		st.Args = append(st.Args, args...)
		if i == 0 {
			text.WriteString("(" + inner + ")")
			continue
		}
		var same []string
		for n := range q.Dimensions {
			same = append(same, fmt.Sprintf("s_g%d=c_g%d", n, n))
		}
		text.WriteString(" LEFT JOIN (" + inner + ") ON " + strings.Join(same, " AND "))
	}
	if len(keep) > 0 {
		text.WriteString(" WHERE " + strings.Join(keep, " AND "))
	}
	st.Args = append(st.Args, bounds...)
	text.WriteString(" ORDER BY " + q.order())
	if q.Limit > 0 {
		fmt.Fprintf(&text, " LIMIT %d", q.Limit)
	}
	st.Text = text.String()
	return st, nil
}

// value returns a metric as it is printed, over a builder's sums.
func (t formulaTable) value(m Column, b *sqlBuilder) (expr, error) {
	e, err := t.compile(m, b.sum)
	if err != nil {
		return e, fmt.Errorf("metric %s: %w", m.Slug, err)
	}
	return e, nil
}

// longestCohort returns the last day of age that one of the report's cohort metrics covers, or -1.
func (q *Query) longestCohort() int {
	longest := -1
	for _, m := range q.Metrics {
		if m.Def.IsCohort() {
			longest = max(longest, m.Period.End)
		}
	}
	return longest
}

// order returns the columns to sort by. It has every dimension at the end, so that rows come in one
// order whatever Sort says; a column that is named again changes nothing.
func (q *Query) order() string {
	var keys []string
	for _, k := range q.Sort {
		text := fmt.Sprint(k.Column)
		if k.Descending {
			text += " DESC"
		}
		keys = append(keys, text)
	}
	for i := range q.Dimensions {
		keys = append(keys, fmt.Sprint(i+1))
	}
	if q.groupsBy("hour") {
		keys = append(keys, "s_hour")
	}
	return strings.Join(keys, ",")
}

// newBuilder begins the grouping of a span; name begins the names of its columns.
func newBuilder(q *Query, s span, name string) *sqlBuilder {
	b := &sqlBuilder{query: q, span: s, name: name, known: map[string]int{}}
	cost := "f.spend"
	switch q.SpendMode {
	case "network":
		cost = networkSpend
	case "mixed":
		cost = "(CASE WHEN d.has_network=1 THEN " + networkSpend + " ELSE f.spend END)"
	}
	amounts := b.amounts()
	b.rows = strings.NewReplacer(append(amounts, "{cost}", strings.NewReplacer(amounts...).Replace(cost))...)
	return b
}

// inner returns SQL that groups the span's facts. Groups by hour are told apart by the UTC hour, so
// that the hour that a zone repeats in autumn gives two rows. Those of a comparison can't be,
// because it is joined by labels.
func (b *sqlBuilder) inner() (string, []any, error) {
	q := b.query
	var columns, group []string
	for i, d := range q.Dimensions {
		name := fmt.Sprintf("%s_g%d", b.name, i)
		columns = append(columns, q.label(d, b.span.shownTime())+" AS "+name)
		group = append(group, name)
	}
	if b.name == reportName && q.groupsBy("hour") {
		columns, group = append(columns, "f.ts AS s_hour"), append(group, "s_hour")
	}
	source := "facts"
	if !q.At.IsZero() {
		days := b.span.UTCDays()
		source = facts.At(q.At, facts.FirstFactID(days.From), facts.FirstFactID(days.To+1))
	}
	from := " FROM " + source + " f CROSS JOIN slices d ON d.id=f.slice"
	if q.FirstSource {
		from += " CROSS JOIN slices a ON a.id=f.first_slice"
	}
	for _, n := range b.events {
		from += fmt.Sprintf(" LEFT JOIN app_events x%d ON x%d.event=%d AND x%d.app=d.app", n, n, n, n)
	}
	where, args, err := b.where()
	return "SELECT " + strings.Join(append(columns, b.sums...), ", ") + from + " WHERE " + where + " GROUP BY " +
		strings.Join(group, ","), args, err
}

// where returns the conditions on a fact and its slice, with their arguments.
func (b *sqlBuilder) where() (string, []any, error) {
	q, hours, days := b.query, b.span.hours, b.span.UTCDays()
	keep := []string{
		fmt.Sprintf("f.id>=%d AND f.id<%d", facts.FirstFactID(days.From), facts.FirstFactID(days.To+1)),
		fmt.Sprintf("f.ts BETWEEN %d AND %d", hours.First, hours.Last),
		"d.app IN (" + numbers(q.Apps) + ")",
		fmt.Sprintf("f.sandbox=%t", q.Sandbox),
	}
	if q.Reattributed != "all" {
		keep = append(keep, "f.reattributed="+q.Reattributed)
	}
	if q.Engagements != nil {
		keep = append(keep, fmt.Sprintf("f.engagement IN (%d,%s)", facts.EngagementNone, numbers(q.Engagements)))
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

// amounts returns pairs of what stands in row expressions and what replaces it: the placeholders
// {age}, {ads}, {credited} and {users}, and every column of an amount. Amounts are brought into the
// report's currency and mode at their source, so that all that is derived from them stays exactly
// additive.
func (b *sqlBuilder) amounts() []string {
	ads := b.query.adFactor()
	out := []string{"{age}", fmt.Sprintf("(%d-f.day)", b.query.Today), "{ads}", ads, "{credited}", b.query.credited(),
		"{users}", b.query.users()}
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

// converted returns SQL for an amount in the report's currency, truncated to micros.
func (b *sqlBuilder) converted(column string) string {
	if b.query.Currency.Num == b.query.Currency.Den {
		return column
	}
	return fmt.Sprintf("(%s*%d/%d)", column, b.query.Currency.Num, b.query.Currency.Den)
}

// gross returns SQL for an amount of in-app revenue: the part that iap_revenue_mode asks for.
func (b *sqlBuilder) gross(column string) string {
	if b.query.IAPPercent == 100 {
		return b.converted(column)
	}
	return fmt.Sprintf("(%s*%d/100)", b.converted(column), b.query.IAPPercent)
}

// sum adds a column's row expression to the sums over a group, and returns the column that has it.
func (b *sqlBuilder) sum(c Column) expr {
	row := c.Def.Row
	if row == "{active_days}" {
		return b.aggregate("COUNT(DISTINCT "+b.span.local+"/86400)", Whole)
	}
	row = expandCohorts(row, c.Period)
	row = strings.ReplaceAll(row, "{start}", fmt.Sprint(c.Period.start))
	row = b.rows.Replace(row)
	if strings.Contains(row, "xe.") {
		if !slices.Contains(b.events, c.number) {
			b.events = append(b.events, c.number)
		}
		alias := fmt.Sprintf("x%d.", c.number)
		row = strings.ReplaceAll(row, "xe.price", b.gross(alias+"price"))
		row = strings.ReplaceAll(row, "xe.", alias)
	}
	if b.query.Maturity == "mature" && c.Def.IsCohort() {
		row = fmt.Sprintf("(%d-%s/86400>%d)*(%s)", b.query.ZoneToday, b.span.local, c.Period.End, row)
	}
	u := Whole
	if c.Def.Kind == Money {
		u = Micros
	}
	return b.aggregate("coalesce(SUM("+row+"),0)", u)
}

// IsCohort tells whether a metric is one of a cohort's period. A formula may combine such metrics
// with others.
func (m *Metric) IsCohort() bool { return strings.Contains(m.Slug, "{p}") }

// aggregate adds an aggregate over a group, once however often it is asked for, and returns the
// column that has it.
func (b *sqlBuilder) aggregate(sql string, u Unit) expr {
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

// credited returns SQL for {credited}: 1 when the report tells apart what brought the users, else
// 0.
func (q *Query) credited() string {
	if slices.ContainsFunc(q.Dimensions, func(d Dimension) bool { return d.Attributed }) {
		return "1"
	}
	return "0"
}

// users returns SQL for {users}: a fact's users of a day in millionths. By hour they have two
// decimals, as in clients' reports: each counts for the part of the hour in which they were there.
func (q *Query) users() string {
	if q.groupsBy("hour") {
		return "(f.dau*(60+f.salt%40)*10000)"
	}
	return "(f.dau*1000000)"
}

// adFactor returns SQL for {ads}: 1 for an ad source that counts, else 0.
func (q *Query) adFactor() string {
	if q.AdSources == nil {
		return "1"
	}
	return "(f.ad_source IN (" + numbers(q.AdSources) + "))"
}
