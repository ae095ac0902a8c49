package adjust

import (
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

func berlin() *time.Location {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return loc
}

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

// A parameterCase is a change of a query, and what it adds to or changes of the plain query's
// parameters; "" is one that is no longer sent.
type parameterCase struct {
	edit func(*ReportQuery)
	want map[string]string
}

// parameterCases has a row for every field of a query, named after it.
func parameterCases() map[string]parameterCase {
	days := func(q *ReportQuery) { q.From, q.Until = civil.Date{}, civil.Date{} }
	cases := map[string]parameterCase{
		"plain": {func(*ReportQuery) {}, nil},
		"Dimensions": {func(q *ReportQuery) { q.Dimensions = []string{"app_token", "campaign", "day", "country_code"} },
			map[string]string{"dimensions": "app_token,campaign,day,country_code",
				"sort": "day,app_token,campaign,country_code"}},
		"Dimensions without a date": {func(q *ReportQuery) { q.Dimensions = []string{"network", "app"} },
			map[string]string{"dimensions": "network,app", "sort": "network,app"}},
		"Dimensions with two dates": {func(q *ReportQuery) { q.Dimensions = []string{"app", "month", "day"} },
			map[string]string{"dimensions": "app,month,day", "sort": "month,day,app"}},
		"Metrics": {func(q *ReportQuery) { q.Metrics = []string{"clicks", "all_revenue_total_d7"} },
			map[string]string{"metrics": "clicks,all_revenue_total_d7"}},
		"From": {func(q *ReportQuery) { q.From = date(2025, 12, 31) },
			map[string]string{"date_period": "2025-12-31:2026-01-07"}},
		"Until, one day": {func(q *ReportQuery) { q.Until = date(2026, 1, 2) },
			map[string]string{"date_period": "2026-01-01:2026-01-01"}},
		"Until, over a leap day": {func(q *ReportQuery) { q.From, q.Until = date(2028, 2, 28), date(2028, 3, 1) },
			map[string]string{"date_period": "2028-02-28:2028-02-29"}},
		"UTCOffset": {func(q *ReportQuery) { q.UTCOffset = "-03:30" }, map[string]string{"utc_offset": "-03:30"}},
		"Parameters": {func(q *ReportQuery) { q.Parameters["attribution_types"] = []string{"engaged_ad"} },
			map[string]string{"attribution_types": "engaged_ad"}},
		"Parameters, more than are needed": {func(q *ReportQuery) {
			q.Parameters["os_names"], q.Parameters["ad_revenue_sources"] = []string{"ios", "android"},
				[]string{"AdMob", "AppLovin Max"}
			q.Parameters["sandbox"], q.Parameters["later"] = []string{"true"}, nil
		}, map[string]string{"os_names": "ios,android", "ad_revenue_sources": "AdMob,AppLovin Max", "sandbox": "true"}},
		"Currency": {func(q *ReportQuery) { q.Currency = "USD" }, map[string]string{"currency": "USD"}},
		"DatePeriod": {func(q *ReportQuery) { days(q); q.DatePeriod = "-7d:-1d" },
			map[string]string{"date_period": "-7d:-1d"}},
		"DatePeriod, a word, in the account's currency": {func(q *ReportQuery) {
			days(q)
			q.DatePeriod,
				q.Currency = "last_week", ""
		},
			map[string]string{"date_period": "last_week", "currency": ""}},
		"TimezoneID": {func(q *ReportQuery) { q.UTCOffset, q.TimezoneID = "", "5" },
			map[string]string{"utc_offset": "", "timezone_id": "5"}},
		"Zone": {func(q *ReportQuery) { q.UTCOffset, q.Zone = "", berlin() },
			map[string]string{"utc_offset": "+01:00"}},
		"Zone, where clocks change": {func(q *ReportQuery) {
			q.UTCOffset, q.Zone, q.From, q.Until = "", berlin(), date(2026, 10, 24), date(2026, 10, 26)
		},
			map[string]string{"utc_offset": "+02:00", "date_period": "2026-10-24:2026-10-25"}},
		"Summable, where no clocks change": {func(q *ReportQuery) {
			q.UTCOffset, q.Zone, q.Summable = "", berlin(),
				true
		}, map[string]string{"utc_offset": "+01:00"}},
		"ZeroWhenAbsent": {func(q *ReportQuery) { q.ZeroWhenAbsent = []string{"installs"} }, nil},
		"HourBetween": {func(q *ReportQuery) { q.HourBetween = "-10h:-0h" },
			map[string]string{"hour__between": "-10h:-0h"}},
		"PeriodOverPeriod": {func(q *ReportQuery) { q.PeriodOverPeriod = "previous_week" },
			map[string]string{"period_over_period": "previous_week"}},
		"Sort": {func(q *ReportQuery) { q.Sort = []string{"-installs", "day"} },
			map[string]string{"sort": "-installs,day"}},
		"Index": {func(q *ReportQuery) { q.Dimensions, q.Index = []string{"day", "app"}, []string{"app", "day"} },
			map[string]string{"dimensions": "day,app", "index": "app,day", "sort": "day,app"}},
		"ReadableNames": {func(q *ReportQuery) { q.ReadableNames = true }, map[string]string{"readable_names": "true"}},
		"FormatDates":   {func(q *ReportQuery) { q.FormatDates = true }, map[string]string{"format_dates": "true"}},
		"Filters, many": {func(q *ReportQuery) {
			q.Filters = map[string][]string{"app_token__in": {"aaa", "bbb"},
				"campaign__contains": {"Müller & Söhne + 50%=?#"}, "installs__gt": {"0"}, "x__in": nil, "x__gt": nil}
		}, map[string]string{"app_token__in": "aaa,bbb", "campaign__contains": "Müller & Söhne + 50%=?#",
			"installs__gt": "0"}},
		"Filters on an event with underscores": {func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"level__up_events__gte": {"3"}}
		},
			map[string]string{"level__up_events__gte": "3"}},
		"Filters for nothing": {func(q *ReportQuery) { q.Filters = map[string][]string{"campaign__starts_with": {""}} },
			map[string]string{"campaign__starts_with": empty}},
		"Splittable": {func(q *ReportQuery) { q.Splittable = true }, nil},
	}
	for name, value := range map[string]string{
		"cohort_maturity": "mature", "attribution_types": "engaged_ad", "attribution_source": "first",
		"reattributed":     "true",
		"iap_revenue_mode": "GROSS_70", "ad_revenue_sources": "AdMob", "os_names": "ios", "ad_spend_mode": "mixed",
		"sandbox": "true",
	} {
		cases["Parameters, "+name] = parameterCase{func(q *ReportQuery) { q.Parameters[name] = []string{value} },
			map[string]string{name: value}}
	}
	for i, operator := range Operators {
		param, values, sent := "campaign__"+operator, []string{"a, b"}, "a, b"
		switch {
		case i > 7:
			param, values, sent = "installs__"+operator, []string{"5"}, "5"
		case strings.HasSuffix(operator, "in"):
			values, sent = []string{"a", "b"}, "a,b"
		}
		cases["Filters, "+operator] = parameterCase{func(
			q *ReportQuery) {
			q.Filters = map[string][]string{param: values}
		},
			map[string]string{param: sent}}
	}
	return cases
}

