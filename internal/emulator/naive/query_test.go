package naive

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// naiveQuery is a csv_report request as the documents read it.
type naiveQuery struct {
	dims         []string
	metrics      []naiveMetric
	loc          *time.Location
	from, to     string // dates, inclusive
	spend        string
	currency     naiveCurrency
	gross        int64   // percent of in-app revenue
	adSources    []int64 // empty: all
	first        bool    // attribution_source=first
	sandbox      bool
	engagements  []string
	reattributed string // "true", "false" or "" for all
	maturity     string
	hours        *[2]int64 // hour__between: so many hours ago, first and last
	compared     bool      // period_over_period
	earlier      int       // days
	dimFilters   []naiveDimFilter
	numFilters   []naiveNumFilter
	sort, index  []string
	readable     bool
	limit        int
}

type naiveDimFilter struct {
	dim, op string
	value   string
}

type naiveNumFilter struct {
	metric naiveMetric
	op     string
	bound  float64
}

// naiveCurrency is worth so many units per US dollar, as a fraction.
type naiveCurrency struct {
	code, name string
	per        [2]int64
}

// naiveRates is what the test's queries ask for.
var naiveRates = []naiveCurrency{{"USD", "US Dollar", [2]int64{1, 1}}, {"EUR", "Euro", [2]int64{92, 100}},
	{"JPY", "Japanese Yen", [2]int64{150, 1}},
	{"IDR", "Indonesian Rupiah", [2]int64{16000, 1}}, {"KWD", "Kuwaiti Dinar", [2]int64{31, 100}}}

