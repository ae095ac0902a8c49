package report_test

import (
	"net/http"
	"net/url"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
)

// Inside the lookback a partition is fetched once more only when its totals have moved; when the
// lookback is over, it is in any case. What moves in balance is seen only then.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 3, Rate: -1})
		defer r.close()
		r.options.Events, r.options.Probe = nil, true
		r.options.Query.Dimensions = []string{"day", "app_token", "network", "campaign"}
		r.options.Query.Metrics = []string{"installs", "clicks"}
		first := civil.DateOf(time.Now().UTC()).AddDays(-10)
		r.from(first)
		ago := func(days int) string { return civil.DateOf(time.Now().UTC()).AddDays(-days).String() }
		restate := func(x emulator.Restatement) {
			t.Helper()
			time.Sleep(time.Second)
			check(t, r.server.Restate(t.Context(), x))
			time.Sleep(time.Second)
		}
		night := func(what string, sleep time.Duration, written, unchanged, probed int) {
			t.Helper()
			time.Sleep(sleep)
			if o := r.ok().Outcome; o.Written != written || o.Unchanged != unchanged || o.Probed != probed {
				t.Errorf("%s: written %d, unchanged %d, probed %d; want %d, %d, %d", what, o.Written, o.Unchanged,
					o.Probed, written, unchanged, probed)
			}
		}
		const day = 24 * time.Hour
		time.Sleep(6 * time.Hour)
		night("the first one", 0, 10, 0, 0)
		night("nothing has moved; the lookback of one day is over", day, 1, 1, 2)
		night("once more in the same night", 0, 0, 0, 3)
		yesterday, err := civil.ParseDate(ago(1))
		check(t, err)
		check(t, os.Remove(r.files()[yesterday]))
		night("somebody has deleted yesterday", 0, 1, 0, 2)
		restate(emulator.Restatement{Day: ago(1), Metric: "installs", Factor: 2})
		night("yesterday has moved", 0, 1, 0, 2)
		restate(emulator.Restatement{Day: ago(1), Rename: map[string]string{"campaign": "Another name"}})
		night("names move in balance", 0, 0, 0, 3)
		if !r.differs(ago(1)) {
			t.Error("a balanced change was seen at once")
		}
		night("another night", day, 1, 1, 2)
		night("and another", day, 1, 1, 2)
		night("the lookback of the day with other names is over", day, 2, 0, 2)
		night("four nights were missed", 5*day, 5, 3, 0)
		r.equalsTruth(first, 10+9)
	})
}

// differs tells whether a day that is there has other campaigns than the service's.
func (r *rig) differs(day string) bool {
	r.t.Helper()
	d, err := civil.ParseDate(day)
	check(r.t, err)
	rows := map[string]int{}
	for _, row := range readParquet(r.t, r.files()[d]).rows {
		rows[row[3]]++
	}
	_, theirs := r.truth(d)
	for _, row := range theirs {
		rows[row[3]]--
	}
	for _, n := range rows {
		if n != 0 {
			return true
		}
	}
	return false
}

// Totals that can't be had, and jobs whose totals say nothing, spare no fetch.
func TestProbeWithoutTotals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rig, *liar)
		probed int
	}{
		"reconcile is off": {func(r *rig, _ *liar) { r.options.Reconcile = report.ReconcileOff }, 2},
		"the service is down": {func(_ *rig, l *liar) {
			l.refuse = func(q url.Values) int { return map[bool]int{false: 503}[isRows(q)] }
		}, 0},
		"a filter by a metric": {func(r *rig,
			_ *liar) {
			r.options.Query.Filters = map[string][]string{"installs__gt": {"0"}}
		}, 0},
		"nothing adds up": {func(r *rig, _ *liar) { r.options.Query.Metrics = []string{"ecpi_all"} }, 2},
		"no total is on record": {func(r *rig, _ *liar) {
			r.options.Reconcile, r.options.Query.Metrics = report.ReconcileOff, []string{"ecpi_all"}
		}, 0},
		"the lookback is whole": {func(r *rig, _ *liar) { r.options.Probe = false }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 3, Rate: -1, Readings: documented()})
				defer r.close()
				l := &liar{RoundTripper: r.client.HTTP.Transport}
				r.client.HTTP = &http.Client{Transport: l}
				r.client.Attempts = 2
				r.options.Events, r.options.Probe = nil, true
				r.options.Query.Dimensions = []string{"day", "app_token", "network", "campaign"}
				r.options.Query.Metrics = []string{"installs", "clicks"}
				r.from(civil.DateOf(time.Now().UTC()).AddDays(-10))
				if name != "the service is down" {
					c.change(r, l)
				}
				r.ok()
				c.change(r, l)
				time.Sleep(24 * time.Hour)
				if o := r.ok().Outcome; o.Probed != c.probed || o.Done()+o.HeldBack != 4 {
					t.Errorf("probed %d of %d, want %d of 4", o.Probed, o.Done()+o.HeldBack, c.probed)
				}
			})
		})
	}
}

// Within the lookback a day is fetched when a column of it becomes final, and when the lookback is
// over, also after missed nights.
func TestProbedDaysAreFetchedAtHorizons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1})
		defer r.close()
		r.options.Events, r.options.Probe, r.options.Rules.Lookback = nil, true, 14
		r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "campaign"},
			[]string{"installs", "retention_rate_d3"}
		r.options.Rules.Horizons = []int{3} // no total moves: only the horizons ask for a fetch
		time.Sleep(6 * time.Hour)
		day := civil.DateOf(time.Now()).AddDays(-1)
		r.from(day)
		var ages []int // of the day, at its fetches
		last := time.Time{}
		for range 18 {
			if night := civil.DateOf(time.Now()).DaysSince(day) - 1; night != 7 && night != 8 { // two nights are missed
				r.ok()
			}
			if e := r.record(day); !e.Fetched.Equal(last) {
				ages, last = append(ages, civil.DateOf(e.Fetched).DaysSince(day)-1), e.Fetched
			}
			time.Sleep(24 * time.Hour)
		}
		for _, age := range []int{0, 3, 9, 14} {
			if !slices.Contains(ages, age) {
				t.Errorf("fetched at the age of %d days, and not of %d", ages, age)
			}
		}
		if slices.Contains(ages, 15) || r.record(day).Finality != refresh.Final {
			t.Errorf("fetched at the age of %d days, and %s", ages, r.record(day).Finality)
		}
	})
}
