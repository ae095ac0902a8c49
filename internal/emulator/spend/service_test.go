package spend_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/spend"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// with changes one parameter; an empty value takes it away.
func with(name, value string) url.Values {
	v := emutest.Cost("cpi", "usd", "1.99", "abc123_company_1", "a tag")
	if value == "" {
		v.Del(name)
	} else {
		v[name] = []string{value}
	}
	return v
}

func TestCostParameters(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10})
	letters := func(n int, c string) string { return strings.Repeat(c, n) }
	for _, c := range []struct {
		name   string
		v      url.Values
		reason string // "": 200
	}{
		{"all is well", with("tag", "t"), ""},
		{"cpc", with("cost_type", "cpc"), ""}, {"cpe", with("cost_type", "cpe"), ""},
		{"cpm", with("cost_type", "cpm"), ""},
		{"no type", with("cost_type", ""), "cost_type: missing"},
		{"no currency", with("cost_currency", ""), "cost_currency: missing"},
		{"no amount", with("cost_amount", ""), "cost_amount: missing"},
		{"no ID", with("cost_id", ""), "cost_id: missing"},
		{"no tag", with("tag", ""), "tag: missing"},
		{"another type", with("cost_type", "cpa"), "cost_type: not cpc, cpi, cpe or cpm"},
		{"a type in capitals", with("cost_type", "CPI"), "cost_type: not cpc, cpi, cpe or cpm"},
		{"another currency", with("cost_currency", "zzz"), "cost_currency: not an ISO 4217 code in lower case"},
		{"gold", with("cost_currency", "xau"), "cost_currency: not an ISO 4217 code in lower case"},
		{"a currency that is no more", with("cost_currency", "dem"),
			"cost_currency: not an ISO 4217 code in lower case"},
		{"a currency in capitals", with("cost_currency", "USD"), "cost_currency: not an ISO 4217 code in lower case"},
		{"a young currency", with("cost_currency", "zwg"), ""},
		{"no cents", with("cost_amount", "2"), ""},
		{"nothing", with("cost_amount", "0"), ""},
		{"five decimals", with("cost_amount", "0.00001"), ""},
		{"six decimals", with("cost_amount", "0.000001"), "cost_amount: not a number of at most 5 decimals"},
		{"six decimals of nothing", with("cost_amount", "1.100000"), "cost_amount: not a number of at most 5 decimals"},
		{"nine digits", with("cost_amount", "999999999.99999"), ""},
		{"ten digits", with("cost_amount", "1000000000"), "cost_amount: not a number of at most 5 decimals"},
		{"below zero", with("cost_amount", "-1"), "cost_amount: not a number of at most 5 decimals"},
		{"an exponent", with("cost_amount", "1e-3"), "cost_amount: not a number of at most 5 decimals"},
		{"a sign", with("cost_amount", "+1"), "cost_amount: not a number of at most 5 decimals"},
		{"a comma", with("cost_amount", "1,5"), "cost_amount: not a number of at most 5 decimals"},
		{"a bare point", with("cost_amount", "1."), "cost_amount: not a number of at most 5 decimals"},
		{"no digit before the point", with("cost_amount", ".5"), "cost_amount: not a number of at most 5 decimals"},
		{"not a number", with("cost_amount", "NaN"), "cost_amount: not a number of at most 5 decimals"},
		{"a blank", with("cost_amount", " 1"), "cost_amount: not a number of at most 5 decimals"},
		{"other digits", with("cost_amount", "١"), "cost_amount: not a number of at most 5 decimals"},
		{"11 characters", with("cost_id", letters(11, "x")), "cost_id: not 12 to 256 characters"},
		{"12 characters", with("cost_id", letters(12, "x")), ""},
		{"11 characters, 22 bytes", with("cost_id", letters(11, "é")), "cost_id: not 12 to 256 characters"},
		{"256 characters, 512 bytes", with("cost_id", letters(256, "é")), ""},
		{"257 characters", with("cost_id", letters(257, "x")), "cost_id: not 12 to 256 characters"},
		{"an ID in capitals", with("cost_id", "3P4OXS8dMAQbqn4Y"), ""},
		{"a tag of 128", with("tag", letters(128, "ü")), ""},
		{"a tag of 129", with("tag", letters(129, "u")), "tag: more than 128 characters"},
		{"not UTF-8", with("tag", "\xff"), "tag: not UTF-8"},
		{"more than is asked for", url.Values{"cost_type": {"cpi"}, "cost_currency": {"usd"}, "cost_amount": {"1"},
			"cost_id": {"abc123_company_2"}, "tag": {"t"}, "app": {"x"}}, ""},
		{"a name in capitals", url.Values{"cost_type": {"cpi"}, "cost_currency": {"usd"}, "cost_amount": {"1"},
			"Cost_ID": {"abc123_company_2"}, "tag": {"t"}}, "cost_id: missing"},
		{"twice: the first counts", url.Values{"cost_type": {"cpi", "nonsense"}, "cost_currency": {"usd"},
			"cost_amount": {"1"}, "cost_id": {"abc123_company_2"}, "tag": {"t"}}, ""},
	} {
		for _, form := range []bool{true, false} {
			before := s.Spend()
			w := emutest.PostCost(s, c.v, form)
			status, body := http.StatusOK, "OK"
			if c.reason != "" {
				status, body = http.StatusBadRequest, "Bad Request"
			}
			if w.Code != status || w.Body.String() != body ||
				w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s, form %t: %d %q %q, want %d", c.name, form, w.Code, w.Body, w.Header().Get("Content-Type"),
					status)
			}
			after := s.Spend()
			if c.reason != "" && after.Refused[c.reason] != before.Refused[c.reason]+1 {
				t.Errorf("%s, form %t: refused %v, want %q", c.name, form, after.Refused, c.reason)
			}
			if after.Statuses[status] != before.Statuses[status]+1 || c.reason != "" &&
				after.Records != before.Records {
				t.Errorf("%s, form %t: books %+v after %+v", c.name, form, after, before)
			}
		}
	}
}

