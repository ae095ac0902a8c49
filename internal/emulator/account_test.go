package emulator_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// eventsOf is what /events says of the account, by slug.
func eventsOf(t *testing.T, s *emulator.Server) map[string]facts.Event {
	t.Helper()
	var list []facts.Event
	if err := json.Unmarshal([]byte(emutest.Get(t, s, "events?tokens_mapping=true", 200)), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]facts.Event{}
	for _, e := range list {
		out[e.ID] = e
	}
	return out
}

// adminGet asks an admin call.
func adminGet(t *testing.T, s *emulator.Server, call string, status int) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/_emulator/"+call, nil)
	r.RemoteAddr = "127.0.0.1:1"
	if s.ServeHTTP(w, r); w.Code != status {
		t.Fatalf("%s: status %d, want %d: %.300s", call, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// A declared app and its events are in reports at once, take spend and sharing, and come back with
// a kept file.
func TestDeclaredAppIsReported(t *testing.T) {
	t.Parallel()
	o := emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 20, Rate: -1, DB: filepath.Join(t.TempDir(), "facts.db")}
	s, stop := emutest.Start(t, o)
	if said := emutest.Get(t, s, "csv_report?dimensions=day&metrics=sign_up__events&date_period=-19d:-0d",
		400); !strings.Contains(said, "event doesn't exist") {
		t.Error(said)
	}
	app := emutest.MakeApp(t, s, "Paper \"Boats\", 2", "com.example.boats")
	tokens := emutest.MakeEvents(t, s, app, "Sign up!", "Sign Up ", "Purchase", "игра")
	old := s.Apps()[1].Token
	tokens = append(tokens, emutest.MakeEvents(t, s, old, "Sign up!")...)
	s.Shift(24 * time.Hour)

	see := func(when string) string {
		events := eventsOf(t, s)
		for slug, want := range map[string]string{"sign_up_": app + " " + tokens[0] + " " + tokens[1] + " " + old +
			" " + tokens[4],
			"event_" + tokens[3]: app + " " + tokens[3]} {
			e := events[slug]
			got := []string{}
			for _, a := range e.AppToken {
				got = append(append(got, a), e.Mapping[a]...)
			}
			if strings.Join(got, " ") != want || e.Name != map[bool]string{true: "Sign up!",
				false: "игра"}[slug == "sign_up_"] {
				t.Errorf("%s: event %s is %+v, want %s", when, slug, e, want)
			}
		}
		if p := events["purchase"]; len(p.AppToken) != 4 || p.AppToken[3] != app ||
			!slices.Equal(p.Mapping[app], tokens[2:3]) {
			t.Errorf("%s: purchase is %+v", when, p)
		}
		a := emutest.Report(t, s, "day,app_token,app",
			"installs,sign_up__events,sign_up__revenue,purchase_events,sign_up__d1_events_cohort",
			"date_period=-19d:-0d")
		var days []string
		for _, row := range a.Rows {
			if row[1] == app {
				days = append(days, row[0])
				if row[2] != "Paper \"Boats\", 2" || slices.Contains(row[3:], "0") {
					t.Errorf("%s: row %q", when, row)
				}
			}
		}
		if !slices.Equal(days, []string{"2026-03-13", "2026-03-14", "2026-03-15"}) {
			t.Errorf("%s: the app has rows on %q", when, days)
		}
		if got := emutest.Report(t, s, "store_id,store_type,os_name", "installs",
			"date_period=-1d:-0d&app_token__in="+app).Rows; len(got) != 1 ||
			got[0][0]+got[0][1]+got[0][2] != "com.example.boatsgoogle_playandroid" {
			t.Errorf("%s: stores %q", when, got)
		}
		if list := emutest.Get(t, s, "filters_data?required_filters=apps,event_metrics", 200); !strings.Contains(list,
			app) || !strings.Contains(list, "sign_up__revenue") {
			t.Errorf("%s: filters_data hasn't the app or its event", when)
		}
		return emutest.Get(t, s, "csv_report?dimensions=day,campaign,app,adgroup"+
			"&metrics=installs,cost,network_cost,sign_up__events,roas_d1&date_period=-19d:-0d", 200)
	}
	before := see("made")
	cost := func() int64 {
		return emutest.Report(t, s, "app", "click_cost", "date_period=2026-03-13:2026-03-13&app_token__in="+app).Sum(t,
			"click_cost")
	}
	withSpend := cost() + 7_250_000

	// Spend for an engagement of the app's first day.
	rows, err := csv.NewReader(strings.NewReader(adminGet(t, s, "engagements?days=20&per_day=3&app_token="+app,
		200))).ReadAll()
	if err != nil || strings.Join(rows[0], ",") != "cost_id,app,campaign,time" || len(rows) < 4 ||
		!strings.HasPrefix(rows[1][3], "2026-03-13T") || rows[1][1] != "Paper \"Boats\", 2" {
		t.Fatalf("engagements %q, %v", rows, err)
	}
	if w := emutest.PostCost(s, emutest.Cost("cpc", "usd", "7.25", rows[1][0], "t"), true); w.Code != 200 {
		t.Fatal(w.Code)
	}
	if got := cost(); got != withSpend {
		t.Errorf("with spend the cost of clicks is %d, want %d; spend %v", got, withSpend, s.Spend().States)
	}
	after := see("spent")
	if before == after {
		t.Error("no report shows the spend")
	}
	r := httptest.NewRequest(http.MethodPost,
		"/third_party_sharing?s2s=1&app_token="+app+"&gps_adid=00000000-0000-4000-8000-000000000001&sharing=disable",
		nil)
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 200 {
		t.Errorf("sharing: %d %s", w.Code, w.Body)
	}
	// Another name goes for all of the app's days.
	if again := emutest.MakeApp(t, s, "Paper Planes", "com.example.boats"); again != app {
		t.Errorf("renaming made the app %s", again)
	}
	emutest.Automate(t, s, "POST", "app/"+old, `{"name": "The Old One"}`, nil)
	names := emutest.Report(t, s, "app", "installs",
		"date_period=-19d:-0d&app__not_in=Sky%20Garden,Bakery%20Rush").Column(t, "installs")
	if len(names) != 2 || names["Paper Planes"] == "" || names["The Old One"] == "" {
		t.Errorf("after renaming, reports have %q", names)
	}
	if got := len(emutest.Report(t, s, "app", "installs",
		"date_period=-19d:-0d&app__starts_with=Paper%20%22").Rows); got != 0 {
		t.Errorf("a filter finds %d rows of the old name", got)
	}
	want := emutest.Get(t, s, "csv_report?dimensions=day,app,campaign"+
		"&metrics=installs,cost,sign_up__events,purchase_revenue&date_period=2026-02-23:2026-03-15", 200)
	stop()

	o.Now = func() time.Time { return emutest.Noon.Add(24 * time.Hour) }
	s, stop = emutest.Start(t, o)
	defer stop()
	if got := emutest.Get(t, s, "csv_report?dimensions=day,app,campaign"+
		"&metrics=installs,cost,sign_up__events,purchase_revenue&date_period=2026-02-23:2026-03-15", 200); got != want {
		t.Error("a kept file answers otherwise when opened again")
	}
	if got := cost(); got != withSpend || s.Spend().States["matched"] != 1 {
		t.Errorf("opened again: cost %d, want %d; spend %v", got, withSpend, s.Spend().States)
	}
	if next := emutest.MakeApp(t, s, "Third", "com.example.third"); next == app || s.Apps()[4].Token != next ||
		s.Apps()[4].FirstDay != facts.DayOf(emutest.Noon) {
		t.Errorf("the next app is %+v", s.Apps()[4])
	}
}

// What was there before keeps its numbers, whatever is declared besides.
func TestDeclaringChangesNothingElse(t *testing.T) {
	t.Parallel()
	o := emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 10}
	plain, s := emutest.Open(t, o), emutest.Open(t, o)
	for i := range 3 {
		app := emutest.MakeApp(t, s, fmt.Sprintf("New %d", i), fmt.Sprintf("com.example.new%d", i))
		emutest.MakeEvents(t, s, app, "Purchase", "Of its own")
	}
	var tokens []string
	for _, a := range plain.Apps() {
		tokens = append(tokens, a.Token)
	}
	const query = "csv_report?dimensions=day,app,campaign,country_code,adgroup" +
		"&metrics=installs,cost,network_cost,roas_d7,purchase_revenue,level_10_events&date_period=-9d:-0d" +
		"&app_token__in="
	if emutest.Get(t, s, query+strings.Join(tokens, ","), 200) != emutest.Get(t, plain, query+strings.Join(tokens, ","),
		200) {
		t.Error("the numbers of the apps that were there have changed")
	}
	// The order of making doesn't matter to an app's numbers.
	other := emutest.Open(t, o)
	app := emutest.MakeApp(t, other, "New 2", "com.example.new2")
	emutest.MakeEvents(t, other, app, "Of its own")
	const one = "csv_report?dimensions=day,app,campaign,adgroup&metrics=installs,cost,roas_d7,of_its_own_events" +
		"&date_period=-9d:-0d&app_token__in="
	if emutest.Get(t, s, one+app, 200) != emutest.Get(t, other, one+app, 200) {
		t.Error("an app's numbers depend on the apps made before it")
	}
}

