package naive

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// naiveDef is a metric as the naive evaluator knows it: a formula of the glossary or a row
// expression.
type naiveDef struct {
	pattern, label, kind string
	formula              ast.Expr
	row                  string
	match                *regexp.Regexp
	hidden               bool // serves formulas only
}

// naiveMetric is a metric of a query: a definition with what its placeholders stand for.
type naiveMetric struct {
	slug        string
	def         *naiveDef
	period      string
	first, last int64 // days of age of the period
	event       int64
	eventName   string
	moving      string // end of a moving average's readable name
}

// naiveMoving are moving averages: the bound if it is one, window, confidence, metric. They are
// guessed to be the metric itself, without an error.
var naiveMoving = regexp.MustCompile(`^mavg_(?:(upper|lower|margin_of_error)_(\d+)_(\d+)|(\d+))_(.+)$`)

const periodPattern = `(d\d+|w\d+|m\d+)`

// naiveGlossary joins the glossary's formulas with the emulator's definitions of what the formulas
// rest on: shares of base columns are made up there, so there is no second source for them.
func naiveGlossary(t *testing.T, known map[string]naiveEvent) map[string]*naiveDef {
	t.Helper()
	var events []string
	for slug := range known {
		events = append(events, regexp.QuoteMeta(slug))
	}
	defs, unlisted := map[string]*naiveDef{}, map[string]bool{}
	for _, d := range metrics.NewGlossary(nil).All() {
		slug := d.Slug
		n := &naiveDef{pattern: slug, label: d.Label, kind: [...]string{"count", "money", "ratio", "decimal", "seconds",
			"money4"}[d.Kind], row: d.Row, hidden: d.Label == ""}
		if d.Row == "" {
			n.formula = readFormula(t, d.Formula)
			unlisted[slug] = true
		}
		defs[slug] = n
	}
	naiveFormulas(func(slug, label, kind, formula string) {
		n, ok := defs[slug]
		if !ok {
			t.Errorf("%s of the glossary isn't served", slug)
			return
		}
		if label != "" {
			n.label = label
		}
		n.kind = kind
		if row, ok := strings.CutPrefix(formula, "= "); ok {
			n.formula, n.row = nil, row
		} else if formula != "" {
			n.formula, n.row = readFormula(t, formula), ""
		}
		delete(unlisted, slug)
	})
	for slug := range unlisted {
		t.Errorf("the formula of %s isn't written down here", slug)
	}
	for slug, d := range defs {
		p := regexp.QuoteMeta(slug)
		p = strings.ReplaceAll(p, `\{p\}`, periodPattern)
		p = strings.ReplaceAll(p, `\{e\}`, "(?P<e>"+strings.Join(events, "|")+")")
		d.match = regexp.MustCompile("^" + p + "$")
	}
	return defs
}

// readFormula reads a formula with Go's own parser: placeholders become parts of names.
func readFormula(t *testing.T, formula string) ast.Expr {
	t.Helper()
	e, err := parser.ParseExpr(strings.NewReplacer("{p}", "PERIOD", "{e}", "EVENT").Replace(formula))
	if err != nil {
		t.Fatalf("formula %q: %v", formula, err)
	}
	return e
}

// metric finds the one definition that a slug matches.
func (w *naiveWorld) metric(slug string) (naiveMetric, error) {
	if m, ok := w.matched[slug]; ok {
		return m, nil
	}
	if g := naiveMoving.FindStringSubmatch(slug); g != nil {
		m, err := w.metric(g[5])
		m.slug, m.moving = slug, " ("+g[2]+g[4]+")"
		if g[1] != "" {
			m.moving += ", " + strings.ReplaceAll(g[1], "_", " ") + " " + g[3] + "%"
		}
		w.matched[slug] = m
		return m, err
	}
	var found []naiveMetric
	name := strings.Replace(slug, "general revenue_", "general_revenue_", 1)
	for _, d := range w.defs {
		g := d.match.FindStringSubmatch(name)
		if g == nil {
			continue
		}
		m := naiveMetric{slug: slug, def: d}
		for i, part := range g[1:] {
			if d.match.SubexpNames()[i+1] == "e" {
				m.event, m.eventName = w.events[part].number, w.events[part].name
			} else {
				m.period = part
				m.first, m.last = naivePeriod(part)
			}
		}
		found = append(found, m)
	}
	if len(found) != 1 {
		return naiveMetric{}, fmt.Errorf("%q matches %d definitions", slug, len(found))
	}
	w.matched[slug] = found[0]
	return found[0], nil
}

