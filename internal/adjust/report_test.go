package adjust

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
)

func date(y, m, d int) civil.Date { return civil.Date{Year: y, Month: time.Month(m), Day: d} }

// sent parses the query of the first request that s saw.
func sent(t *testing.T, s *script) (path string, v url.Values) {
	t.Helper()
	u, err := url.Parse("http://" + s.urls[0])
	if err != nil {
		t.Fatal(err)
	}
	return u.Host + u.Path, u.Query()
}

// what query sends, and what every query sends
func plainQuery() map[string]string {
	return map[string]string{
		"dimensions": "day", "metrics": "installs", "date_period": "2026-01-01:2026-01-07", "utc_offset": "+00:00",
		"cohort_maturity": "immature", "attribution_types": "click,impression", "attribution_source": "dynamic",
		"reattributed": "all", "iap_revenue_mode": "GROSS_100", "ad_spend_mode": "network", "sandbox": "false",
		"currency": "EUR", "readable_names": "false", "format_dates": "false", "sort": "day",
	}
}

// Every field of a query, and exactly the parameters that it adds to or changes of the plain query.
func TestParameters(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*ReportQuery)
		want map[string]string
	}{
		"plain": {func(*ReportQuery) {}, nil},
		"Dimensions": {func(q *ReportQuery) { q.Dimensions = []string{"app_token", "campaign", "day", "country_code"} },
			map[string]string{"dimensions": "app_token,campaign,day,country_code", "sort": "day,app_token,campaign,country_code"}},
		"Dimensions without a date": {func(q *ReportQuery) { q.Dimensions = []string{"network", "app"} },
			map[string]string{"dimensions": "network,app", "sort": "network,app"}},
		"Dimensions with two dates": {func(q *ReportQuery) { q.Dimensions = []string{"app", "month", "day"} },
			map[string]string{"dimensions": "app,month,day", "sort": "month,day,app"}},
		"Metrics": {func(q *ReportQuery) { q.Metrics = []string{"clicks", "all_revenue_total_d7"} }, map[string]string{"metrics": "clicks,all_revenue_total_d7"}},
		"From":    {func(q *ReportQuery) { q.From = date(2025, 12, 31) }, map[string]string{"date_period": "2025-12-31:2026-01-07"}},
		"Until, one day": {func(q *ReportQuery) { q.Until = date(2026, 1, 2) },
			map[string]string{"date_period": "2026-01-01:2026-01-01"}},
		"Until, over a leap day": {func(q *ReportQuery) { q.From, q.Until = date(2028, 2, 28), date(2028, 3, 1) },
			map[string]string{"date_period": "2028-02-28:2028-02-29"}},
		"UTCOffset":         {func(q *ReportQuery) { q.UTCOffset = "-03:30" }, map[string]string{"utc_offset": "-03:30"}},
		"CohortMaturity":    {func(q *ReportQuery) { q.CohortMaturity = "mature" }, map[string]string{"cohort_maturity": "mature"}},
		"AttributionTypes":  {func(q *ReportQuery) { q.AttributionTypes = []string{"engaged_ad"} }, map[string]string{"attribution_types": "engaged_ad"}},
		"AttributionSource": {func(q *ReportQuery) { q.AttributionSource = "first" }, map[string]string{"attribution_source": "first"}},
		"Reattributed":      {func(q *ReportQuery) { q.Reattributed = "false" }, map[string]string{"reattributed": "false"}},
		"IAPRevenueMode":    {func(q *ReportQuery) { q.IAPRevenueMode = "GROSS_70" }, map[string]string{"iap_revenue_mode": "GROSS_70"}},
		"AdSpendMode":       {func(q *ReportQuery) { q.AdSpendMode = "mixed" }, map[string]string{"ad_spend_mode": "mixed"}},
		"Sandbox":           {func(q *ReportQuery) { q.Sandbox = true }, map[string]string{"sandbox": "true"}},
		"Currency":          {func(q *ReportQuery) { q.Currency = "USD" }, map[string]string{"currency": "USD"}},
		"OSNames":           {func(q *ReportQuery) { q.OSNames = []string{"ios", "android"} }, map[string]string{"os_names": "ios,android"}},
		"AdRevenueSources": {func(q *ReportQuery) { q.AdRevenueSources = []string{"AdMob", "AppLovin Max"} },
			map[string]string{"ad_revenue_sources": "AdMob,AppLovin Max"}},
		"Filters": {func(q *ReportQuery) {
			q.Filters = map[string][]string{"app_token__in": {"aaa", "bbb"}, "campaign__contains": {"Müller & Söhne + 50%=?#"}, "installs__gt": {"0"}, "x__in": nil}
		}, map[string]string{"app_token__in": "aaa,bbb", "campaign__contains": "Müller & Söhne + 50%=?#", "installs__gt": "0"}},
		"Splittable": {func(q *ReportQuery) { q.Splittable = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(csv)
				c, _ := open(t, s, func(o *Options) { o.BaseURL = "https://service.test:8443/behind/a/proxy/"; o.HTTP = plainText(o.HTTP) })
				q := query()
				tt.edit(&q)
				dimensions := slices.Clone(q.Dimensions)
				if _, _, err := fetch(t.Context(), c, q); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(q.Dimensions, dimensions) {
					t.Errorf("the caller's dimensions are now %v", q.Dimensions)
				}
				path, got := sent(t, s)
				if path != "service.test:8443/behind/a/proxy/reports-service/csv_report" {
					t.Errorf("asked %s", path)
				}
				want := plainQuery()
				maps.Copy(want, tt.want)
				for name, w := range want {
					if g := got[name]; len(g) != 1 || g[0] != w {
						t.Errorf("%s is %q, want %q", name, g, w)
					}
					delete(got, name)
				}
				if len(got) > 0 {
					t.Errorf("more was sent: %v", got)
				}
			})
		})
	}
}