// What a request is made of besides its parameters.
func TestCostRequests(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10})
	good := with("tag", "t").Encode()
	do := func(method, at, kind, body string) int {
		r := httptest.NewRequest(method, at, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer partner")
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		name, method, at, kind, body string
		status                       int
	}{
		{"a form", "POST", "/cost", form, good, 200},
		{"a form with its letters' set", "POST", "/cost", form + "; charset=UTF-8", good, 200},
		{"a slash behind", "POST", "/cost/", form, good, 200},
		{"a query", "POST", "/cost?" + good, "", "", 200},
		{"half and half", "POST", "/cost?cost_type=cpc&cost_currency=eur&cost_id=half-and-half-1", form,
			"cost_amount=2&tag=x", 200},
		{"query before form", "POST", "/cost?cost_type=cpc", form, strings.ReplaceAll(good, "cost_type=cpi",
			"cost_type=nonsense"), 200},
		{"an empty one in the query", "POST", "/cost?tag=", form, good, 200},
		{"GET", "GET", "/cost?" + good, "", "", 400},
		{"PUT", "PUT", "/cost", form, good, 400},
		{"no type of the body", "POST", "/cost", "", good, 400},
		{"JSON", "POST", "/cost", "application/json", `{"cost_type":"cpi"}`, 400},
		{"a bad escape", "POST", "/cost", form, good + "&x=%zz", 200}, // of no parameter
		{"a bad escape of a parameter", "POST", "/cost", form, strings.Replace(good, "tag=t", "tag=%zz", 1), 400},
		{"a long body", "POST", "/cost", form, good + "&x=" + strings.Repeat("x", 70_000), 400},
		{"another path", "POST", "/costs", form, good, 400}, // what reports answer to a POST
		{"below", "POST", "/v1/cost", form, good, 400},
	} {
		if got := do(c.method, c.at, c.kind, c.body); got != c.status {
			t.Errorf("%s: %d, want %d", c.name, got, c.status)
		}
	}
	if len(s.Requests()) != 2 { // of the other paths
		t.Errorf("%d lines in the request log, whose queries would hold Cost IDs", len(s.Requests()))
	}
}

