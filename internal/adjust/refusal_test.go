package adjust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// A metric that the service refuses is named, in every wording that was seen and in likely ones.
func TestRefusedMetric(t *testing.T) {
	asked := []string{"installs", "buy_events", "buy_d7_revenue_cohort", "general revenue_events_est", "general",
		"level_up_events"}
	for message, want := range map[string]string{
		"Unsupported metric: buy_events":                                             "buy_events",
		"unsupported metric 'buy_events'.":                                           "buy_events",
		"Unsupported metric: general revenue_events_est":                             "general revenue_events_est",
		"Unsupported metrics: level_up_events, buy_events":                           "level_up_events",
		"Unsupported metric: rebuy_events":                                           "rebuy_events",
		"Unsupported metric: installs_":                                              "installs_",
		"Unsupported metric: instals, see the documentation":                         "instals", // of a filter
		"Unsupported metric:":                                                        "",
		"buy_events: event doesn't exist or was renamed":                             "buy_events",
		"level_up_events event doesn't exist or was renamed":                         "level_up_events",
		`The metric "buy_d7_revenue_cohort": the event doesn’t exist or was renamed`: "buy_d7_revenue_cohort",
		"buy event doesn't exist or was renamed":                                     "buy_events",
		"sell_events: event doesn't exist or was renamed":                            "sell_events",
		"Unsupported metric: sell_events event doesn't exist or was renamed":         "sell_events",
		"event doesn't exist or was renamed":                                         "",
		"No apps matching the filter":                                                "",
		"Unsupported dimension: installs":                                            "",
		"Invalid value for sort: installs":                                           "",
		"":                                                                           "",
	} {
		if got := refusedMetric(message, asked); got != want {
			t.Errorf("%q names %q, want %q", message, got, want)
		}
	}
	if got := refusedMetric("Unsupported metric: x", nil); got != "x" {
		t.Errorf("without metrics: %q", got)
	}
}

// Only a 400 refuses a metric, and the error says so in words.
func TestRefusedMetricInError(t *testing.T) {
	for code, want := range map[int]string{400: "buy_events", 403: "", 404: "", 500: ""} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := open(t, play(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				body, err := json.Marshal(map[string]string{"error_code": "request_error",
					"error_desc": "buy_events: event doesn't exist or was renamed"})
				if err != nil {
					t.Error(err)
				}
				_, _ = w.Write(body)
			}), func(o *Options) { o.Attempts = 1 })
			q := query()
			q.Metrics = []string{"installs", "buy_events"}
			_, _, err := fetch(t.Context(), c, q)
			var e *Error
			if !errors.As(err, &e) || e.Metric != want {
				t.Fatalf("%d: %+v", code, e)
			}
			hint := "the service refuses the metric buy_events (400 Bad Request: "
			if strings.Contains(err.Error(), hint) != (want != "") {
				t.Errorf("%d: %v", code, err)
			}
		})
	}
}

func TestFiltersData(t *testing.T) {
	answer := func(body string) reply {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	const whole = `{"overview_metrics":[{"id":"ecpi_all","name":"eCPI (All Installs)","short_name":"","section":"Cost","formatting":"money",
		"description":"d","increase_is_negative":true},{"id":"installs","name":"Installs","formatting":null}],"partners":[{"id":34,"name":null}],"apps":[]}`
	const want = `map[apps:[] overview_metrics:[{ecpi_all eCPI (All Installs)  Cost money d} ` +
		`{installs Installs    }] partners:[{34     }]]`
	gone := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }
	for _, tt := range []struct {
		name    string
		filters []string
		replies []reply
		want    string
		err     string
	}{
		{"three lists", []string{"overview_metrics", "partners", "apps"}, []reply{answer(whole)}, want, ""},
		{"cut once", []string{"apps"}, []reply{raw("HTTP/1.1 200 OK\nContent-Length: 9999", []byte(whole)),
			answer(`{"apps":[{"id":"a"}]}`)},
			"map[apps:[{a     }]]", ""},
		{"none", []string{"apps"}, []reply{gone}, "map[]", ""},
		{"broken at the very end, then none", []string{"apps"},
			[]reply{raw("HTTP/1.1 200 OK\nContent-Length: 9999", []byte(whole)), gone}, "map[]", ""},
		{"no lists", []string{"apps"}, []reply{answer(`[]`)}, "",
			"filters_data: the answer isn't an object of lists: json: "},
		{"an odd id", []string{"apps"}, []reply{answer(`{"apps":[{"id":{"a":1}}]}`)}, "",
			`an item's id is {"a":1}; want a text or a number`},
		{"refused", []string{"nonsense"}, []reply{status(400)}, "",
			"filters_data: 400 Bad Request: request_error: words of the service"},
		{"not there", []string{"apps"}, []reply{status(404)}, "", "filters_data: 404 Not Found"},
		{"nothing asked", nil, nil, "", "filters_data: no list is named"},
		{"a comma", []string{"a,b"}, nil, "", `filters_data: required_filters: the value "a,b" holds a comma`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(tt.replies...)
				c, m := open(t, s, nil)
				got, err := c.FiltersData(t.Context(), tt.filters)
				if tt.err != "" {
					var e *Error
					if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.err) || got != nil {
						t.Errorf("%v, error %v, want %s", got, err, tt.err)
					}
					if len(tt.replies) == 0 && len(s.when()) > 0 {
						t.Error("was sent all the same")
					}
					return
				}
				if text := fmt.Sprintf("%s", got); err != nil || text != tt.want ||
					strings.Contains(tt.name, "none") != (got == nil) {
					t.Errorf("%s, %v\nwant %s", text, err, tt.want)
				}
				if path, v := sent(t, s); path != "service.test/reports-service/filters_data" || len(v) != 1 ||
					v.Get("required_filters") != strings.Join(tt.filters, ",") {
					t.Errorf("asked %s with %v", path, v)
				}
				if m.Bytes.Load() != 0 {
					t.Errorf("%d bytes are counted as CSV", m.Bytes.Load())
				}
			})
		})
	}
}

// A 400 and a 403 name the apps of the list that they are about. Only one that names some of them
// is about the list, and others may fare better.
func TestRefusedApps(t *testing.T) {
	for _, c := range []struct {
		status  int
		words   string
		apps    string
		anyDays bool
	}{
		{400, "there is no data of the app bbb222", "bbb222", false},
		{400, "No apps matching BBB222, ccc333.", "bbb222 ccc333", false},
		{400, "no apps matching aaa111,bbb222,ccc333", "aaa111 bbb222 ccc333", true},
		{400, "No apps matching the filter", "", true},
		{400, "Unsupported metric: bbb222", "", true},
		{400, "bbb2223 and xbbb222 aren't apps", "", false},
		{403, "no access to ccc333", "ccc333", false},
		{403, "no access", "", false},
		{404, "no access to ccc333", "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := open(t, play(page(c.status, "text/plain", c.words)), func(o *Options) { o.Attempts = 1 })
			q := query()
			q.Filters = map[string][]string{"app_token__in": {"aaa111", "bbb222", "ccc333"}}
			_, _, err := fetch(t.Context(), client, q)
			var e *Error
			if !errors.As(err, &e) || strings.Join(e.Apps, " ") != c.apps || e.AnyDays != c.anyDays ||
				errors.Is(err, ErrAuth) != (c.status == 403) {
				t.Errorf("%d %s: %+v", c.status, c.words, e)
			}
		})
	}
}
