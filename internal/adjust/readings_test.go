package adjust

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

// readingsOf are the choices of some topics' readings, by topic and reading.
func readingsOf(t *testing.T, topics ...string) (choices []string) {
	t.Helper()
	for _, topic := range emulator.ReadingTopics() {
		for _, name := range topics {
			if topic.Name != name {
				continue
			}
			for _, r := range topic.Readings {
				choices = append(choices, name+"="+r.Name)
			}
		}
	}
	if len(choices) < 2*len(topics) {
		t.Fatalf("the topics %q have the readings %q alone", topics, choices)
	}
	return choices
}

// alone is a choice beside the first reading of all other topics, whatever row of readings the
// tests run under.
func alone(choice string) (all []string) {
	for _, topic := range emulator.ReadingTopics() {
		all = append(all, topic.Name+"="+topic.Readings[0].Name)
	}
	return append(all, choice)
}

// underEach runs a test with a client of an emulator of each of the readings.
func underEach(t *testing.T, o emulator.Options, topics []string, test func(t *testing.T, choice string, c *Client)) {
	for _, choice := range readingsOf(t, topics...) {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				with := o
				with.Readings = alone(choice)
				c, _ := withEmulator(t, with, func(o *Options) { o.Attempts = 4 })
				test(t, choice, c)
			})
		})
	}
}

// Whatever an error's body looks like, the error says the status and what there was to read, and a
// refusal isn't repeated.
func TestErrorBodyReadings(t *testing.T) {
	underEach(t, emulator.Options{}, []string{"error-body"}, func(t *testing.T, choice string, c *Client) {
		q := lastWeek()
		q.Metrics = []string{"nonsense"}
		_, a, err := fetch(t.Context(), c, q)
		var e *Error
		if !errors.As(err, &e) || e.Status != http.StatusBadRequest || a.Attempts != 1 || a.Empty ||
			!strings.Contains(err.Error(), "400 Bad Request") {
			t.Fatalf("%d attempts, %v", a.Attempts, err)
		}
		if says := choice != "error-body=empty"; e.AnyDays != says || (e.Metric == "nonsense") != says ||
			strings.Contains(err.Error(), "Unsupported metric: nonsense") != says {
			t.Errorf("%+v: %v", e, err)
		}
	})
}

// With a pause that the service asks for or without one, a request that came too soon is sent again
// later.
func TestRetryAfterReadings(t *testing.T) {
	underEach(t, emulator.Options{Rate: 0.01, Burst: 1}, []string{"retry-after"},
		func(t *testing.T, _ string, c *Client) {
			if _, _, err := fetch(t.Context(), c, lastWeek()); err != nil {
				t.Fatal(err)
			}
			// A token comes after 100 seconds, and four attempts take less.
			_, a, err := fetch(t.Context(), c, lastWeek())
			var e *Error
			if !errors.As(err, &e) || e.Status != http.StatusTooManyRequests || a.Attempts != 4 {
				t.Errorf("%d attempts, %v", a.Attempts, err)
			}
			time.Sleep(2 * time.Minute)
			if _, _, err := fetch(t.Context(), c, lastWeek()); err != nil {
				t.Error(err)
			}
		})
}

// A limit by address or by token slows a client down and loses nothing.
func TestRateByReadings(t *testing.T) {
	underEach(t, emulator.Options{Rate: 2, Burst: 2}, []string{"rate-by"}, func(t *testing.T, _ string, c *Client) {
		for range 12 {
			if _, err := c.Events(t.Context(), EventsQuery{}); err != nil {
				t.Error(err)
			}
		}
	})
}

// Codes of countries come as the service writes them, and are filtered by in any case.
func TestCountryCodes(t *testing.T) {
	underEach(t, emulator.Options{}, []string{"country-code"}, func(t *testing.T, choice string, c *Client) {
		q := lastWeek()
		q.Dimensions = []string{"day", "country_code"}
		q.Filters = map[string][]string{"country_code__in": {"de", "US"}}
		got, _, err := fetch(t.Context(), c, q)
		wanted, other := ",DE,", ",de,"
		if choice == "country-code=lower" {
			wanted, other = other, wanted
		}
		if err != nil || !strings.Contains(got, wanted) || strings.Contains(got, other) ||
			strings.Contains(strings.ToLower(got), ",jp,") {
			t.Errorf("%v: %.200q", err, got)
		}
	})
}