// Every field of a query is in TestParameters' table, so that a new one can't be forgotten.
func TestEveryFieldIsSent(t *testing.T) {
	if n := reflect.TypeFor[ReportQuery]().NumField(); n != 17 {
		t.Errorf("ReportQuery has %d fields: bring TestParameters and this number up to date", n)
	}
}

// What a query must say isn't left to the service's defaults.
func TestBadQueries(t *testing.T) {
	for want, edit := range map[string]func(*ReportQuery){
		"the query has no dimensions":                                             func(q *ReportQuery) { q.Dimensions = nil },
		"the query has no metrics":                                                func(q *ReportQuery) { q.Metrics = []string{"installs", ""} },
		"the query has no utc_offset":                                             func(q *ReportQuery) { q.UTCOffset = "" },
		"the query has no cohort_maturity":                                        func(q *ReportQuery) { q.CohortMaturity = "" },
		"the query has no attribution_types":                                      func(q *ReportQuery) { q.AttributionTypes = nil },
		"the query has no attribution_source":                                     func(q *ReportQuery) { q.AttributionSource = "" },
		"the query has no reattributed":                                           func(q *ReportQuery) { q.Reattributed = "" },
		"the query has no iap_revenue_mode":                                       func(q *ReportQuery) { q.IAPRevenueMode = "" },
		"the query has no ad_spend_mode":                                          func(q *ReportQuery) { q.AdSpendMode = "" },
		"the query has no currency":                                               func(q *ReportQuery) { q.Currency = "" },
		"the period from 2026-01-08 until 2026-01-08 (not included) holds no day": func(q *ReportQuery) { q.From = q.Until },
		"the period from 0000-00-00 until 2026-01-08 (not included) holds no day": func(q *ReportQuery) { q.From = civil.Date{} },
		`app__in: the value "a,b" holds a comma`:                                  func(q *ReportQuery) { q.Filters = map[string][]string{"app__in": {"a,b"}} },
		`os_names: the value "a,b" holds a comma`:                                 func(q *ReportQuery) { q.OSNames = []string{"a,b"} },
		`filter "sandbox" names no comparison`:                                    func(q *ReportQuery) { q.Filters = map[string][]string{"sandbox": {"true"}} },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := play(csv)
			c, _ := open(t, s, nil)
			q := query()
			edit(&q)
			_, _, err := fetch(t.Context(), c, q)
			if err == nil || !strings.HasPrefix(err.Error(), "csv_report ") || !strings.Contains(err.Error(), want) || len(s.when()) > 0 {
				t.Errorf("error %v after %d requests, want %s", err, len(s.when()), want)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(csv)
		c, _ := open(t, s, func(o *Options) { o.AccountID = "4711"; o.UserAgent = "reportferry/1.2" })
		if _, _, err := fetch(t.Context(), c, query()); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"Authorization": "Bearer " + secretToken, "X-Account-Id": "4711",
			"User-Agent": "reportferry/1.2", "Accept-Encoding": "gzip", "Accept": "text/csv"} {
			if got := s.heads[0].Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		c, _ = open(t, s, nil)
		if _, _, err := fetch(t.Context(), c, query()); err != nil || s.heads[1]["X-Account-Id"] != nil {
			t.Errorf("X-Account-ID %q without an account, %v", s.heads[1]["X-Account-Id"], err)
		}
	})
}

