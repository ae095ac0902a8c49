package naive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// naiveColumns are the columns of slices behind dimensions whose names differ.
var naiveColumns = map[string]string{"app": "app_name", "creative_id": "creative_id_network"}

// naiveDims are the interface document's dimensions in its order, and one that the real service has
// besides, with readable names.
var naiveDims = []struct{ slug, label string }{
	{"hour", "Hour"}, {"day", "Day"}, {"week", "Week"}, {"month", "Month"}, {"year", "Year"}, {"quarter", "Quarter"},
	{"os_name", "OS name"},
	{"device_type", "Device type"}, {"app", "App"}, {"app_token", "App token"}, {"ad_account_id", "Ad account ID"},
	{"store_id", "Store ID"},
	{"store_type", "Store type"}, {"currency", "Currency"}, {"currency_code", "Currency code"}, {"network", "Network"},
	{"campaign", "Campaign"},
	{"campaign_network", "Campaign (Network)"}, {"campaign_id_network", "Campaign ID (Network)"},
	{"adgroup", "Adgroup"},
	{"adgroup_network", "Adgroup (Network)"}, {"adgroup_id_network", "Adgroup ID (Network)"},
	{"source_network", "Source (Network)"},
	{"source_id_network", "Source ID (Network)"}, {"creative", "Creative"}, {"creative_network", "Creative (Network)"},
	{"creative_id_network", "Creative ID (Network)"}, {"country", "Country"}, {"country_code", "Country code"},
	{"region", "Region"},
	{"partner_name", "Partner name"}, {"partner_id", "Partner ID"}, {"partner", "Partner"}, {"channel", "Channel"},
	{"platform", "Platform"},
	{"creative_id", "Creative ID"},
}

// naiveAttributed tells the dimensions that the credited engagement decides:
// attribution_source=first takes them of the first one.
func naiveAttributed(dim string) bool {
	for _, part := range []string{"network", "campaign", "adgroup", "creative", "source_", "partner", "channel",
		"ad_account_id"} {
		if strings.HasPrefix(dim, part) {
			return true
		}
	}
	return false
}