// empty stands for a parameter that is sent without a value.
const empty = "sent, but empty"

// Every case, and nothing but what it changes, is in the query that a service gets.
func TestParameters(t *testing.T) {
	for name, tt := range parameterCases() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(csv)
				c, _ := open(t, s, func(
					o *Options) {
					o.BaseURL = "https://service.test:8443/behind/a/proxy/"
					o.HTTP = plainText(o.HTTP)
				})
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
					if w == "" {
						continue
					}
					if w == empty {
						w = ""
					}
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

// Every field of a query has a case, so that a new one can't be forgotten.
func TestEveryFieldIsSent(t *testing.T) {
	cases := slices.Collect(maps.Keys(parameterCases()))
	for f := range reflect.TypeFor[ReportQuery]().Fields() {
		if !slices.ContainsFunc(cases, func(name string) bool {
			field, _,
				_ := strings.Cut(name, ",")
			return field == f.Name
		}) {
			t.Errorf("no case of TestParameters is named after %s", f.Name)
		}
	}
	if len(Operators) != 8+6 {
		t.Errorf("%d operators, the interface has eight for dimensions and six for metrics", len(Operators))
	}
}

// What a query must say isn't left to the service's defaults.
func TestBadQueries(t *testing.T) {
	for want, edit := range map[string]func(*ReportQuery){
		"the query has no dimensions": func(
			q *ReportQuery) {
			q.Dimensions = nil
		},
		"the query has no metrics": func(
			q *ReportQuery) {
			q.Metrics = []string{"installs", ""}
		},
		"the query has no utc_offset and no timezone_id": func(
			q *ReportQuery) {
			q.UTCOffset = ""
		},
		"the query has no cohort_maturity": func(
			q *ReportQuery) {
			delete(q.Parameters, "cohort_maturity")
		},
		"the query has no attribution_types": func(
			q *ReportQuery) {
			q.Parameters["attribution_types"] = nil
		},
		"the query has no attribution_source": func(
			q *ReportQuery) {
			delete(q.Parameters, "attribution_source")
		},
		"the query has no reattributed": func(
			q *ReportQuery) {
			delete(q.Parameters, "reattributed")
		},
		"the query has no iap_revenue_mode": func(
			q *ReportQuery) {
			delete(q.Parameters, "iap_revenue_mode")
		},
		"the query has no ad_spend_mode": func(
			q *ReportQuery) {
			delete(q.Parameters, "ad_spend_mode")
		},
		"the query has no sandbox": func(
			q *ReportQuery) {
			delete(q.Parameters, "sandbox")
		},
		"the query has an empty os_names": func(
			q *ReportQuery) {
			q.Parameters["os_names"] = []string{"ios", ""}
		},
		"the query has no currency": func(
			q *ReportQuery) {
			q.Currency = ""
		},
		"the period from 2026-01-08 until 2026-01-08 (not included) holds no day": func(
			q *ReportQuery) {
			q.From = q.Until
		},
		"the period from 0000-00-00 until 2026-01-08 (not included) holds no day": func(
			q *ReportQuery) {
			q.From = civil.Date{}
		},
		`app__in: the value "a,b" holds a comma`: func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"app__in": {"a,b"}}
		},
		`os_names: the value "a,b" holds a comma`: func(
			q *ReportQuery) {
			q.Parameters["os_names"] = []string{"a,b"}
		},
		"the query has no sort": func(
			q *ReportQuery) {
			q.Sort = []string{"day", ""}
		},
		`sort: the value "a,b" holds`: func(
			q *ReportQuery) {
			q.Sort = []string{"a,b"}
		},
		"the timezone_id Europe/Berlin is no number, and the service may ignore it": func(q *ReportQuery) {
			q.UTCOffset,
				q.TimezoneID = "", "Europe/Berlin"
		},
		"the query has both an offset or the number of a zone, +00:00, and the zone Europe/Berlin by name": func(
			q *ReportQuery) {
			q.Zone = berlin()
		},
		"the query has the date_period -7d:-1d in the zone Europe/Berlin, whose offset depends on the days": func(
			q *ReportQuery) {
			q.UTCOffset, q.Zone, q.DatePeriod = "", berlin(), "-7d:-1d"
		},
		"the query has both the utc_offset +00:00 and the timezone_id 1": func(
			q *ReportQuery) {
			q.TimezoneID = "1"
		},
		"the query has both the date_period today and days, from 2026-01-01 until 2026-01-08": func(
			q *ReportQuery) {
			q.DatePeriod = "today"
		},
		`filter "campaign__like": the service has no comparison "like"`: func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"campaign__like": {"a"}}
		},
		`filter "campaign__not_contains": the service has no`: func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"campaign__not_contains": {"a"}}
		},
		`filter "__in" names no`: func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"__in": {"a"}}
		},
		`filter "installs__gt" compares with one value, and 2`: func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"installs__gt": {"1", "2"}}
		},
		`network__not_in: the value "a,b" holds a comma`: func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"network__not_in": {"a,b"}}
		},
		`filter "sandbox" names no comparison`: func(
			q *ReportQuery) {
			q.Filters = map[string][]string{"sandbox": {"true"}}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := play(csv)
			c, _ := open(t, s, nil)
			q := query()
			edit(&q)
			_, _, err := fetch(t.Context(), c, q)
			if err == nil || !strings.HasPrefix(err.Error(), "csv_report ") || !strings.Contains(err.Error(), want) ||
				len(s.when()) > 0 {
				t.Errorf("error %v after %d requests, want %s", err, len(s.when()), want)
			}
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