func TestEvents(t *testing.T) {
	answer := func(body string) reply {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	const whole = `[{"id":"purchase","name":"Purchase Event","short_name":"PUR","section":"Revenue","formatting":"money",
		"description":"d","app_token":["a1","b2"],"tokens":["t1","t2"],"is_skad_event":true,"increase_is_negative":false,
		"app_token_x_event_tokens_mapping":{"a1":["t1"],"b2":["t2"]}},
		{"id":"open","name":"Open","formatting":null,"app_token_x_event_tokens_mapping":null,"is_skad_event":false}]`
	want := []Event{{ID: "purchase", Name: "Purchase Event", ShortName: "PUR", Section: "Revenue", Formatting: "money", Description: "d",
		AppTokens: []string{"a1", "b2"}, Tokens: []string{"t1", "t2"}, IsSKAdEvent: true,
		TokensByApp: map[string][]string{"a1": {"t1"}, "b2": {"t2"}}, Unknown: map[string]json.RawMessage{"increase_is_negative": json.RawMessage("false")}},
		{ID: "open", Name: "Open"}}
	for _, tt := range []struct {
		name    string
		query   EventsQuery
		replies []reply
		sends   string
		want    []Event
		err     string
	}{
		{"all", EventsQuery{}, []reply{answer(whole)}, "", want, ""},
		{"narrowed", EventsQuery{Contains: "pur chase", AppTokens: []string{"a1", "b2"}, TokensMapping: true}, []reply{answer(whole)},
			"?app_token__in=a1%2Cb2&events__contains=pur+chase&tokens_mapping=true", want, ""},
		{"cut once", EventsQuery{}, []reply{cut(20), answer(whole)}, "", want, ""},
		{"a gateway's page", EventsQuery{}, []reply{func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, answer(whole)}, "", want, ""},
		{"none", EventsQuery{}, []reply{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }}, "", nil, ""},
		{"broken at the very end, then none", EventsQuery{}, []reply{raw("HTTP/1.1 200 OK\nContent-Length: 9999", []byte(whole)),
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }}, "", nil, ""},
		{"an empty list", EventsQuery{}, []reply{answer("[]")}, "", []Event{}, ""},
		{"no list", EventsQuery{}, []reply{answer(`{"id":1}`)}, "", nil, "events: the answer isn't a list of events: json: cannot unmarshal object"},
		{"refused", EventsQuery{}, []reply{status(400)}, "", nil, "events: 400 Bad Request: request_error: words of the service on 400"},
		{"comma", EventsQuery{AppTokens: []string{"a,b"}}, []reply{answer("[]")}, "", nil, "events: app_token__in: the value \"a,b\" holds a comma"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(tt.replies...)
				c, m := open(t, s, nil)
				got, err := c.Events(t.Context(), tt.query)
				if tt.err != "" {
					var e *Error
					if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), tt.err) {
						t.Errorf("error %v, want %s", err, tt.err)
					}
					return
				}
				if err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("%+v, %v", got, err)
				}
				if want := "service.test/reports-service/events" + tt.sends; s.urls[0] != want {
					t.Errorf("asked %s, want %s", s.urls[0], want)
				}
				if m.Bytes.Load() != 0 {
					t.Errorf("%d bytes of events are counted as CSV", m.Bytes.Load())
				}
			})
		})
	}
}

// plainText lets a client of https addresses reach a server without TLS.
func plainText(c *http.Client) *http.Client {
	tr := c.Transport.(*http.Transport).Clone()
	tr.DialTLSContext = tr.DialContext
	tr.DisableKeepAlives = true
	return &http.Client{Transport: tr}
}
