package report_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
)

// A liar changes answers on their way from the service. Requests for rows have the dimension
// campaign, which none for totals has.
type liar struct {
	http.RoundTripper
	// Nil: nothing is changed; an answer without a row: 204.
	rows, totals func(nth int, q url.Values, answer [][]string) [][]string
	refuse       func(q url.Values) int // a status in place of the answer; 0: none

	mu           sync.Mutex
	asked        []url.Values
	nRows, nSums int
}

func (l *liar) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/csv_report") {
		return l.RoundTripper.RoundTrip(r)
	}
	q := r.URL.Query()
	l.mu.Lock()
	l.asked = append(l.asked, q)
	lie, nth := l.totals, l.nSums+1
	if isRows(q) {
		l.nRows++
		lie, nth = l.rows, l.nRows
	} else {
		l.nSums++
	}
	l.mu.Unlock()
	if l.refuse != nil {
		if status := l.refuse(q); status > 0 {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		}
	}
	if lie == nil {
		return l.RoundTripper.RoundTrip(r)
	}
	r.Header.Del("Accept-Encoding")
	res, err := l.RoundTripper.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusOK {
		return res, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := csv.NewReader(res.Body).ReadAll()
	if err != nil {
		return nil, err
	}
	changed := lie(nth, q, answer)
	if len(changed) < 2 {
		return &http.Response{StatusCode: http.StatusNoContent, Header: res.Header, Body: http.NoBody, Request: r}, nil
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(changed); err != nil {
		return nil, err
	}
	res.Header.Del("Content-Length")
	return &http.Response{StatusCode: http.StatusOK, Header: res.Header, Body: io.NopCloser(&b),
		ContentLength: int64(b.Len()), Request: r}, nil
}

func isRows(q url.Values) bool {
	return slices.Contains(strings.Split(q.Get("dimensions"), ","), "campaign")
}

// without leaves rows out whose cell is one of some values.
func without(answer [][]string, column string, values ...string) [][]string {
	at := slices.Index(answer[0], column)
	return slices.DeleteFunc(answer, func(row []string) bool { return at >= 0 && slices.Contains(values, row[at]) })
}

// controls are the records' controls, by how many days ago they are.
func (r *rig) controls() map[int]ledger.Control {
	r.t.Helper()
	table, err := r.ledger.Table(r.t.Context(), r.options.Table)
	check(r.t, err)
	found := map[int]ledger.Control{}
	for _, e := range table.Sorted() {
		if e.Control == nil {
			r.t.Errorf("%s has no control", e.Partition)
			continue
		}
		found[civil.DateOf(time.Now()).DaysSince(e.Partition)] = *e.Control
	}
	return found
}

// What is wrong with an answer is seen by the totals, mended by asking again where that helps, and
// named where it doesn't.
func TestRowsAreHeldAgainstTotals(t *testing.T) {
	slow.Test(t)
	const days = 3
	today := civil.Date{Year: 2000, Month: 1, Day: 1}
	day := func(ago int) string { return today.AddDays(-ago).String() }
	all := []ledger.ControlState{ledger.Reconciled, ledger.Reconciled, ledger.Reconciled}
	unchecked := []ledger.ControlState{ledger.Unchecked, ledger.Unchecked, ledger.Unchecked}
	differ := []ledger.ControlState{ledger.Unreconciled, ledger.Unreconciled, ledger.Unreconciled}
	one := []ledger.ControlState{ledger.Reconciled, ledger.Unreconciled, ledger.Reconciled}
	for name, c := range map[string]struct {
		change   func(*rig, *liar)
		want     []ledger.ControlState // of yesterday and the days before it; nil: nothing was published
		says     string                // of the second day
		requests int
		failed   int
	}{
		"an honest service": {func(*rig, *liar) {}, all, "", 2, 0},
		"rows lack an app": {func(r *rig, l *liar) {
			l.rows = func(_ int, _ url.Values, a [][]string) [][]string {
				return without(a, "app_token", r.server.Apps()[1].Token)
			}
		}, differ, "missing in app_token APP1, os_name", 6, 0},
		"rows lack an app once": {func(r *rig, l *liar) {
			l.rows = func(nth int, _ url.Values, a [][]string) [][]string {
				return without(a, "app_token", map[int]string{1: r.server.Apps()[1].Token}[nth])
			}
		}, all, "", 4, 0},
		"totals lack an app once": {func(r *rig, l *liar) {
			l.totals = func(nth int, _ url.Values, a [][]string) [][]string {
				if nth == 1 {
					a[1][slices.Index(a[0], "installs")] = "7"
				}
				return a
			}
		}, all, "", 3, 0},
		"only the totals of the days are wrong": {func(_ *rig, l *liar) {
			l.totals = func(_ int, q url.Values, a [][]string) [][]string {
				if q.Get("dimensions") == "day" {
					for _, row := range a[1:] {
						row[slices.Index(a[0], "installs")] = "7"
					}
				}
				return a
			}
		}, differ, "in the rows; installs by app_token is the same in the service's totals as in the rows", 5, 0},
		"rows come twice": {func(_ *rig, l *liar) {
			l.rows = func(_ int, _ url.Values, a [][]string) [][]string { return append(a, a[len(a)/2]) }
		}, []ledger.ControlState{ledger.Reconciled, "", ledger.Reconciled}, "", 6, 1},
		"rows come twice that nothing vouches for": {func(r *rig, l *liar) {
			r.options.Query.Metrics = []string{"ecpi_all", "roas_d7"}
			l.rows = func(_ int, _ url.Values, a [][]string) [][]string { return append(a, a[len(a)/2]) }
		}, []ledger.ControlState{ledger.Unchecked, "", ledger.Unchecked}, "", 2, 1},
		"a row comes in two that add up": {func(_ *rig, l *liar) {
			l.rows = func(_ int, _ url.Values, a [][]string) [][]string {
				half := slices.Clone(a[1])
				for at := slices.Index(a[0], "installs"); at < len(half); at++ {
					half[at] = "0"
				}
				return append(a, half)
			}
		}, all, "", 2, 0},
		"a day is missing": {func(_ *rig, l *liar) {
			l.rows = func(_ int, _ url.Values, a [][]string) [][]string { return without(a, "day", day(2)) }
		}, one, ", 0 in the rows; missing in each app_token of 4", 5, 0},
		"two days are missing with one between them": {func(_ *rig, l *liar) {
			l.rows = func(_ int, _ url.Values, a [][]string) [][]string { return without(a, "day", day(1), day(3)) }
		}, []ledger.ControlState{ledger.Unreconciled, ledger.Reconciled, ledger.Unreconciled}, "", 5, 0},
		"a day has no total": {func(_ *rig, l *liar) {
			l.totals = func(_ int, _ url.Values, a [][]string) [][]string { return without(a, "day", day(2)) }
		}, one, "installs nothing by the service's total", 5, 0},
		"there are no totals": {func(_ *rig, l *liar) {
			l.totals = func(int, url.Values, [][]string) [][]string { return nil }
		}, differ, "installs nothing by the service's total", 5, 0},
		"a total of a day that isn't asked for": {func(_ *rig, l *liar) {
			l.totals = func(_ int, _ url.Values, a [][]string) [][]string {
				a[1][slices.Index(a[0], "day")] = "1999-01-01"
				return a
			}
		}, differ, "ask for totals", 3, 0},
		"totals can't be had": {func(_ *rig, l *liar) {
			l.refuse = func(q url.Values) int { return map[bool]int{false: 503}[isRows(q)] }
		}, differ, "ask for totals: csv_report 1999-12-29:1999-12-31: 3 attempts over ", 7, 0},
		"totals take too long": {func(_ *rig, l *liar) {
			l.refuse = func(q url.Values) int { return map[bool]int{false: 504}[isRows(q)] }
		}, differ, "504 Gateway Timeout: the query takes too long", 9, 0},
		"long rows of totals take too long": {func(_ *rig, l *liar) {
			l.refuse = func(q url.Values) int {
				first, last, _ := strings.Cut(q.Get("date_period"), ":")
				return map[bool]int{true: 504}[!isRows(q) && first != last]
			}
		}, all, "", 8, 0},
		"totals of many apps take too long": {func(r *rig, l *liar) {
			var tokens []string
			for _, app := range r.server.Apps() {
				tokens = append(tokens, app.Token)
			}
			r.options.Query.Filters = map[string][]string{"app_token__in": tokens}
			l.refuse = func(q url.Values) int {
				return map[bool]int{true: 504}[!isRows(q) && strings.Count(q.Get("app_token__in"), ",") > 1]
			}
		}, all, "", 17, 0},
		"fail": {func(_ *rig, l *liar) {
			l.rows = func(_ int, _ url.Values, a [][]string) [][]string { return without(a, "day", day(2)) }
		}, []ledger.ControlState{ledger.Reconciled, "", ledger.Reconciled}, "", 5, 1},
		"fail without totals": {func(_ *rig, l *liar) {
			l.refuse = func(q url.Values) int { return map[bool]int{false: 503}[isRows(q)] }
		}, nil, "", 7, 3},
		"off": {func(r *rig, _ *liar) { r.options.Reconcile = report.ReconcileOff }, unchecked,
			"reconcile is off", 1, 0},
		"a filter by metric": {func(r *rig,
			_ *liar) {
			r.options.Query.Filters = map[string][]string{"installs__gt": {"1"}}
		}, unchecked, "the filter installs__gt", 1, 0},
		"fully mature": {func(r *rig,
			_ *liar) {
			r.options.Query.Parameters["cohort_maturity"] = []string{"fully_mature"}
		}, unchecked,
			"fully_mature leaves rows out", 1, 0},
		"nothing adds up": {func(r *rig, _ *liar) {
			r.options.Query.Metrics = []string{"ecpi_all", "daus",
				"assisted_installs"}
		}, unchecked,
			"none of its metrics adds up", 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 4, Rate: -1, Readings: documented()})
				defer r.close()
				l := &liar{RoundTripper: r.client.HTTP.Transport}
				r.client.HTTP = &http.Client{Transport: l}
				r.client.Attempts, r.client.InFlight = 3, 2
				r.options.Events = nil
				if strings.HasPrefix(name, "fail") {
					r.options.Reconcile = report.ReconcileFail
				}
				c.change(r, l)
				r.start(days)
				res := r.run(t.Context())
				found := r.controls()
				for ago := 1; ago <= days; ago++ {
					var want ledger.ControlState
					if c.want != nil {
						want = c.want[ago-1]
					}
					if found[ago].State != want {
						t.Errorf("%s is %q, want %q: %s", day(ago), found[ago].State, want, found[ago].Say())
					}
				}
				says := strings.ReplaceAll(c.says, "APP1", r.server.Apps()[1].Token)
				if got := found[2].Say(); !strings.Contains(got, says) || says == "" && got != "" {
					t.Errorf("it says %q, want %q", got, says)
				}
				if n := len(l.asked); n != c.requests {
					t.Errorf("%d requests, want %d", n, c.requests)
				}
				if res.Outcome.Failed != c.failed || c.failed == 0 && len(res.Errs) > 0 {
					t.Errorf("%+v: %v", res.Outcome, res.Errs)
				}
				if said := fmt.Sprint(res.Errs); name == "fail without totals" &&
					(!strings.Contains(said, "the service's totals couldn't be had: ask for") ||
						strings.Contains(said, "differ")) {
					t.Errorf("it fails with %s", said)
				}
				unreconciled := 0
				for _, control := range found {
					if control.State == ledger.Unreconciled {
						unreconciled++
					}
				}
				if res.Outcome.Unreconciled != unreconciled {
					t.Errorf("%d unreconciled are counted, and %d recorded", res.Outcome.Unreconciled, unreconciled)
				}
				if left := spooled(t, r.spool); len(left) > 0 {
					t.Errorf("left in the spool: %v", left)
				}
			})
		})
	}
}

