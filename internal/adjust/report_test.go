package adjust

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
)

func TestHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(csv)
		c, _ := open(t, s, func(o *Options) { o.AccountID = "4711"; o.UserAgent = "reportferry/1.2" })
		if _, _, err := fetch(t.Context(), c, query()); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"Authorization": "Bearer " + secretToken, "X-Account-Id": "4711",
			"User-Agent": "reportferry/1.2", "Accept-Encoding": "zstd, gzip", "Accept": "text/csv"} {
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
	want := []Event{{ID: "purchase", Name: "Purchase Event", ShortName: "PUR", Section: "Revenue", Formatting: "money",
		Description: "d",
		AppTokens:   []string{"a1", "b2"}, Tokens: []string{"t1", "t2"}, IsSKAdEvent: true,
		TokensByApp: map[string][]string{"a1": {"t1"}, "b2": {"t2"}}},
		{ID: "open", Name: "Open"}}
	first := want[0]
	first.AppTokens, first.Tokens, first.TokensByApp = []string{"a1"}, []string{"t1"}, map[string][]string{"a1": {"t1"}}
	only := []Event{first, want[1]}
	for _, tt := range []struct {
		name    string
		query   EventsQuery
		replies []reply
		sends   string
		want    []Event
		err     string
	}{
		{"all", EventsQuery{}, []reply{answer(whole)}, "", want, ""},
		{"narrowed", EventsQuery{Contains: "pur chase", AppTokens: []string{"a1", "b2"}, TokensMapping: true},
			[]reply{answer(whole)},
			"?app_token__in=a1%2Cb2&events__contains=pur+chase&tokens_mapping=true", want, ""},
		{"Contains", EventsQuery{Contains: "purchase"}, []reply{answer(whole)}, "?events__contains=purchase", want, ""},
		{"AppTokens", EventsQuery{AppTokens: []string{"a1"}}, []reply{answer(whole)}, "?app_token__in=a1", only, ""},
		{"AppTokens in another case", EventsQuery{AppTokens: []string{"A1"}}, []reply{answer(whole)},
			"?app_token__in=A1", only, ""},
		{"of another app", EventsQuery{AppTokens: []string{"c3"}}, []reply{answer(whole)}, "?app_token__in=c3", want,
			""},
		{"in an object", EventsQuery{}, []reply{answer(`{"events":` + whole + `}`)}, "", want, ""},
		{"null", EventsQuery{}, []reply{answer("null")}, "", nil, ""},
		{"null in an object", EventsQuery{}, []reply{answer(`{"events":null}`)}, "", nil, ""},
		{"a page of more", EventsQuery{}, []reply{answer(`{"events":[],"next":2}`)}, "", nil,
			"events: the answer isn't a list of events: json: cannot unmarshal object into Go value of type " +
				"[]adjust.Event; it begins with \"{\\\"events\\\":[],\\\"next\\\":2}\""},
		{"an error that is called a success", EventsQuery{},
			[]reply{answer(`{"error_code":"service_error","error_desc":"no"}`)}, "", nil,
			"events: service_error: no: an error under a status that tells none"},
		{"TokensMapping", EventsQuery{TokensMapping: true}, []reply{answer(whole)}, "?tokens_mapping=true", want, ""},
		{"cut once", EventsQuery{}, []reply{cut(20), answer(whole)}, "", want, ""},
		{"a gateway's page", EventsQuery{}, []reply{func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = io.WriteString(w, "<html>")
		}, answer(whole)}, "", want, ""},
		{"none", EventsQuery{}, []reply{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }}, "", nil,
			""},
		{"broken at the very end, then none", EventsQuery{},
			[]reply{raw("HTTP/1.1 200 OK\nContent-Length: 9999", []byte(whole)),
				func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }}, "", nil, ""},
		{"an empty list", EventsQuery{}, []reply{answer("[]")}, "", []Event{}, ""},
		{"no list", EventsQuery{}, []reply{answer(`{"id":1}`)}, "", nil,
			"events: the answer isn't a list of events: json: cannot unmarshal object"},
		{"refused", EventsQuery{}, []reply{status(400)}, "", nil,
			"events: 400 Bad Request: request_error: words of the service on 400"},
		{"comma", EventsQuery{AppTokens: []string{"a,b"}}, []reply{answer("[]")}, "", nil,
			"events: app_token__in: the value \"a,b\" holds a comma"},
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
