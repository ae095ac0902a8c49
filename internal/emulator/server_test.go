package emulator_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

const oneDay = "/reports-service/csv_report?dimensions=day,app,campaign&metrics=installs,cost&date_period=yesterday"

// fetch reads a whole answer through a client; a transport error, in the head or the body, comes
// back as err.

func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	queries := []string{
		"csv_report?dimensions=hour,app,campaign,country_code" +
			"&metrics=installs,network_cost,revenue_total_d3,purchase_revenue,daus&date_period=-5d:-1d",
		"csv_report?dimensions=week,partner_name&metrics=ecpi,roas_d7,retention_rate_d1&date_period=-12d:-1d",
		"events?tokens_mapping=true",
	}
	a, b, other := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3}),
		emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3}),
		emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Seed: 8})
	for d := 12; d > 0; d -= 2 { // b's days are touched one by one, out of order, a few apps at a time
		app := b.Apps()[d%3].Token
		emutest.Get(t, b, fmt.Sprintf("csv_report?dimensions=day&metrics=installs&date_period=-%dd:-%dd"+
			"&app_token__in=%s", d, d, app), 200)
	}
	for i, q := range queries {
		want := emutest.Get(t, a, q, 200)
		if got := emutest.Get(t, b, queries[i], 200); got != want {
			t.Errorf("%s: another order of touching gives other bytes", q)
		}
		if got := emutest.Get(t, a, q, 200); got != want {
			t.Errorf("%s: the second answer differs", q)
		}
		if emutest.Get(t, other, q, 200) == want {
			t.Errorf("%s: another seed gives the same bytes", q)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s, calm := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3}),
		emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	var wg sync.WaitGroup
	for n := range 24 {
		wg.Go(func() {
			q := fmt.Sprintf("csv_report?dimensions=day,app,campaign&metrics=installs,cost,revenue_total_d7"+
				"&date_period=-%dd:-%dd", n%12+3, n%12)
			if emutest.Ask(s, q).Body.String() != emutest.Ask(calm, q).Body.String() {
				t.Errorf("%s: two servers disagree", q)
			}
		})
	}
	wg.Wait()
	if n := len(s.Requests()); n != 24 {
		t.Errorf("%d requests logged, want 24", n)
	}
}

func TestInsideSynctest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emulator.Options{Apps: 2, Days: 5, Latency: 90 * time.Second,
			Faults: []emulator.Fault{{Nth: 2, Kind: emulator.FaultSlow, Delay: time.Hour}}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for i, want := range []time.Duration{90 * time.Second, 2*90*time.Second + time.Hour} {
			resp, body, err := emutest.Fetch(s.Client(), "https://any.host.example"+oneDay, "x")
			if err != nil || resp.StatusCode != 200 || !strings.HasPrefix(string(body),
				"day,app,campaign,installs,cost\n1999-12-31,") {
				t.Fatalf("answer %d: %v %.100q %v", i, resp, body, err)
			}
			if got := time.Since(start); got != want {
				t.Errorf("answer %d after %v, want exactly %v", i, got, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // shorter than the latency
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x"+oneDay, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := s.Client().Do(r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that gives up: %v, %v", resp, err)
			_ = resp.Body.Close()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if resp, _, err := emutest.Fetch(s.Client(), "http://x"+oneDay, "x"); err == nil {
			t.Errorf("a closed server answers %s", resp.Status)
		}
	})
}

func TestTokenBucket(t *testing.T) {
	for _, by := range []string{"address", "token"} {
		t.Run(by, func(t *testing.T) { testTokenBucket(t, by) })
	}
}