// Apps, events and names come while reports are read: each answer is of one state of the account,
// and nothing is lost.
func TestDeclaringWhileReportsRun(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 6})
	var wg sync.WaitGroup
	const writers, each = 3, 4
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("com.example.a%d.b%d", n, i)
				app := emutest.MakeApp(t, s, "App "+id, id)
				emutest.MakeEvents(t, s, app, "shared one", "own "+id)
				if got := emutest.Report(t, s, "app_token", "shared_one_events",
					"date_period=-0d:-0d&app_token__in="+app); len(got.Rows) != 1 {
					t.Errorf("the app %s has %d rows right after it was made", app, len(got.Rows))
				}
				for e := range s.Engagements(emutest.Noon, emutest.Noon, 1) {
					emutest.PostCost(s, emutest.Cost("cpi", "usd", "1", e.CostID, "t"), true)
				}
			}
		})
		wg.Go(func() {
			for range each {
				emutest.Report(t, s, "app,day", "installs,cost,purchase_events", "date_period=-5d:-0d")
				eventsOf(t, s)
				emutest.Get(t, s, "filters_data?required_filters=apps,event_metrics,networks", 200)
				_ = s.Apps()
			}
		})
	}
	wg.Wait()
	if got := len(s.Apps()); got != 2+writers*each {
		t.Errorf("%d apps", got)
	}
	if e := eventsOf(t, s)["shared_one"]; len(e.AppToken) != writers*each || len(e.Tokens) != writers*each {
		t.Errorf("the shared event is %+v", e)
	}
}
