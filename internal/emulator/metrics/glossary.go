package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/wire"
	"github.com/reportferry/reportferry/internal/lazy"
)

// CohortPeriod is what {p} of a slug stands for: d0..d120, w0..w52 of 7 days, or m0..m36 of 30
// days.
type CohortPeriod struct {
	Token      string
	start, End int // first and last day that it covers, counted from the install, which is day 0
}

// ParseCohortPeriod reads the {p} of a slug, such as d7; ok is false when it isn't one.
func ParseCohortPeriod(token string) (CohortPeriod, bool) {
	if len(token) < 2 {
		return CohortPeriod{}, false
	}
	n, err := strconv.Atoi(token[1:])
	if err != nil || n < 0 || strconv.Itoa(n) != token[1:] {
		return CohortPeriod{}, false
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
		return CohortPeriod{}, false
	}
	return CohortPeriod{token, n * days, (n+1)*days - 1}, true
}

// Label returns the period's readable form: "7D" for d7.
func (p CohortPeriod) Label() string { return p.Token[1:] + strings.ToUpper(p.Token[:1]) }

// SmallPeriods returns a slug with its periods in small letters. Clients write capitals too, and
// the answers have small letters.
func SmallPeriods(slug string) string {
	parts := strings.Split(slug, "_")
	for i, part := range parts {
		if p, ok := ParseCohortPeriod(strings.ToLower(part)); ok {
			parts[i] = p.Token
		}
	}
	return strings.Join(parts, "_")
}

// Column is a requested metric: a row of the formula table with what its placeholders stand for.
type Column struct {
	Slug   string // as requested, its period in small letters
	Def    *Metric
	Period CohortPeriod
	event  *facts.Event
	number int // the event's number in app_events
}

// Label returns the metric's readable name.
func (c Column) Label() string {
	event := ""
	if c.event != nil {
		event = c.event.Name
	}
	p := ""
	if c.Period.Token != "" {
		p = c.Period.Label()
	}
	return strings.NewReplacer("{P}", p, "{E}", event).Replace(c.Def.Label)
}

// Glossary finds metrics by their slugs: those of the formula table, and those of an account's
// events.
type Glossary struct {
	formulas formulaTable
	events   *facts.Catalog
}

// NewGlossary returns the glossary of an account with these events.
func NewGlossary(events *facts.Catalog) *Glossary { return &Glossary{makeFormulaTable(), events} }

// With returns the same glossary for an account with other events.
func (g *Glossary) With(events *facts.Catalog) *Glossary { return &Glossary{g.formulas, events} }

// All returns the metrics that formulas know, sorted by slug: those of the glossary, those of an
// event, and a few without a label, which serve formulas and can't be asked for.
func (g *Glossary) All() []*Metric {
	var out []*Metric
	for _, slug := range slices.Sorted(maps.Keys(g.formulas)) {
		out = append(out, g.formulas[slug])
	}
	return out
}

// formulaTable finds a definition by its slug with placeholders.
type formulaTable map[string]*Metric

// makeFormulaTable joins the tables of all metrics.
func makeFormulaTable() formulaTable {
	t := formulaTable{}
	for _, defs := range slices.Concat(metricTables(), [][]Metric{innerMetrics, eventMetrics}) {
		for i := range defs {
			t[defs[i].Slug] = &defs[i]
		}
	}
	return t
}

// Find returns the column of a requested metric slug. A slug that looks like a metric of an event
// that the account doesn't have gets another error than a slug that means nothing.
func (g *Glossary) Find(slug string) (Column, *wire.Error) {
	slug = SmallPeriods(slug)
	// The glossary writes general revenue_events_min with a blank, and clients write an underscore.
	name := strings.Replace(slug, "general revenue_", "general_revenue_", 1)
	if def, ok := g.formulas[name]; ok && def.Label != "" && !strings.Contains(name, "{") {
		return Column{Slug: slug, Def: def}, nil
	}
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		if p, ok := ParseCohortPeriod(name[i+1:]); ok {
			if def, ok := g.formulas[name[:i]+"_{p}"]; ok && def.Label != "" {
				return Column{Slug: slug, Def: def, Period: p}, nil
			}
		}
	}
	if c, bad, ok := g.movingAverage(slug); ok {
		return c, bad
	}
	eventLike := false
	for i := range eventMetrics {
		def := &eventMetrics[i]
		event, p, ok := matchEventSlug(def.Slug, slug)
		if !ok {
			continue
		}
		eventLike = true
		if number, ok := g.events.Index[event]; ok {
			return Column{Slug: slug, Def: def, Period: p, event: g.events.BySlug(event), number: number}, nil
		}
	}
	if eventLike {
		return Column{}, wire.BadRequest("%s: event doesn't exist or was renamed", slug)
	}
	return Column{}, wire.BadRequest("Unsupported metric: %s", slug)
}

// matchEventSlug splits a slug by an event family's pattern, "{e}_<rest>" or "{e}_{p}_<rest>".
func matchEventSlug(pattern, slug string) (event string, p CohortPeriod, ok bool) {
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
	p, ok = ParseCohortPeriod(event[i+1:])
	return event[:i], p, ok
}

// compile turns a column into SQL over sums. It calls sum for each metric in it that is a row
// expression; sum returns the SQL of that sum.
func (t formulaTable) compile(c Column, sum func(c Column) expr) (expr, error) {
	if c.Def.Row != "" {
		return c.Def.finish(sum(c)), nil
	}
	e, err := parseFormula(c.Def.Formula, func(slug string) (expr, error) {
		def, ok := t[slug]
		if !ok {
			return expr{}, fmt.Errorf("%q is not in the formula table", slug)
		}
		inner := c
		inner.Def = def
		return t.compile(inner, sum)
	})
	return c.Def.finish(e), err
}

// finish returns an expression in the form that the metric's kind is printed in.
func (d *Metric) finish(e expr) expr {
	switch {
	case d.Kind == Seconds && e.unit == real:
		return expr{"CAST(" + e.sql + " AS INTEGER)", Whole}
	case d.Kind == Decimal && e.unit == Whole:
		return expr{e.float(), real}
	}
	return e
}

// movingSlug matches mavg_{window}_{metric}, or a bound of it with its confidence. How windows and
// confidences are written isn't documented; this emulator takes numbers.
var movingSlug = lazy.Regexp(`^mavg_(?:(upper|lower|margin_of_error)_)?([0-9]{1,3})_(?:([0-9]{1,3})_)?(.+)$`)

// movingAverage reads the slug of a moving average. ok is false when it isn't one.
func (g *Glossary) movingAverage(slug string) (c Column, bad *wire.Error, ok bool) {
	m := movingSlug().FindStringSubmatch(slug)
	if m == nil || m[1] != "" && m[3] == "" || strings.HasPrefix(m[4], "mavg_") {
		return c, nil, false
	}
	if m[1] == "" && m[3] != "" {
		m[4] = m[3] + "_" + m[4] // the metric of an event whose slug begins with a number
	}
	if c, bad = g.Find(m[4]); bad != nil {
		return c, bad, true
	}
	def := *c.Def
	def.Kind, def.Row, def.Formula = Decimal, "", c.Def.Slug
	def.Label = "Moving Average of " + c.Def.Label + " (" + m[2] + ")"
	if m[1] == "margin_of_error" {
		def.Formula = "0"
	}
	if m[1] != "" {
		def.Label += ", " + strings.ReplaceAll(m[1], "_", " ") + " " + m[3] + "%"
	}
	c.Slug, c.Def = slug, &def
	return c, nil, true
}