// The rows of a report are the same whatever its answer is called; a report without rows is one
// without a failure.
func TestReportAnswers(t *testing.T) {
	whole := ""
	underEach(t, emulator.Options{}, []string{"report-type", "coding", "unknown-parameters"},
		func(t *testing.T, _ string, c *Client) {
			got, a, err := fetch(t.Context(), c, lastWeek())
			if err != nil || a.Attempts != 1 || a.Empty || !strings.HasPrefix(got,
				"day,app_token,campaign,installs,network_cost\n") {
				t.Fatalf("%+v, %v: %.80q", a, err, got)
			}
			if whole == "" {
				whole = got
			}
			if got != whole {
				t.Errorf("another answer than of the first reading: %.200q", got)
			}
		})
	underEach(t, emulator.Options{}, []string{"report-empty", "unknown-apps"},
		func(t *testing.T, choice string, c *Client) {
			q := lastWeek()
			q.From, q.Until = date(1990, 1, 1), date(1990, 1, 3)
			got, a, err := fetch(t.Context(), c, q)
			if header := choice == "report-empty=header"; err != nil || a.Empty == header ||
				(got == "day,app_token,campaign,installs,network_cost\n") != header {
				t.Errorf("%q, %+v, %v", got, a, err)
			}
		})
	underEach(t, emulator.Options{}, []string{"unknown-apps"}, func(t *testing.T, choice string, c *Client) {
		q := lastWeek()
		q.Filters = map[string][]string{"app_token__in": {"nosuchapp"}}
		_, a, err := fetch(t.Context(), c, q)
		if refused := choice == "unknown-apps=400"; (err != nil) != refused || a.Empty == refused ||
			refused && !strings.Contains(err.Error(), "no apps matching nosuchapp") {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// The list of events means the same in every form, and of apps that were asked for nothing else is
// told.
func TestEventsAnswers(t *testing.T) {
	var whole []Event
	texts := func(list []Event) []Event {
		out := append([]Event{}, list...)
		for i := range out {
			out[i].Section, out[i].Formatting = strings.ToLower(strings.ReplaceAll(out[i].Section, " ", "_")),
				strings.ToLower(strings.ReplaceAll(out[i].Formatting, " ", "_"))
		}
		return out
	}
	topics := []string{"events-form", "events-under-apps", "events-empty", "report-type", "unknown-parameters"}
	underEach(t, emulator.Options{}, topics, func(t *testing.T, _ string, c *Client) {
		all, err := c.Events(t.Context(), EventsQuery{TokensMapping: true})
		if err != nil || len(all) < 10 {
			t.Fatalf("%d events, %v", len(all), err)
		}
		var apps []string
		for _, e := range all {
			if len(e.AppTokens) > 1 {
				apps = e.AppTokens
				break
			}
		}
		some, err := c.Events(t.Context(), EventsQuery{AppTokens: apps[:1], TokensMapping: true})
		if err != nil || len(some) == 0 || len(some) == len(all) {
			t.Fatalf("%d events of %d, %v", len(some), len(all), err)
		}
		for _, e := range some {
			if !reflect.DeepEqual(e.AppTokens, apps[:1]) || len(e.TokensByApp) != 1 ||
				!reflect.DeepEqual(e.TokensByApp[apps[0]], e.Tokens) {
				t.Errorf("asked for %s: %+v", apps[0], e)
			}
		}
		none, err := c.Events(t.Context(), EventsQuery{Contains: "no such event"})
		if err != nil || len(none) > 0 {
			t.Errorf("none: %v, %v", none, err)
		}
		got := texts(append(all, some...))
		if whole == nil {
			whole = got
		}
		if !reflect.DeepEqual(got, whole) {
			t.Errorf("%+v\nwant %+v", got, whole)
		}
	})
}

// What can't be a report is an error that says what came: its status, its type, its first bytes. It
// is never "no rows".
func TestWhatIsNoReport(t *testing.T) {
	send := func(status int, kind, body string) reply {
		return func(w http.ResponseWriter, _ *http.Request) {
			if w.Header()["Content-Type"] = nil; kind != "" {
				w.Header().Set("Content-Type", kind)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const said = `{"error_code":"service_error","error_desc":"the data is being moved"}`
	for name, tt := range map[string]struct {
		answer reply
		says   []string
	}{
		"an error in JSON":             {send(200, "application/json", said), []string{"the data is being moved"}},
		"an error in JSON, called CSV": {send(200, "text/csv", said), []string{"the data is being moved"}},
		"an error of no type":          {send(200, "", said), []string{"the data is being moved"}},
		"an error in HTML": {send(200, "text/html", "<h1>Please stand by</h1>"),
			[]string{"a page of HTML", "Please stand by"}},
		"HTML, called CSV": {send(200, "text/csv", "<h1>Please stand by</h1>"),
			[]string{"begins with", "Please stand by"}},
		"an empty list": {send(200, "application/json", "[]"), []string{"begins with", "[]"}},
		"nothing":       {send(200, "text/csv", ""), []string{"the answer is empty"}},
		"another charset": {send(200, "text/csv; charset=utf-16le", "d\x00"),
			[]string{`in "utf-16le" instead of UTF-8`}},
		"accepted": {send(202, "application/json", `{"status":"queued"}`),
			[]string{"202 Accepted", "queued"}},
		"a reset":           {send(205, "", ""), []string{"205 Reset Content"}},
		"a part":            {send(206, "text/csv", "day,installs\n"), []string{"206 Partial Content"}},
		"not modified":      {send(304, "", ""), []string{"304 Not Modified"}},
		"not found in text": {send(404, "text/plain", "no route"), []string{"404 Not Found", "no route"}},
		"gone":              {send(410, "", ""), []string{"410 Gone"}},
		"denied in text": {send(403, "text/plain", "not for you"),
			[]string{"403 Forbidden", "not for you"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := open(t, play(tt.answer), func(o *Options) { o.Attempts = 2 })
				got, a, err := fetch(t.Context(), c, query())
				if err == nil || a.Empty || got != "" {
					t.Fatalf("%q, %+v, %v", got, a, err)
				}
				for _, text := range tt.says {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("no %q in: %v", text, err)
					}
				}
				list, err := c.Events(t.Context(), EventsQuery{})
				if empty := name == "an empty list"; (err == nil) != empty || len(list) > 0 {
					t.Errorf("events: %v, %v", list, err)
				}
			})
		})
	}
}