func testTokenBucket(t *testing.T, by string) {
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, Readings: []string{"rate-by=" + by}})
		if err != nil {
			t.Fatal(err)
		}
		statuses := func(n int, token string) map[int]int {
			got := map[int]int{}
			for range n {
				resp, body, err := emutest.Fetch(s.Client(), "http://x/reports-service/events", token)
				if err != nil {
					t.Fatal(err)
				}
				got[resp.StatusCode]++
				if code, _ := "", ""; resp.StatusCode == 429 {
					code, _ = emutest.Desc(t, bytes.NewReader(body))
					if code != "request_error" || resp.Header.Get("Retry-After") != "1" {
						t.Fatalf("429 with %s, Retry-After %q", body, resp.Header.Get("Retry-After"))
					}
				}
			}
			return got
		}
		if got := statuses(130, "a"); got[200] != 100 || got[429] != 30 {
			t.Errorf("burst: %v", got)
		}
		if got := statuses(20, "b"); (got[200] == 20) != (by == "token") {
			t.Errorf("by %s, another token from there: %v", by, got)
		}
		if got := statusFrom(s, "192.0.2.7:4711", "c"); got != 200 {
			t.Errorf("another token from elsewhere: %d", got)
		}
		if got := statusFrom(s, "192.0.2.7:4712", "a"); (got == 200) != (by == "address") {
			t.Errorf("by %s, the first token from elsewhere: %d", by, got)
		}
		limited := 0
		for port := range 120 {
			if statusFrom(s, fmt.Sprint("192.0.2.9:", 5000+port), fmt.Sprint("user ", port)) == 429 {
				limited++
			}
		}
		if want := map[string]int{"address": 20}[by]; limited != want {
			t.Errorf("by %s, 120 users of one address: %d are limited, want %d", by, limited, want)
		}
		if r, _, err := emutest.Fetch(s.Client(), "http://x/_emulator/requests", "a"); err != nil ||
			r.StatusCode != 200 {
			t.Errorf("an admin call is limited: %v, %v", r, err)
		}
		time.Sleep(time.Second)
		if got := statuses(60, "a"); got[200] != 50 {
			t.Errorf("a second later: %v", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func statusFrom(s *emulator.Server, address, token string) int {
	r := httptest.NewRequest(http.MethodGet, "/reports-service/events", nil)
	r.RemoteAddr = address
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code
}

func TestCodings(t *testing.T) {
	t.Parallel()
	for choice, codings := range map[string]map[string]string{ // by what the client accepts
		"gzip":     {"zstd, gzip": "gzip", "gzip": "gzip", "zstd": "", "": ""},
		"zstd":     {"zstd, gzip": "zstd", "gzip": "gzip", "zstd;q=0, gzip": "gzip", "zstd": "zstd", "": ""},
		"identity": {"zstd, gzip": "", "": ""},
	} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Readings: []string{"coding=" + choice}})
		plain := ""
		for _, accepted := range slices.Sorted(maps.Keys(codings)) { // nothing first
			r := httptest.NewRequest(http.MethodGet, oneDay, nil)
			r.Header.Set("Authorization", "Bearer x")
			r.Header.Set("Accept-Encoding", accepted)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			coding := w.Header().Get("Content-Encoding")
			var unpacked io.Reader = w.Body
			var err error
			switch coding {
			case "gzip":
				unpacked, err = gzip.NewReader(w.Body)
			case "zstd":
				unpacked, err = zstd.NewReader(w.Body)
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(unpacked)
			if accepted == "" {
				plain = string(text)
			}
			if coding != codings[accepted] || err != nil || len(text) == 0 || string(text) != plain {
				t.Errorf("%s: of %q: %q, %d bytes, want %q, %d bytes; %v", choice, accepted, coding, len(text),
					codings[accepted], len(plain), err)
			}
		}
	}
}

