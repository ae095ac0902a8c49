package adjust

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"cloud.google.com/go/civil"
)

// many is a query of more metrics than an address has room for. Its first metric is a sum, and its
// last is a ratio.
func many(from, until int) ReportQuery {
	q := query()
	q.Dimensions, q.Metrics = []string{"day", "campaign"}, []string{"installs"}
	for n := range 100 {
		q.Metrics = append(q.Metrics, fmt.Sprintf("a metric of a long name %03d_events", n))
	}
	q.Metrics = append(q.Metrics, "ecpi_all")
	q.ZeroWhenAbsent = q.Metrics[:101]
	q.From, q.Until = date(2026, 1, from), date(2026, 1, until)
	return q
}

// Groups of metrics are joined in full on the dimensions. What a row lacks is 0 where metrics add
// up, and empty where they don't.
func TestGroupsOfMetricsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := many(1, 3)
		s := play(sameCells("2026-01-01,both=7", "2026-01-02,first=1"),
			sameCells("2026-01-01,both=3", "2026-01-01,last=2"))
		c, _ := open(t, s, func(o *Options) { o.MaxURL = 3000 })
		got, a, err := fetch(t.Context(), c, q)
		if err != nil || a.Attempts != 2 || a.Status != 200 {
			t.Fatalf("%+v, %v", a, err)
		}
		asked := map[string]int{}
		for _, u := range s.urls {
			v, err := url.Parse("http://" + u)
			if err != nil || len(u) > 3000 {
				t.Errorf("an address has %d bytes, %v", len(u), err)
			}
			for slug := range strings.SplitSeq(v.Query().Get("metrics"), ",") {
				asked[slug]++
			}
		}
		if len(s.urls) != 2 || len(asked) != len(q.Metrics) || asked["installs"] != 1 || asked["ecpi_all"] != 1 {
			t.Errorf("%d requests for %d metrics of %d", len(s.urls), len(asked), len(q.Metrics))
		}
		lines := strings.Split(strings.TrimSpace(got), "\n")
		for i, want := range []struct{ key, first, last string }{{"day,campaign", "installs", "ecpi_all"},
			{"2026-01-01,both", "7", "3"}, {"2026-01-02,first", "1", ""}, {"2026-01-01,last", "0", "2"}} {
			cells := strings.Split(lines[i], ",")
			if len(lines) != 4 || strings.Join(cells[:2], ",") != want.key || cells[2] != want.first ||
				cells[len(cells)-1] != want.last {
				t.Errorf("line %d of %d is %s, want %v", i, len(lines), lines[i], want)
			}
		}
	})
}

// sameCells answers with rows, each a key and the number that all of its metrics have.
func sameCells(rows ...string) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		v := r.URL.Query()
		lines := []string{v.Get("dimensions") + "," + v.Get("metrics")}
		for _, row := range rows {
			key, number, _ := strings.Cut(row, "=")
			lines = append(lines, key+strings.Repeat(","+number, strings.Count(v.Get("metrics"), ",")+1))
		}
		text(lines...)(w, r)
	}
}

// Two rows of the same dimensions can't be joined. That is the same on all days, and says what to
// do.
func TestRepeatedRowsAreNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, play(sameCells("2026-01-01,a=1", "2026-01-01,a=1")), func(o *Options) { o.MaxURL = 3000 })
		_, _, err := fetch(t.Context(), c, many(1, 2))
		var failed *Error
		if !errors.As(err, &failed) || !failed.AnyDays || !strings.Contains(err.Error(), "(2026-01-01, a)") ||
			!strings.Contains(err.Error(), "divide the metrics among several tables") {
			t.Errorf("%v", err)
		}
	})
}

// Rows that are joined take no more memory than is allowed where less can be asked for at once.
func TestJoinedRowsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, splittable := range []bool{true, false} {
			q := many(1, 3)
			q.Splittable = splittable
			c, _ := open(t, play(sameCells("2026-01-01,a=1"), sameCells("2026-01-02,a=2")),
				func(o *Options) { o.MaxURL = 3000 })
			c.mostHeldBytes = 2*102*amountSize - 1 // one row fits, and two don't
			if _, _, err := fetch(t.Context(), c, q); errors.Is(err, ErrTooSlow) != splittable || !splittable &&
				err != nil {
				t.Errorf("splittable %t: %v", splittable, err)
			}
		}
	})
}

// What can't be joined is asked for as it is: where the caller wants an order, or another form of
// answer.
func TestWhatIsNotJoined(t *testing.T) {
	for name, change := range map[string]func(*ReportQuery){
		"sort":   func(q *ReportQuery) { q.Sort = []string{"-installs"} },
		"index":  func(q *ReportQuery) { q.Index = []string{"day"} },
		"before": func(q *ReportQuery) { q.PeriodOverPeriod = "previous_week" },
		"names":  func(q *ReportQuery) { q.ReadableNames = true },
		"relative": func(q *ReportQuery) {
			q.From, q.Until = civil.Date{}, civil.Date{}
			q.DatePeriod = "-7d:-1d"
		},
		"other values": func(q *ReportQuery) {
			q.Filters = map[string][]string{"campaign__in": {strings.Repeat("x",
				4000)}}
		},
	} {
		q := many(1, 3)
		change(&q)
		if parts, err := partsOf(q); err != nil || len(parts) != 1 || len(parts[0].metrics) != len(q.Metrics) {
			t.Errorf("%s: %d parts, %v", name, len(parts), err)
		}
	}
}

func partsOf(q ReportQuery) ([]part, error) {
	query, err := q.Encode()
	if err != nil {
		return nil, err
	}
	return q.parts("", query, 3000)
}

// Apps and metrics share the room of an address, and each app is asked for each metric once.
func TestGroupsOfAppsAndMetrics(t *testing.T) {
	q := many(1, 3)
	q.Dimensions = append(q.Dimensions, "app_token")
	q.Filters = map[string][]string{appTokenIn: nil}
	for n := range 300 {
		q.Filters[appTokenIn] = append(q.Filters[appTokenIn], fmt.Sprintf("app%09d", n))
	}
	parts, err := partsOf(q)
	pairs := map[string]int{}
	for _, p := range parts {
		one := q.pieceQuery(piece{part: p})
		one.From, one.Until = q.From, q.Until
		if query, err := one.Encode(); err != nil || len(query) > 3000 {
			t.Errorf("%d bytes, %v", len(query), err)
		}
		for _, app := range p.apps {
			for _, slug := range p.metrics {
				pairs[app+slug]++
			}
		}
	}
	if err != nil || len(pairs) != 300*102 {
		t.Errorf("%d pairs of %d, %v", len(pairs), 300*102, err)
	}
	for pair, n := range pairs {
		if n != 1 {
			t.Fatalf("%s is asked for %d times", pair, n)
		}
	}
}