func naiveList(s string) (out []string) {
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// parse reads a query that is known to be valid.
func (w *naiveWorld) parse(v url.Values) (*naiveQuery, error) {
	q := &naiveQuery{dims: naiveList(v.Get("dimensions")), sort: naiveList(v.Get("sort")),
		index:    naiveList(v.Get("index")),
		readable: strings.EqualFold(v.Get("readable_names"), "true"), spend: strings.ToLower(v.Get("ad_spend_mode"))}
	for _, slug := range naiveList(v.Get("metrics")) {
		m, err := w.metric(slug)
		if err != nil {
			return nil, err
		}
		q.metrics = append(q.metrics, m)
	}
	if err := q.readModes(v); err != nil {
		return nil, err
	}
	if err := q.readZone(v); err != nil {
		return nil, err
	}
	if err := q.readDates(v.Get("date_period"), w.now.In(q.loc)); err != nil {
		return nil, err
	}
	if h := v.Get("hour__between"); h != "" {
		q.hours = new([2]int64)
		if _, err := fmt.Sscanf(h, "-%dh:-%dh", &q.hours[0], &q.hours[1]); err != nil {
			return nil, err
		}
	}
	if p := v.Get("period_over_period"); p != "" {
		q.compared = true
		if err := q.readComparison(strings.ToLower(p), w.now.In(q.loc)); err != nil {
			return nil, err
		}
	}
	if os := v.Get("os_names"); os != "" {
		q.dimFilters = append(q.dimFilters, naiveDimFilter{"os_name", "in", os})
	}
	if n := v.Get("limit"); n != "" {
		limit, err := strconv.Atoi(n)
		if err != nil {
			return nil, err
		}
		q.limit = limit
	}
	return q, w.readFilters(q, v)
}

// readModes reads what says which facts count and for how much.
func (q *naiveQuery) readModes(v url.Values) error {
	code := strings.ToUpper(v.Get("currency"))
	if code == "" {
		code = "USD" // the apps' own
	}
	i := slices.IndexFunc(naiveRates, func(c naiveCurrency) bool { return c.code == code })
	if i < 0 {
		return fmt.Errorf("the test has no rate of %s", code)
	}
	q.currency = naiveRates[i]
	q.first = strings.EqualFold(v.Get("attribution_source"), "first")
	q.sandbox = strings.EqualFold(v.Get("sandbox"), "true")
	q.engagements = naiveList(strings.ToLower(v.Get("attribution_types")))
	if len(q.engagements) == 0 && !strings.EqualFold(v.Get("attribution_type"), "all") {
		q.engagements = naiveList(strings.ToLower(v.Get("attribution_type")))
	}
	q.maturity = strings.ToLower(v.Get("cohort_maturity"))
	if r := strings.ToLower(v.Get("reattributed")); r != "all" {
		q.reattributed = r
	}
	q.gross = 100
	if _, percent, ok := strings.Cut(v.Get("iap_revenue_mode"), "_"); ok {
		n, err := strconv.ParseInt(percent, 10, 64)
		if err != nil {
			return err
		}
		q.gross = n
	}
	for _, name := range naiveList(v.Get("ad_revenue_sources")) {
		n := slices.IndexFunc(facts.AdSources, func(s facts.AdSource) bool {
			return strings.EqualFold(s.Name, name) ||
				s.Slug == name
		})
		if n < 0 {
			return fmt.Errorf("unknown source of ad revenue %s", name)
		}
		q.adSources = append(q.adSources, int64(n))
	}
	return nil
}

// adCounts tells whether the ad revenue of a fact counts.
func (q *naiveQuery) adCounts(source int64) bool {
	return len(q.adSources) == 0 || slices.Contains(q.adSources, source)
}

func (w *naiveWorld) readFilters(q *naiveQuery, v url.Values) error {
	for name := range v {
		i := strings.LastIndex(name, "__")
		if i < 0 || name == "hour__between" || v.Get(name) == "" {
			continue
		}
		target, op := name[:i], name[i+2:]
		switch {
		case slices.Contains(naiveDimOps, op):
			q.dimFilters = append(q.dimFilters, naiveDimFilter{target, op, v.Get(name)})
		case slices.Contains(naiveNumOps, op):
			m, err := w.metric(target)
			if err != nil {
				return err
			}
			bound, err := strconv.ParseFloat(strings.TrimSpace(v.Get(name)), 64)
			if err != nil {
				return err
			}
			q.numFilters = append(q.numFilters, naiveNumFilter{m, op, bound})
		default:
			return fmt.Errorf("unknown filter %s", name)
		}
	}
	return nil
}

var (
	naiveDimOps = []string{"in", "not_in", "contains", "exclude", "starts_with", "not_starts_with", "ends_with",
		"not_ends_with"}
	naiveNumOps = []string{"lt", "lte", "gt", "gte", "eq", "ne"}
)

func (q *naiveQuery) readZone(v url.Values) (err error) {
	q.loc = time.UTC
	if id := v.Get("timezone_id"); id != "" {
		if name := map[string]string{"1": "UTC", "3": "America/New_York", "6": "Europe/Berlin"}[id]; name != "" {
			id = name
		}
		q.loc, err = time.LoadLocation(id)
		return err
	}
	if offset := v.Get("utc_offset"); offset != "" {
		t, err := time.Parse("-07:00", offset)
		if err != nil {
			return err
		}
		_, east := t.Zone()
		q.loc = time.FixedZone(offset, east)
	}
	return nil
}

// readDates reads date_period; now is in the report's zone.
func (q *naiveQuery) readDates(period string, now time.Time) error {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	date := func(t time.Time) string { return t.Format(time.DateOnly) }
	set := func(from, to time.Time) error {
		q.from, q.to = date(from), date(to)
		return nil
	}
	yesterday, sunday := today.AddDate(0, 0, -1), today.AddDate(0, 0, -int(today.Weekday()))
	first := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch period {
	case "today":
		return set(today, today)
	case "yesterday":
		return set(yesterday, yesterday)
	case "this_week":
		return set(sunday, today)
	case "last_week":
		return set(sunday.AddDate(0, 0, -7), sunday.AddDate(0, 0, -1))
	case "this_month":
		return set(first, today)
	case "last_month":
		return set(first.AddDate(0, -1, 0), first.AddDate(0, 0, -1))
	case "this_month_until_yesterday":
		return set(first, yesterday)
	}
	var ends [2]string
	for i, part := range strings.Split(period, ":") {
		ends[i] = part
		if n, ok := strings.CutSuffix(part, "d"); ok {
			back, err := strconv.Atoi(n) // "-3", "-0"
			if err != nil {
				return err
			}
			ends[i] = date(today.AddDate(0, 0, back))
		}
	}
	q.from, q.to = ends[0], ends[1]
	return nil
}

// readComparison reads how many days before the report's period the one to compare it with lies.
func (q *naiveQuery) readComparison(p string, now time.Time) error {
	from, err := time.Parse(time.DateOnly, q.from)
	if err != nil {
		return err
	}
	to, err := time.Parse(time.DateOnly, q.to)
	if err != nil {
		return err
	}
	months := func(n int) time.Time { // the same day of an earlier month, or that month's last
		t := time.Date(from.Year(), from.Month()-time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
		if t.Day() > from.Day() {
			t = t.AddDate(0, 0, from.Day()-t.Day())
		}
		return t
	}
	var first time.Time
	switch p {
	case "previous_day":
		first = from.AddDate(0, 0, -1)
	case "previous_week":
		first = from.AddDate(0, 0, -7)
	case "previous_month":
		first = months(1)
	case "previous_year":
		first = months(12)
	case "previous_period":
		first = from.Add(-to.Sub(from)).AddDate(0, 0, -1)
	default:
		other := naiveQuery{}
		if err := other.readDates(p+":"+p, now); err != nil {
			return err
		}
		if first, err = time.Parse(time.DateOnly, other.from); err != nil {
			return err
		}
	}
	q.earlier = int(from.Sub(first).Hours() / 24)
	return nil
}

// keeps tells whether a label passes the filter; letters' case doesn't matter.
func (f naiveDimFilter) keeps(label string) bool {
	label, value := strings.ToLower(label), strings.ToLower(f.value)
	found := false
	switch strings.TrimPrefix(f.op, "not_") {
	case "in":
		// An entry stands for itself, without the blanks around it, and without quotes, which hold
		// commas together.
		for _, entry := range strings.Split(value, ",") {
			found = found || strings.TrimSpace(entry) != "" && (label == entry || label == strings.TrimSpace(entry))
		}
		found = found || strings.TrimSpace(label) != "" && naiveQuoted(value, label)
	case "contains", "exclude":
		found = strings.Contains(label, value)
	case "starts_with":
		found = strings.HasPrefix(label, value)
	case "ends_with":
		found = strings.HasSuffix(label, value)
	}
	return found != (strings.HasPrefix(f.op, "not_") || f.op == "exclude")
}

// naiveQuoted tells whether a text stands in quotes between the commas of a list: every pair of
// quotes is tried, from each of the list's beginnings of a value.
func naiveQuoted(list, text string) bool {
	for at := 0; at < len(list); {
		rest := strings.TrimLeft(list[at:], " ")
		at = len(list) - len(rest)
		m := naiveQuotes.FindStringSubmatch(rest)
		if m != nil && m[1] == text {
			return true
		}
		if m != nil {
			at += len(m[0])
			continue
		}
		comma := strings.IndexByte(rest, ',')
		if comma < 0 {
			return false
		}
		at += comma + 1
	}
	return false
}

// naiveQuotes is a value in quotes with what must follow it: nothing, or a comma.
var naiveQuotes = regexp.MustCompile(`(?s)^"(.*?)"\x20*(?:,|$)`)

// keeps compares as doubles: for an amount that is the double nearest to the decimal that is
// printed.
func (f naiveNumFilter) keeps(n naiveNumber) bool {
	c := cmp.Compare(n.float(), f.bound)
	switch f.op {
	case "lt":
		return c < 0
	case "lte":
		return c <= 0
	case "gt":
		return c > 0
	case "gte":
		return c >= 0
	case "eq":
		return c == 0
	}
	return c != 0
}