func TestCostCredentials(t *testing.T) {
	t.Parallel()
	partners := map[string]string{"any-key": "", "unity-key": "Unity Ads"}
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Days: 10, Partners: partners})
	var unity, other emulator.Engagement
	for _, e := range emutest.Engagements(s, emutest.Noon, 2, 1, 5) {
		if e.Network == "Unity Ads" {
			unity = e
		} else {
			other = e
		}
	}
	if unity.CostID == "" || other.CostID == "" {
		t.Fatal("no engagements of both sorts")
	}
	header := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 10, SpendHeader: "x-partner-key",
		Partners: partners})
	anyKey := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 10})
	free := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 10, OpenSpend: true})
	parameter := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 10,
		Readings: []string{"spend-auth=parameter", "spend-parameters=form"}})
	const nobodys = "nobodys-cost-id"
	for _, c := range []struct {
		name, header, key, id string
		s                     *emulator.Server
		status                int
	}{
		{"a key for all", "Authorization", "Bearer any-key", unity.CostID, s, 200},
		{"a network's own", "Authorization", "Bearer unity-key", unity.CostID, s, 200},
		{"another network's", "Authorization", "Bearer unity-key", other.CostID, s, 403},
		{"nobody's, yet", "Authorization", "Bearer unity-key", nobodys, s, 200},
		{"none", "Authorization", "", nobodys, s, 401},
		{"unknown", "Authorization", "Bearer other-key", nobodys, s, 401},
		{"empty", "Authorization", "Bearer ", nobodys, s, 401},
		{"not a Bearer token", "Authorization", "any-key", nobodys, s, 401},
		{"in another header", "X-Partner-Key", "any-key", nobodys, s, 401},
		{"a header of its own", "X-Partner-Key", "any-key", nobodys, header, 200},
		{"Bearer in a header of its own", "X-Partner-Key", "Bearer any-key", nobodys, header, 401},
		{"Authorization beside a header of its own", "Authorization", "Bearer any-key", nobodys, header, 401},
		{"any", "Authorization", "Bearer whatever", nobodys, anyKey, 200},
		{"any, but there is none", "Authorization", "", nobodys, anyKey, 401},
		{"none is asked for", "Authorization", "", nobodys, free, 200},
	} {
		w := emutest.PostCost(c.s, emutest.Cost("cpi", "usd", "1", c.id, "t"), true, c.header, c.key)
		if words := map[int]string{200: "OK", 401: "Unauthorized", 403: "Forbidden"}[c.status]; w.Code != c.status ||
			w.Body.String() != words {
			t.Errorf("%s: %d %q, want %d %q", c.name, w.Code, w.Body, c.status, words)
		}
	}
	for key, status := range map[string]int{"any-key": 200, "": 401} {
		v := emutest.Cost("cpi", "usd", "1", nobodys, "t")
		v.Set("partner_key", key)
		if w := emutest.PostCost(parameter, v, true, "Authorization", ""); w.Code != status {
			t.Errorf("the key %q as a parameter: %d, want %d", key, w.Code, status)
		}
		if w := emutest.PostCost(parameter, v, false, "Authorization", ""); w.Code != 401 {
			t.Errorf("the key %q in the query, which isn't read: %d, want 401", key, w.Code)
		}
	}
	if w := emutest.PostCost(parameter, emutest.Cost("cpi", "usd", "1", nobodys, "t"), true, "Authorization",
		"Bearer any-key"); w.Code != 401 {
		t.Errorf("a header beside no parameter: %d, want 401", w.Code)
	}
	got := s.Spend()
	if want := map[int]int{200: 3, 401: 5, 403: 1}; !maps.Equal(got.Statuses, want) || got.Records != 2 {
		t.Errorf("books %+v, want %v", got, want)
	}
	if w := emutest.PostCost(s, url.Values{}, true, "Authorization", ""); w.Code != 401 {
		t.Errorf("without key and parameters: %d, want 401", w.Code)
	}
}