// local is the fact's hour as clocks in the report's zone show it; a fact to compare with is shown
// days later.
func (s *naiveScope) local() time.Time {
	t := time.Unix(s.fact("ts")*3600, 0).In(s.q.loc)
	return time.Date(t.Year(), t.Month(), t.Day()+s.later, t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// label is a dimension's value of a fact.
func (w *naiveWorld) label(s *naiveScope, dim string) string {
	t := s.local()
	switch dim {
	case "day":
		return t.Format("2006-01-02")
	case "hour":
		return t.Format("2006-01-02T15:00:00")
	case "week": // Sunday to Saturday, whole
		sunday := time.Date(t.Year(), t.Month(), t.Day()-int(t.Weekday()), 0, 0, 0, 0, time.UTC)
		return sunday.Format("2006-01-02") + " - " + sunday.AddDate(0, 0, 6).Format("2006-01-02")
	case "month":
		return t.Format("2006-01")
	case "quarter":
		return fmt.Sprintf("Q%d %d", (int(t.Month())+2)/3, t.Year())
	case "year":
		return t.Format("2006")
	}
	if dim == "currency" || dim == "currency_code" {
		return map[string]string{"currency": s.q.currency.name, "currency_code": s.q.currency.code}[dim]
	}
	column := dim
	if c, ok := naiveColumns[dim]; ok {
		column = c
	}
	i, ok := w.dcol[column]
	if !ok {
		panic("slices have no column " + column)
	}
	if s.q.first && naiveAttributed(dim) {
		return w.slices[s.fact("first_slice")][i].s
	}
	return s.d[i].s
}

// naiveLine is a row of the answer before it is printed.
type naiveLine struct {
	keys    []string
	hour    int64
	numbers []naiveNumber
}

// groups puts facts together whose dimensions are the same. Two hours of one label, as a zone's
// autumn has them, are told apart; a comparison goes by labels alone.
func (w *naiveWorld) groups(q *naiveQuery, later int, byHour bool) map[string]*naiveGroup {
	groups := map[string]*naiveGroup{}
	for _, f := range w.facts {
		s := &naiveScope{w: w, q: q, f: f, d: w.slices[f[w.fcol["slice"]]], later: later}
		if !w.keeps(s) {
			continue
		}
		keys := make([]string, len(q.dims))
		for i, d := range q.dims {
			keys[i] = w.label(s, d)
		}
		id, hour := strings.Join(keys, "\x00"), int64(0)
		if byHour {
			hour = s.fact("ts")
		}
		id = fmt.Sprintf("%s\x00%d", id, hour)
		if groups[id] == nil {
			groups[id] = &naiveGroup{w: w, q: q, keys: keys, hour: hour, known: map[string]naiveNumber{}}
		}
		groups[id].facts = append(groups[id].facts, s)
	}
	return groups
}

// answer evaluates a query over the raw facts and prints it; an empty answer is "".
func (w *naiveWorld) answer(q *naiveQuery) (string, error) {
	var earlier map[string]*naiveGroup
	if q.compared {
		earlier = w.groups(q, q.earlier, false)
	}
	var lines []naiveLine
	for _, g := range w.groups(q, 0, slices.Contains(q.dims, "hour")) {
		if !g.passes() {
			continue
		}
		line := naiveLine{keys: g.keys, hour: g.hour}
		from := []*naiveGroup{g}
		if q.compared {
			other := earlier[strings.Join(g.keys, "\x00")+"\x000"]
			if other == nil {
				other = &naiveGroup{w: w, q: q, known: map[string]naiveNumber{}}
			}
			from = append(from, other)
		}
		for _, g := range from {
			for _, m := range q.metrics {
				n, err := g.value(m)
				if err != nil {
					return "", err
				}
				line.numbers = append(line.numbers, n)
			}
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return "", nil
	}
	slices.SortFunc(lines, q.compare)
	if q.limit > 0 && len(lines) > q.limit {
		lines = lines[:q.limit]
	}
	return q.print(lines), nil
}

// keeps tells whether a fact is in the report at all.
func (w *naiveWorld) keeps(s *naiveScope) bool {
	day := w.label(s, "day")
	if day < s.q.from || day > s.q.to || s.age() < 0 {
		return false
	}
	if (s.fact("sandbox") == 1) != s.q.sandbox {
		return false
	}
	if s.q.reattributed != "" && fmt.Sprint(s.fact("reattributed") == 1) != s.q.reattributed {
		return false
	}
	engagement := []string{"", "click", "impression", "engaged_ad"}[s.fact("engagement")]
	if engagement != "" && len(s.q.engagements) > 0 && !slices.Contains(s.q.engagements, engagement) {
		return false
	}
	if h := s.q.hours; h != nil {
		ago := s.w.now.Unix()/3600 - s.fact("ts") - int64(s.later)*24
		if ago > h[0] || ago < h[1] {
			return false
		}
	}
	for _, f := range s.q.dimFilters {
		if !f.keeps(w.label(s, f.dim)) {
			return false
		}
	}
	return true
}

// passes tells whether the group is shown: metric filters, and fully mature cohorts.
func (g *naiveGroup) passes() bool {
	for _, f := range g.q.numFilters {
		n, err := g.value(f.metric)
		if err != nil {
			panic(err)
		}
		if !f.keeps(n) {
			return false
		}
	}
	if g.q.maturity != "fully_mature" {
		return true
	}
	for _, m := range g.q.metrics {
		for _, s := range g.facts {
			if m.period != "" && !s.mature(m.last) {
				return false
			}
		}
	}
	return true
}

// mature tells whether the install's day of age last is over, by the report's zone.
func (s *naiveScope) mature(last int64) bool {
	t := s.local().AddDate(0, 0, int(last)-s.later)
	return t.Format(time.DateOnly) < s.w.now.In(s.q.loc).Format(time.DateOnly)
}

// compare orders by sort, then index, then the dimensions, texts bytewise.
func (q *naiveQuery) compare(a, b naiveLine) int {
	for _, key := range slices.Concat(q.sort, q.index, q.dims) {
		slug, descending := strings.CutPrefix(key, "-")
		c := 0
		if i := slices.Index(q.dims, slug); i >= 0 {
			c = strings.Compare(a.keys[i], b.keys[i])
		} else {
			i = slices.IndexFunc(q.metrics, func(m naiveMetric) bool { return m.slug == slug })
			x, y := a.numbers[i], b.numbers[i]
			c = cmp.Compare(x.n, y.n)
			if x.unit == 'f' {
				c = cmp.Compare(x.f, y.f)
			}
		}
		if descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(a.hour, b.hour)
}

func (q *naiveQuery) print(lines []naiveLine) string {
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.ContainsAny(c, ",\"\r\n") {
				c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
			}
			b.WriteString(c)
		}
		b.WriteByte('\n')
	}
	var head []string
	for _, d := range q.dims {
		if q.readable {
			d = naiveDims[slices.IndexFunc(naiveDims,
				func(n struct{ slug, label string }) bool { return n.slug == d })].label
		}
		head = append(head, d)
	}
	for _, m := range q.metrics {
		head = append(head, q.heading(m))
	}
	if q.compared {
		for _, m := range q.metrics {
			head = append(head, q.heading(m)+map[bool]string{true: " (Comparison)", false: "_pop"}[q.readable])
		}
	}
	line(head)
	for _, l := range lines {
		cells := slices.Clone(l.keys)
		for _, n := range l.numbers {
			cells = append(cells, n.text())
		}
		line(cells)
	}
	return b.String()
}

func (q *naiveQuery) heading(m naiveMetric) string {
	if !q.readable {
		return m.slug
	}
	p := ""
	if m.period != "" {
		p = m.period[1:] + strings.ToUpper(m.period[:1])
	}
	label := strings.NewReplacer("{P}", p, "{E}", m.eventName).Replace(m.def.label)
	if m.moving != "" {
		label = "Moving Average of " + label + m.moving
	}
	return label
}
