package emulator

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cohortPeriod is {p} of a slug: d0..d120, w0..w52, m0..m36.
type cohortPeriod struct {
	token      string
	start, end int // first and last day of age that it covers
}

func parseCohortPeriod(token string) (cohortPeriod, bool) {
	if len(token) < 2 {
		return cohortPeriod{}, false
	}
	n, err := strconv.Atoi(token[1:])
	if err != nil || n < 0 || strconv.Itoa(n) != token[1:] {
		return cohortPeriod{}, false
	}
	days, most := 0, 0
	switch token[0] {
	case 'd':
		days, most = 1, 120
	case 'w':
		days, most = 7, 52
	case 'm':
		days, most = 30, 36
	}
	if days == 0 || n > most {
		return cohortPeriod{}, false
	}
	return cohortPeriod{token, n * days, (n+1)*days - 1}, true
}

// label is the period's readable form: "7D" for d7.
func (p cohortPeriod) label() string { return p.token[1:] + strings.ToUpper(p.token[:1]) }

// column is a requested metric: a row of the formula table with what its placeholders stand for.
type column struct {
	slug   string // as requested
	def    *metricDef
	period cohortPeriod
	event  *eventRecord
	number int // of the event, in app_events
}

func (c column) label() string {
	event := ""
	if c.event != nil {
		event = c.event.Name
	}
	p := ""
	if c.period.token != "" {
		p = c.period.label()
	}
	return strings.NewReplacer("{P}", p, "{E}", event).Replace(c.def.label)
}

// glossary finds metrics by their slugs: those of the formula table, and those of an account's events.
type glossary struct {
	formulas formulaTable
	events   *eventCatalog
}

// newGlossary is the glossary of an account with these events.
func newGlossary(events *eventCatalog) *glossary { return &glossary{makeFormulaTable(), events} }

// formulaTable finds a definition by its slug with placeholders.
type formulaTable map[string]*metricDef

func makeFormulaTable() formulaTable {
	t := formulaTable{}
	for _, defs := range slices.Concat(metricTables(), [][]metricDef{innerMetrics, eventMetrics}) {
		for i := range defs {
			t[defs[i].slug] = &defs[i]
		}
	}
	return t
}

// find reads a requested metric slug. A slug that looks like a metric of an event which the account hasn't got is told
// apart from a slug that means nothing.
func (g *glossary) find(slug string) (column, *serviceError) {
	// The glossary writes general revenue_events_min with a blank, clients an underscore.
	name := strings.Replace(slug, "general revenue_", "general_revenue_", 1)
	if def, ok := g.formulas[name]; ok && def.label != "" && !strings.Contains(name, "{") {
		return column{slug: slug, def: def}, nil
	}
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		if p, ok := parseCohortPeriod(name[i+1:]); ok {
			if def, ok := g.formulas[name[:i]+"_{p}"]; ok && def.label != "" {
				return column{slug: slug, def: def, period: p}, nil
			}
		}
	}
	if c, bad, ok := g.movingAverage(slug); ok {
		return c, bad
	}
	eventLike := false
	for i := range eventMetrics {
		def := &eventMetrics[i]
		event, p, ok := matchEventSlug(def.slug, slug)
		if !ok {
			continue
		}
		eventLike = true
		if number, ok := g.events.index[event]; ok {
			return column{slug: slug, def: def, period: p, event: g.events.bySlug(event), number: number}, nil
		}
	}
	if eventLike {
		return column{}, badRequest("%s: event doesn't exist or was renamed", slug)
	}
	return column{}, badRequest("Unsupported metric: %s", slug)
}

// matchEventSlug splits a slug by an event family's pattern, "{e}_<rest>" or "{e}_{p}_<rest>".
func matchEventSlug(pattern, slug string) (event string, p cohortPeriod, ok bool) {
	rest := strings.TrimPrefix(pattern, "{e}")
	suffix, cohort := strings.CutPrefix(rest, "_{p}")
	event, ok = strings.CutSuffix(slug, suffix)
	if !ok || event == "" {
		return "", p, false
	}
	if !cohort {
		return event, p, true
	}
	i := strings.LastIndexByte(event, '_')
	if i < 1 {
		return "", p, false
	}
	p, ok = parseCohortPeriod(event[i+1:])
	return event[:i], p, ok
}

// compile turns a column into SQL over sums, which it asks of sum as row expressions.
func (t formulaTable) compile(c column, sum func(c column) expr) (expr, error) {
	if c.def.row != "" {
		return c.def.finish(sum(c)), nil
	}
	e, err := parseFormula(c.def.formula, func(slug string) (expr, error) {
		def, ok := t[slug]
		if !ok {
			return expr{}, fmt.Errorf("%q is not in the formula table", slug)
		}
		inner := c
		inner.def = def
		return t.compile(inner, sum)
	})
	return c.def.finish(e), err
}

// finish gives an expression the form that the metric's kind is printed in.
func (d *metricDef) finish(e expr) expr {
	switch {
	case d.kind == seconds && e.unit == real:
		return expr{"CAST(" + e.sql + " AS INTEGER)", whole}
	case d.kind == decimal && e.unit == whole:
		return expr{e.float(), real}
	}
	return e
}

// movingSlug is mavg_{window}_{metric}, or a bound of it with its confidence. How windows and confidences are written
// isn't documented; numbers are taken here.
var movingSlug = regexp.MustCompile(`^mavg_(?:(upper|lower|margin_of_error)_)?([0-9]{1,3})_(?:([0-9]{1,3})_)?(.+)$`)

// movingAverage reads the slug of a moving average. ok is false when it isn't one.
func (g *glossary) movingAverage(slug string) (c column, bad *serviceError, ok bool) {
	m := movingSlug.FindStringSubmatch(slug)
	if m == nil || m[1] != "" && m[3] == "" || strings.HasPrefix(m[4], "mavg_") {
		return c, nil, false
	}
	if m[1] == "" && m[3] != "" {
		m[4] = m[3] + "_" + m[4] // the metric of an event whose slug begins with a number
	}
	if c, bad = g.find(m[4]); bad != nil {
		return c, bad, true
	}
	def := *c.def
	def.kind, def.row, def.formula = decimal, "", c.def.slug
	def.label = "Moving Average of " + c.def.label + " (" + m[2] + ")"
	if m[1] == "margin_of_error" {
		def.formula = "0"
	}
	if m[1] != "" {
		def.label += ", " + strings.ReplaceAll(m[1], "_", " ") + " " + m[3] + "%"
	}
	c.slug, c.def = slug, &def
	return c, nil, true
}