func TestGzipOnlyWhenAccepted(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	for _, path := range []string{oneDay, "/reports-service/events"} {
		resp, unzipped, err := emutest.Fetch(s.Client(), "http://x"+path, "x")
		if err != nil || !resp.Uncompressed || resp.ContentLength != -1 ||
			resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: with gzip accepted: uncompressed %v, length %d, %v", path, resp.Uncompressed,
				resp.ContentLength, err)
		}
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("Accept-Encoding", "br, gzip;q=0")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Header().Get("Content-Encoding") != "" || w.Header().Get("Vary") != "Accept-Encoding" ||
			w.Body.String() != string(unzipped) {
			t.Errorf("%s: without gzip: encoding %q", path, w.Header().Get("Content-Encoding"))
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	list := func(query string) []map[string]any {
		var out []map[string]any
		if err := json.Unmarshal([]byte(emutest.Get(t, s, "events?"+query, 200)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, unknown := range []string{"unknown=1", "events__in=purchase"} {
		emutest.Get(t, s, "events?"+unknown, 400)
	}
	all := list("")
	sections, slugs, shared, mapped := map[string]bool{}, map[string]bool{}, 0, 0
	for _, e := range all {
		for _, field := range []string{"id", "name", "short_name", "section", "formatting", "description", "app_token",
			"tokens", "is_skad_event"} {
			if _, ok := e[field]; !ok {
				t.Errorf("%v has no %s", e["id"], field)
			}
		}
		if _, ok := e["app_token_x_event_tokens_mapping"]; ok {
			t.Errorf("%v has a mapping that nobody asked for", e["id"])
		}
		sections[e["section"].(string)], slugs[e["id"].(string)] = true, true
		if len(e["app_token"].([]any)) > 1 {
			shared++
		}
	}
	for _, section := range []string{"conversion", "fraud", "cost", "revenue", "retention", "events",
		"conversion_events", "installs", "conversion_values"} {
		if !sections[section] {
			t.Errorf("no record in section %s", section)
		}
	}
	if shared < 5 || !slugs["purchase"] || !slugs["purchase_completed"] || !slugs["trial_d7"] {
		t.Errorf("%d shared names, slugs %v", shared, slugs)
	}
	if got := list("events__contains=PURCHASE"); len(got) < 4 {
		t.Errorf("events__contains=PURCHASE gives %d records", len(got))
	}
	if got := list("events__contains=purchase_completed"); len(got) != 1 || got[0]["name"] != "purchase completed" {
		t.Errorf("the key purchase_completed gives %v", got)
	}
	if body := emutest.Get(t, s, "events?events__contains=nosuchevent", 204); body != "" {
		t.Errorf("204 with %q", body)
	}
	emutest.Get(t, s, "events?tokens_mapping=maybe", 400)
	app := s.Apps()[4]
	one := list("tokens_mapping=true&app_token__in=" + app.Token)
	if len(one) != len(app.Events) {
		t.Errorf("app %s has %d events, /events lists %d", app.Token, len(app.Events), len(one))
	}
	for _, e := range one {
		mapping := e["app_token_x_event_tokens_mapping"].(map[string]any)
		if tokens := mapping[app.Token].([]any); len(mapping) != 1 || len(tokens) != len(e["tokens"].([]any)) {
			t.Errorf("%v: mapping %v, tokens %v", e["id"], mapping, e["tokens"])
		}
		mapped++
		slug := e["id"].(string)
		metrics := slug + "_events," + slug + "_revenue," + slug + "_w1_events_cohort"
		a := emutest.Report(t, s, "day", metrics, "date_period=-9d:-1d&app_token__in="+app.Token)
		if got := strings.Join(a.Header, ","); got != "day,"+metrics {
			t.Errorf("header %q", got)
		}
		if a.Sum(t, slug+"_events") == 0 {
			t.Errorf("%s never happens in app %s", slug, app.Token)
		}
	}
	if mapped == 0 {
		t.Error("no event was looked at")
	}
	last := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 11})
	if !slugs["farewell_gift"] || strings.Contains(emutest.Get(t, last, "events", 200), "farewell_gift") {
		t.Error("farewell_gift isn't the twelfth app's alone")
	}
}

func TestEveryEventFamilyOfEveryEvent(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Days: 1})
	for _, rec := range facts.New(7, 12, 0, facts.Hostile).Account().Catalog.Records {
		var slugs []string
		for _, m := range metrics.NewGlossary(nil).All() {
			if strings.HasPrefix(m.Slug, "{e}") {
				slugs = append(slugs, strings.NewReplacer("{e}", rec.ID, "{p}", "m1").Replace(m.Slug))
			}
		}
		a := emutest.Report(t, s, "os_name", strings.Join(slugs, ","), "date_period=today")
		if len(a.Header) != 1+len(slugs) || len(a.Rows) == 0 {
			t.Errorf("%s: %d columns, %d rows", rec.ID, len(a.Header), len(a.Rows))
		}
	}
}

func TestNothingIsLeftOnDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	emutest.Get(t, s, "csv_report?dimensions=day&metrics=installs&date_period=-50d:-1d", 200)
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("a running emulator shows %v in the temporary folder, %v", left, err)
	}
}