func TestSpendWindow(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 12})
	send := func(id, amount string) {
		t.Helper()
		if w := emutest.PostCost(s, emutest.Cost("cpc", "eur", amount, id, "t"), true); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	stateOf := func(id string) string {
		for _, r := range s.SpendRecords() {
			if r.CostID == id {
				return r.State + " " + r.Day + " " + r.Amount
			}
		}
		return "absent"
	}
	old := emutest.Engagements(s, emutest.Noon, 9, 5, 3)
	matched, late := 0, 0
	for _, e := range old {
		send(e.CostID, "1")
		want := "matched " + e.Time.Format(time.DateOnly) + " 1"
		if e.Time.Before(emutest.Noon.Add(-7 * 24 * time.Hour)) {
			want = "late  1"
			late++
		} else {
			matched++
		}
		if got := stateOf(e.CostID); got != want {
			t.Errorf("%v before noon: %s, want %s", emutest.Noon.Sub(e.Time), got, want)
		}
	}
	if matched < 5 || late < 5 {
		t.Errorf("%d matched, %d late: the test shows little", matched, late)
	}
	// To the second.
	e := emutest.Engagements(s, emutest.Noon, 2, 2, 1)[0]
	s.Shift(e.Time.Add(7 * 24 * time.Hour).Sub(emutest.Noon))
	send(e.CostID, "2")
	if got := stateOf(e.CostID); !strings.HasPrefix(got, "matched") {
		t.Errorf("seven days after: %s", got)
	}
	s.Shift(time.Second)
	send(e.CostID, "3") // a correction that comes too late
	if got := stateOf(e.CostID); !strings.HasSuffix(got, " 2") {
		t.Errorf("corrected a second later: %s", got)
	}
	// Unknown ones: nobody's, of a day to come, of a day before all data, and with one letter
	// changed.
	s = emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 12})
	e = emutest.Engagements(s, emutest.Noon, 1, 1, 1)[0]
	later := emutest.Open(t, emulator.Options{Now: func() time.Time { return emutest.Noon.AddDate(0, 0, 2) }, Apps: 2,
		Days: 40})
	tomorrow, before := emutest.Engagements(later, emutest.Noon.AddDate(0, 0, 2), 1, 1, 1)[0].CostID,
		emutest.Engagements(later, emutest.Noon.AddDate(0, 0, 2), 20, 20, 1)[0].CostID
	other := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 12, Seed: 8})
	unknown := []string{"nobodys-cost-id", tomorrow, before, e.CostID[:len(e.CostID)-1] + "_",
		emutest.Engagements(other, emutest.Noon, 1, 1, 1)[0].CostID,
		"emu-20260313-000-0000000-zz", "emu-20260313-001--000001-0000000000000000",
		"emu-99999999-000-0000000-0000000000000000"}
	for _, id := range unknown {
		send(id, "1")
		if got := stateOf(id); got != "pending  1" {
			t.Errorf("%s: %s", id, got)
		}
	}
	s.Shift(7*24*time.Hour + time.Second)
	if got := s.Spend().States; got["expired"] != len(unknown) || got["pending"] != 0 {
		t.Errorf("after the window: %v", got)
	}
	send(unknown[0], "1") // again doesn't make it younger
	if got := stateOf(unknown[0]); got != "expired  1" {
		t.Errorf("sent again: %s", got)
	}
	if b := s.Spend(); len(b.Totals) != 0 || b.Duplicates != 1 {
		t.Errorf("books %+v", b)
	}
}