// A period that isn't over may count on between two answers. What differs is recorded, and is no
// alarm.
func TestAnUnfinishedPeriodMayMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Readings: documented()})
		defer r.close()
		time.Sleep(6 * time.Hour)
		l := &liar{RoundTripper: r.client.HTTP.Transport}
		l.totals = func(_ int, _ url.Values, a [][]string) [][]string {
			a[len(a)-1][slices.Index(a[0], "installs")] = "99999"
			return a
		}
		r.client.HTTP = &http.Client{Transport: l}
		r.options.Events, r.options.Rules.Today = nil, true
		r.start(2)
		res := r.ok()
		found := r.controls()
		if found[0].State != ledger.Unchecked || len(found[0].Differences) != 1 ||
			found[1].State != ledger.Reconciled || res.Outcome.Unreconciled > 0 {
			t.Errorf("%+v %+v", found, res.Outcome)
		}
	})
}

// A table without periods is held against the sum over years, and one by hour against its days.
func TestTotalsOfOtherTables(t *testing.T) {
	slow.Test(t)
	for name, c := range map[string]struct {
		dimensions []string
		period     refresh.Period
		asked      string
	}{
		"whole": {[]string{"app_token", "campaign"}, refresh.Whole, "year"},
		"hour":  {[]string{"hour", "day", "app_token", "campaign"}, refresh.Day, "day"},
		"week":  {[]string{"week", "month", "app_token", "campaign"}, refresh.Week, "week"},
		"month": {[]string{"month", "campaign"}, refresh.Month, "month"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Readings: []string{"week-start=sunday"}})
				defer r.close()
				time.Sleep(50 * 24 * time.Hour)
				l := &liar{RoundTripper: r.client.HTTP.Transport}
				r.client.HTTP = &http.Client{Transport: l}
				r.options.Query.Dimensions, r.options.Rules.Period = c.dimensions, c.period
				r.start(40)
				if c.period == refresh.Whole {
					r.options.Start = func(today civil.Date) civil.Date { return today.AddDays(-80) }
				}
				res := r.ok()
				for _, control := range r.controls() {
					if control.State != ledger.Reconciled {
						t.Errorf("%s: %s", control.State, control.Say())
					}
				}
				if res.Outcome.Rows == 0 || res.Outcome.Unreconciled > 0 {
					t.Errorf("%+v", res.Outcome)
				}
				if !slices.ContainsFunc(l.asked, func(q url.Values) bool { return q.Get("dimensions") == c.asked }) {
					t.Errorf("no totals by %s were asked for: %v", c.asked, l.asked)
				}
			})
		})
	}
}