func TestBulkRows(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Bulk: 5000})
	body := emutest.Get(t, s, "csv_report?dimensions=day,hour,app,campaign&metrics=installs,cost,ctr"+
		"&date_period=2026-01-01:2026-01-07", 200)
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || len(rows) != 5001 || strings.Join(rows[0], ",") != "day,hour,app,campaign,installs,cost,ctr" {
		t.Fatalf("%d lines, header %q, %v", len(rows), rows[0], err)
	}
	days := map[string]int{}
	for i, r := range rows[1:] {
		days[r[0]]++
		if i > 0 && r[1] < rows[i][1] || !strings.HasPrefix(r[1], r[0]+"T") {
			t.Fatalf("row %d: %q after %q", i, r, rows[i])
		}
	}
	for day, n := range days {
		if n < 5000/7 || n > 5000/7+1 {
			t.Errorf("%s has %d rows", day, n)
		}
	}
	if len(days) != 7 || days["2026-01-07"] == 0 {
		t.Errorf("days %v", days)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []emulator.Options{{Apps: -1}, {Apps: 1001}, {Days: -1}, {Bulk: -1}, {MaxPairs: -1}, {Burst: -1},
		{Latency: -1}, {Faults: []emulator.Fault{{Kind: "fire"}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultStatus, Status: 503, RetryAfter: -1}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultStatus, Status: 399}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultStatus, Status: 600}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultLost, Status: 200}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultCut, AfterBytes: -1}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultSlow, Delay: -1}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultSlow, MinDays: -1}}},
		{Faults: []emulator.Fault{{Kind: emulator.FaultDrift, Drift: "away"}}}} {
		if s, err := emulator.New(o); err == nil {
			t.Errorf("New(%+v) succeeded", o)
			_ = s.Close()
		}
	}
	for _, o := range []emulator.Options{{Apps: 1, Days: 1, Burst: 1, MaxPairs: 1, Bulk: 1, Latency: 1},
		{Apps: 1, Days: 2, Faults: []emulator.Fault{
			{Kind: emulator.FaultStatus, Status: 400}, {Kind: emulator.FaultStatus, Status: 599},
			{Kind: emulator.FaultLost}, {Kind: emulator.FaultLost, Status: 500},
			{Kind: emulator.FaultDrift, Drift: "rename"}, {Kind: emulator.FaultDrift, Drift: "missing"},
			{Kind: emulator.FaultDrift, Drift: "extra"},
			{Kind: emulator.FaultHTML}, {Kind: emulator.FaultEmpty}, {Kind: emulator.FaultReset},
			{Kind: emulator.FaultCut},
			{Kind: emulator.FaultSlow}}}} {
		s, err := emulator.New(o)
		if err != nil {
			t.Errorf("New(%+v): %v", o, err)
			continue
		}
		_ = s.Close()
	}
}

func TestGivenUpRequestsHarmNobody(t *testing.T) {
	t.Parallel()
	s, calm := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 6}),
		emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 6})
	const path = "/reports-service/csv_report?dimensions=hour,app,campaign,country_code" +
		"&metrics=installs,cost,roas_d7&date_period=-6d:-0d"
	_, want, err := emutest.Fetch(calm.Client(), "http://x"+path, "x")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, _, err := emutest.Fetch(calm.Client(), "http://x"+path, "x"); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)
	gaveUp := 0
	for n := range 40 { // at every stage: making facts, querying, reading rows
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*whole/40)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer x")
		if resp, err := s.Client().Do(r); err != nil {
			gaveUp++
		} else {
			if _, err := io.CopyN(io.Discard, resp.Body, int64(n)*100); err != nil {
				gaveUp++
			}
			_ = resp.Body.Close() // before its end: the server's writes fail
		}
		cancel()
	}
	for range 15 { // every connection is used again
		if _, got, err := emutest.Fetch(s.Client(), "http://x"+path, "x"); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("after %d requests given up: %d bytes, want %d; %v", gaveUp, len(got), len(want), err)
		}
	}
	if gaveUp < 5 {
		t.Errorf("only %d requests were given up: the test shows little", gaveUp)
	}
}

func TestListOfEngagementsIsAsLongAsItIsAskedFor(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 20, Rate: -1})
	for query, rows := range map[string]int{"?days=2&per_day=3": 2 * 2 * 3, "?days=3&per_day=1": 2 * 3, "": 2 * 7 * 10,
		"?days=0": 0, "?per_day=x": 0} {
		r := httptest.NewRequest(http.MethodGet, "/_emulator/engagements"+query, nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 != (rows == 0) {
			t.Errorf("%s: %d %.200s", query, w.Code, w.Body)
		} else if got := strings.Count(w.Body.String(), "\n") - 1; rows > 0 &&
			(got > rows || got < rows/2) { // today's last ones are still to come
			t.Errorf("%s: %d rows, want about %d", query, got, rows)
		}
	}
}