// naivePeriod gives the first and last day of age of a period; a week has 7 days, a month 30.
func naivePeriod(token string) (first, last int64) {
	n, err := strconv.ParseInt(token[1:], 10, 64)
	if err != nil {
		panic(err)
	}
	length := map[byte]int64{'d': 1, 'w': 7, 'm': 30}[token[0]]
	return n * length, (n+1)*length - 1
}

// naiveNumber is a metric's value over a group: things or micros as exact integers, or a double.
type naiveNumber struct {
	unit byte // 'i', 'm' or 'f'
	n    int64
	f    float64
}

func (n naiveNumber) float() float64 {
	switch n.unit {
	case 'i':
		return float64(n.n)
	case 'm':
		return float64(n.n) / 1e6
	}
	return n.f
}

// text prints a value as a cell: integers plain, money with one to six decimals, quotients as the
// shortest decimal.
func (n naiveNumber) text() string {
	switch n.unit {
	case 'i':
		return strconv.FormatInt(n.n, 10)
	case 'm':
		sign, u := "", uint64(n.n)
		if n.n < 0 {
			sign, u = "-", uint64(-n.n)
		}
		s := fmt.Sprintf("%s%d.%06d", sign, u/1_000_000, u%1_000_000)
		for strings.HasSuffix(s, "0") && !strings.HasSuffix(s, ".0") {
			s = strings.TrimSuffix(s, "0")
		}
		return s
	}
	s := strconv.FormatFloat(n.f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// naiveGroup is the facts of one row of the answer.
type naiveGroup struct {
	w     *naiveWorld
	q     *naiveQuery
	keys  []string
	hour  int64 // of UTC, when hours are shown
	facts []*naiveScope
	known map[string]naiveNumber
}

// value evaluates a metric over the group.
func (g *naiveGroup) value(m naiveMetric) (n naiveNumber, err error) {
	if m.moving != "" {
		if strings.Contains(m.moving, "margin") {
			return naiveNumber{unit: 'f'}, nil
		}
		m.moving = ""
		if n, err = g.value(m); n.unit == 'i' {
			n = naiveNumber{unit: 'f', f: float64(n.n)}
		}
		return n, err
	}
	key := m.def.pattern + "|" + m.period + "|" + m.eventName
	if n, ok := g.known[key]; ok {
		return n, nil
	}
	if m.def.row != "" {
		n, err = g.sum(m)
	} else if m.def.formula != nil {
		n, err = g.formula(m, m.def.formula)
	} else {
		err = fmt.Errorf("%s is not defined", m.def.pattern)
	}
	if err == nil && m.def.kind == "seconds" && n.unit == 'f' {
		n = naiveNumber{unit: 'i', n: int64(math.Floor(n.f))}
	}
	if m.def.kind == "decimal" && n.unit == 'i' {
		n = naiveNumber{unit: 'f', f: float64(n.n)}
	}
	g.known[key] = n
	return n, err
}

// sum adds a row expression up; NULL, where an app hasn't got the event, adds nothing.
func (g *naiveGroup) sum(m naiveMetric) (naiveNumber, error) {
	if m.def.row == "{active_days}" {
		days := map[string]bool{}
		for _, s := range g.facts {
			days[g.w.label(s, "day")] = true
		}
		return naiveNumber{unit: 'i', n: int64(len(days))}, nil
	}
	e, err := g.w.expr(m.def.row)
	if err != nil {
		return naiveNumber{}, err
	}
	out := naiveNumber{unit: 'i'}
	if strings.HasPrefix(m.def.kind, "money") {
		out.unit = 'm'
	}
	cohort := strings.Contains(m.def.pattern, "{p}")
	for _, s := range g.facts {
		s.m = m
		if cohort && g.q.maturity == "mature" && !s.mature(m.last) {
			continue
		}
		if v := e(s); v.kind != 'n' {
			out.n += v.i
		}
	}
	return out, nil
}

func (g *naiveGroup) formula(m naiveMetric, e ast.Expr) (naiveNumber, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return g.formula(m, e.X)
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 10, 64)
		return naiveNumber{unit: 'i', n: n}, err
	case *ast.Ident:
		pattern := strings.NewReplacer("PERIOD", "{p}", "EVENT", "{e}").Replace(e.Name)
		d, ok := g.w.defs[pattern]
		if !ok {
			return naiveNumber{}, fmt.Errorf("%s rests on %s, which isn't defined", m.slug, pattern)
		}
		inner := m
		inner.def = d
		return g.value(inner)
	case *ast.CallExpr:
		name := e.Fun.(*ast.Ident).Name
		a, err := g.formula(m, e.Args[0])
		if err != nil {
			return a, err
		}
		if name == "abs" {
			a.n, a.f = max(a.n, -a.n), math.Abs(a.f)
			return a, nil
		}
		b, err := g.formula(m, e.Args[1]) // div: whole numbers
		if err != nil || b.n == 0 {
			return naiveNumber{unit: 'i'}, err
		}
		return naiveNumber{unit: 'i', n: a.n / b.n}, nil
	case *ast.BinaryExpr:
		a, err := g.formula(m, e.X)
		if err != nil {
			return a, err
		}
		b, err := g.formula(m, e.Y)
		return naiveCompute(e.Op, a, b), err
	}
	return naiveNumber{}, fmt.Errorf("%s: unknown part %T of a formula", m.slug, e)
}