func TestSpendTwice(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10})
	list := emutest.Engagements(s, emutest.Noon, 1, 1, 3)
	send := func(typ, currency, amount string, e emulator.Engagement, tag string) {
		t.Helper()
		if w := emutest.PostCost(s, emutest.Cost(typ, currency, amount, e.CostID, tag), true); w.Code != 200 {
			t.Fatalf("%d", w.Code)
		}
	}
	a, b, c := list[0], list[1], list[2]
	send("cpc", "usd", "1.5", a, "x")
	send("cpc", "usd", "1.50", a, "x") // the same amount in other digits
	send("cpc", "usd", "01.50000", a, "x")
	send("cpc", "usd", "2", b, "x")
	send("cpi", "usd", "2", b, "x")
	send("cpi", "eur", "2", b, "x")
	send("cpi", "eur", "3", b, "x")
	send("cpi", "eur", "3", b, "y")
	send("cpi", "eur", "3", b, "y")
	send("cpe", "isk", "70", c, "z") // of no known rate
	got := s.Spend()
	want := emulator.SpendSummary{Counts: wire.Counts{Statuses: map[int]int{200: 10}, Refused: map[string]int{}},
		Records: 3, Duplicates: 3, Replaced: 4,
		States: map[string]int{"matched": 2, "unrated": 1},
		Totals: []spend.Total{{Day: "2026-03-13", CostType: "cpc", Currency: "usd", Records: 1, Amount: "1.5"},
			{Day: "2026-03-13", CostType: "cpi", Currency: "eur", Records: 1, Amount: "3"}}}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	records := []emulator.SpendRecord{
		{CostType: "cpc", Currency: "usd", Amount: "1.5", CostID: a.CostID, Tag: "x", State: "matched",
			Day: "2026-03-13", Times: 3, Replaced: 0},
		{CostType: "cpi", Currency: "eur", Amount: "3", CostID: b.CostID, Tag: "y", State: "matched", Day: "2026-03-13",
			Times: 6, Replaced: 4},
		{CostType: "cpe", Currency: "isk", Amount: "70", CostID: c.CostID, Tag: "z", State: "unrated", Day: "",
			Times: 1, Replaced: 0},
	}
	slices.SortFunc(records, func(a, b emulator.SpendRecord) int { return strings.Compare(a.CostID, b.CostID) })
	if got := s.SpendRecords(); !slices.Equal(got, records) {
		t.Errorf("%+v\nwant %+v", got, records)
	}
}

// What stands for a record that was taken, under each reading.
func TestReadingsSpendAnswer(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]struct {
		status int
		body   string
	}{"text": {200, "OK"}, "json": {200, `{"status":"ok"}`}, "empty": {200, ""}, "201": {201, "OK"}, "202": {202, "OK"},
		"204": {204, ""}} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10,
			Readings: []string{"spend-answer=" + choice}})
		r := httptest.NewRequest("POST", "/cost?"+with("tag", "t").Encode(), nil)
		r.Header.Set("Authorization", "Bearer partner")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want.status || w.Body.String() != want.body || s.Spend().Records != 1 {
			t.Errorf("spend-answer=%s: %d %q, %d records", choice, w.Code, w.Body, s.Spend().Records)
		}
	}
}

// A refusal comes in each of the forms that the document leaves open.
func TestReadingsSpendRefusal(t *testing.T) {
	t.Parallel()
	const why = "cost_amount: not a number of at most 5 decimals"
	for choice, want := range map[string]struct {
		status     int
		kind, body string
	}{
		"text": {400, "text/plain; charset=utf-8", "Bad Request"}, "words": {400, "text/plain; charset=utf-8", why},
		"error": {400, "application/json", `{"error":"` + why + `"}`},
		"html":  {400, "text/html; charset=utf-8", "<!doctype html><title>400</title><p>" + why + "\n"},
		"empty": {400, "", ""},
		"422": {422, "application/json",
			`{"detail":[{"loc":["body","cost_amount"],"msg":"not a number of at most 5 decimals"}]}`},
	} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10,
			Readings: []string{"spend-refusal=" + choice}})
		r := httptest.NewRequest("POST", "/cost?"+with("cost_amount", "much").Encode(), nil)
		r.Header.Set("Authorization", "Bearer partner")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if kind := w.Header().Get("Content-Type"); w.Code != want.status || kind != want.kind ||
			w.Body.String() != want.body {
			t.Errorf("spend-refusal=%s: %d %q %q", choice, w.Code, kind, w.Body)
		}
	}
}

// What "lowercase" is about, the names or the values too, is open.
func TestReadingsSpendCase(t *testing.T) {
	t.Parallel()
	for choice, status := range map[string]int{"either": 200, "all": 400} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10,
			Readings: []string{"spend-case=" + choice}})
		v := with("cost_type", "CPI")
		v.Set("cost_currency", "USD")
		r := httptest.NewRequest("POST", "/cost?"+v.Encode(), nil)
		r.Header.Set("Authorization", "Bearer partner")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("spend-case=%s: %d %s", choice, w.Code, w.Body)
		}
	}
}
