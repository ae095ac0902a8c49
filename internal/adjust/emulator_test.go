package adjust

import (
	"context"
	stdcsv "encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// withEmulator makes a client of a service that only takes the right token.
func withEmulator(t *testing.T, o emulator.Options, edit func(*Options)) (*Client, *emulator.Server) {
	t.Helper()
	o.Token, o.Apps, o.Days = secretToken, 3, 20
	s, err := emulator.New(emutest.With(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c, _ := open(t, play(csv), func(co *Options) {
		co.HTTP = s.Client()
		if edit != nil {
			edit(co)
		}
	})
	return c, s
}

func lastWeek() ReportQuery {
	q := query()
	q.Parameters["attribution_types"] = []string{"click", "impression", "engaged_ad"}
	q.Dimensions, q.Metrics = []string{"day", "app_token", "campaign"}, []string{"installs", "network_cost"}
	q.Until = civil.DateOf(time.Now())
	q.From = q.Until.AddDays(-7)
	return q
}

// The emulator, written from the document alone, understands this client, and both agree on every
// fault.
func TestEmulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := withEmulator(t, emulator.Options{Readings: []string{"report-header=asked", "report-form=plain",
			"more-columns=none"}}, nil)
		want, _, err := fetch(t.Context(), c, lastWeek())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := stdcsv.NewReader(strings.NewReader(want)).ReadAll()
		if err != nil || len(rows) < 8 || !slices.Equal(rows[0], []string{"day", "app_token", "campaign", "installs",
			"network_cost"}) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		days := map[string]bool{}
		for _, row := range rows[1:] {
			days[row[0]] = true
		}
		if q := lastWeek(); len(days) != 7 || !days[q.From.String()] || !days[q.Until.AddDays(-1).String()] {
			t.Errorf("days %v for [%s, %s)", days, q.From, q.Until)
		}
		for _, f := range []emulator.Fault{
			{Kind: emulator.FaultStatus, Status: 429}, {Kind: emulator.FaultStatus, Status: 429, RetryAfter: 9},
			{Kind: emulator.FaultStatus, Status: 503}, {Kind: emulator.FaultStatus, Status: 504},
			{Kind: emulator.FaultSlow, Delay: 6 * time.Minute},
			{Kind: emulator.FaultCut, AfterBytes: 200}, {Kind: emulator.FaultReset}, {Kind: emulator.FaultHTML},
			{Kind: emulator.FaultEmpty},
		} {
			s.SetFaults([]emulator.Fault{f})
			got, a, err := fetch(t.Context(), c, lastWeek())
			if err != nil || got != want || a.Attempts != 2 {
				t.Errorf("%s: %d bytes of %d, %+v, %v", f.String(), len(got), len(want), a, err)
			}
		}
	})
}

func TestEmulatorRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := withEmulator(t, emulator.Options{MaxPairs: 9, Readings: []string{"error-body=model",
			"report-empty=204"}}, nil)
		q := lastWeek()
		q.Splittable = true
		if _, _, err := fetch(t.Context(), c, q); !errors.Is(err, ErrTooSlow) {
			t.Errorf("too wide: %v", err)
		}
		q.From = q.Until.AddDays(-1)
		if got, _, err := fetch(t.Context(), c, q); err != nil || got == "" {
			t.Errorf("one day: %v", err)
		}
		q.Metrics = []string{"nonsense"}
		var e *Error
		if _, _, err := fetch(t.Context(), c, q); !errors.As(err, &e) || e.Status != 400 || e.Metric != "nonsense" ||
			e.Attempts != 1 {
			t.Errorf("an unknown metric: %v", err)
		}
		q.Metrics = []string{"installs"}
		q.From, q.Until = date(1990, 1, 1), date(1990, 1, 3)
		if a, err := c.CSVReport(t.Context(), q, func(io.Reader) error { return nil }); err != nil || !a.Empty {
			t.Errorf("long ago: %+v, %v", a, err)
		}
		for name, edit := range map[string]func(*Options){
			"token": func(o *Options) { o.Token = &fixed{tokens: []string{"wrong"}} }, "account": func(
				o *Options) {
				o.AccountID = "1"
			}} {
			c, _ := withEmulator(t, emulator.Options{}, edit)
			if _, _, err := fetch(t.Context(), c, lastWeek()); !errors.Is(err, ErrAuth) {
				t.Errorf("wrong %s: %v", name, err)
			}
		}
		c, _ = withEmulator(t, emulator.Options{}, func(o *Options) { o.AccountID = emulator.AccountID })
		if _, _, err := fetch(t.Context(), c, lastWeek()); err != nil {
			t.Error(err)
		}
	})
}

func TestEmulatorEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := withEmulator(t, emulator.Options{}, nil)
		all, err := c.Events(t.Context(), EventsQuery{})
		if err != nil || len(all) == 0 {
			t.Fatalf("%d events, %v", len(all), err)
		}
		app := s.Apps()[0].Token
		some, err := c.Events(t.Context(), EventsQuery{AppTokens: []string{app}, TokensMapping: true})
		if err != nil || len(some) == 0 {
			t.Fatalf("%d events, %v", len(some), err)
		}
		for _, e := range some {
			if e.ID == "" || e.Name == "" || !slices.Contains(e.AppTokens, app) || len(e.TokensByApp[app]) == 0 ||
				len(e.AppTokens) != 1 || len(e.TokensByApp) != 1 {
				t.Errorf("event %+v", e)
			}
		}
		none, err := c.Events(t.Context(), EventsQuery{Contains: "no such event"})
		if len(none) > 0 || err != nil {
			t.Errorf("%v, %v", none, err)
		}
	})
}

// The emulator takes every parameter that this client can send, in every way of saying it.
func TestEmulatorParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := withEmulator(t, emulator.Options{}, nil)
		for name, tt := range parameterCases() {
			q := lastWeek()
			q.Dimensions = []string{"day", "app"}
			tt.edit(&q)
			if q.DatePeriod == "" {
				q.From, q.Until = lastWeek().From, lastWeek().Until
			}
			for _, unknown := range []string{"app_token__in", "x__in", "x__gt", "level__up_events__gte"} {
				delete(q.Filters, unknown) // the emulator refuses apps and metrics that it doesn't have
			}
			if !slices.Contains(q.Dimensions, "day") { // the order in one of the cases names it
				q.Sort = nil
			}
			if _, _, err := fetch(t.Context(), c, q); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestEmulatorFiltersData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := withEmulator(t, emulator.Options{Readings: []string{"app-without-data=none"}}, nil)
		got, err := c.FiltersData(t.Context(), []string{"overview_metrics", "apps"})
		if err != nil || len(got) != 2 || len(got["apps"]) != len(s.Apps()) {
			t.Fatalf("%v, %v", got, err)
		}
		i := slices.IndexFunc(got["overview_metrics"], func(f Filter) bool { return f.ID == "installs" })
		if i < 0 || got["overview_metrics"][i].Formatting != "integer" ||
			got["overview_metrics"][i].Name != "Installs" {
			t.Errorf("installs at %d: %v", i, got["overview_metrics"])
		}
		var e *Error
		if _, err := c.FiltersData(t.Context(), []string{"nonsense"}); !errors.As(err, &e) || e.Status != 400 {
			t.Errorf("an unknown list: %v", err)
		}
	})
}

// A service that allows less than is asked for slows the client down, and no request fails.
func TestEmulatorRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := withEmulator(t, emulator.Options{Rate: 2, Burst: 4}, func(o *Options) { o.Rate = 20; o.Attempts = 20 })
		m := &Meter{}
		c = c.Metered(m)
		errs := make(chan error)
		for range 60 {
			go func() { _, err := c.Events(context.WithoutCancel(t.Context()), EventsQuery{}); errs <- err }()
		}
		for range 60 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := m.Retries.Load(); n == 0 || n > 120 {
			t.Errorf("%d retries for 60 requests", n)
		}
	})
}