// naiveCompute keeps sums of equal units and products of things exact; everything else is a double
// in natural units.
func naiveCompute(op token.Token, a, b naiveNumber) naiveNumber {
	exact := a.unit == b.unit && a.unit != 'f'
	switch {
	case exact && op == token.ADD:
		return naiveNumber{unit: a.unit, n: a.n + b.n}
	case exact && op == token.SUB:
		return naiveNumber{unit: a.unit, n: a.n - b.n}
	case exact && op == token.MUL && a.unit == 'i':
		return naiveNumber{unit: 'i', n: a.n * b.n}
	}
	x, y := a.float(), b.float()
	switch op {
	case token.ADD:
		x += y
	case token.SUB:
		x -= y
	case token.MUL:
		x *= y
	case token.QUO:
		if y == 0 {
			x = 0
		} else {
			x /= y
		}
	}
	return naiveNumber{unit: 'f', f: x}
}

// naiveFamilies name the parts of slugs by which metrics of one family differ: $1 and $2 stay.
var naiveFamilies = []*regexp.Regexp{
	regexp.MustCompile(`^(subscription_)\w+_to_\w+(_rate_\{p\})$`),
	regexp.MustCompile(`^(subscription_)(?:` + strings.Join(slices.Sorted(maps.Keys(naiveSubscriptions)),
		"|") + `)(_(?:events|revenue)(?:_total)?_\{p\})$`),
	regexp.MustCompile(`^(subscrevnt_)\w+(_(?:events|revenue))$`),
	regexp.MustCompile(`^(ad_revenue_|ad_impressions_|cohort_ad_revenue_|ad_rpm_)(?:` + strings.Join(naiveAdSources,
		"|") + `)((?:_\{p\})?)$`),
	regexp.MustCompile(
		`^(\w+conversion_(?:value_)?|conversion_(?:value_)?|skad_coarse_conversion_values_)(?:[a-z]+_)?\d+()$`),
}

// families groups the patterns that a query may ask for.
func (w *naiveWorld) families() map[string][]string {
	out := map[string][]string{}
	for p, d := range w.defs {
		if d.hidden {
			continue
		}
		name := p
		for _, f := range naiveFamilies {
			name = f.ReplaceAllString(name, "$1*$2")
		}
		out[name] = append(out[name], p)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}
