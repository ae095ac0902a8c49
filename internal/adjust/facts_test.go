package adjust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reportferry/reportferry/internal/slow"
)

// An endpointCall is one of the client's methods that asks the service, for what any answer must
// hold of every endpoint.
type endpointCall struct {
	name   string // the method's
	op     string // begins its errors
	do     func(context.Context, *Client) (any, error)
	kind   string // of the answer
	answer string
	want   string // the result, printed
	record bool   // a record is sent: the answer is a word
	table  bool   // the answer is a table: any text is one, with a header alone
	write  bool   // the answer may say nothing, because what was asked for is known
	none   bool   // 204: there is nothing
}

// endpointCalls are those of app automation, as TestAutomation has them, and the others.
func endpointCalls() []endpointCall {
	ops := map[string]string{
		"CreateApp": "create app", "UpdateApp": "update app", "MoreApps": "list apps",
		"AppByStore": "find app by store ID", "App": "read app p77yk727r18g", "Apps": "list apps",
		"Settings":    "read settings of app abc",
		"SettingsCSV": "export settings", "Ticket": "read ticket 5d1c7e3e-9a55-4d06-a6a7-6c2b0a3a6f7a",
		"SubmitEvents": "submit events", "UpdateSignature": "update signature of app abc",
		"RevokeOutdatedSecrets": "revoke outdated secrets of app abc", "RevokeSecret": "revoke secret 3 of app abc",
		"ReactivateSecret": "reactivate secret 3 of app abc",
		"PutVault":         "put into vault", "Vault": "list vault",
	}
	writes := []string{"CreateApp", "UpdateApp", "SubmitEvents", "UpdateSignature", "RevokeOutdatedSecrets",
		"RevokeSecret", "ReactivateSecret", "PutVault"}
	var calls []endpointCall
	for _, m := range methods() {
		name, _, _ := strings.Cut(m.name, ",")
		calls = append(calls, endpointCall{name: name, op: ops[name], do: m.do,
			kind: cmp.Or(m.kind, "application/json"), answer: m.answer, want: m.want,
			table: name == "SettingsCSV", write: slices.Contains(writes, name),
			none: slices.Contains([]string{"Apps", "MoreApps", "Vault", "SettingsCSV"}, name)})
	}
	return append(calls,
		endpointCall{name: "WaitTicket", op: "read ticket abc", kind: "application/json",
			answer: `{"status":"completed","kind":"migration","result":{}}`, want: "{completed migration map[] map[]}",
			do: func(ctx context.Context, c *Client) (any, error) { return c.WaitTicket(ctx, "abc", Wait{}) }},
		endpointCall{name: "Events", op: "events", kind: "application/json", none: true,
			answer: `[{"id":"purchase","name":"Purchase","short_name":"P","section":"Revenue","formatting":"MONEY","description":"d","app_token":["a"],"tokens":["t"],"is_skad_event":true}]`,
			want:   "[{purchase Purchase P Revenue MONEY d [a] [t] true map[]}]",
			do:     func(ctx context.Context, c *Client) (any, error) { return c.Events(ctx, EventsQuery{}) }},
		endpointCall{name: "FiltersData", op: "filters_data", kind: "application/json", none: true,
			answer: `{"overview_metrics":[{"id":"installs","name":"Installs","section":"Installs"}]}`,
			want:   "map[overview_metrics:[{installs Installs  Installs  }]]",
			do: func(ctx context.Context, c *Client) (any, error) {
				return c.FiltersData(ctx, []string{"overview_metrics"})
			}},
		endpointCall{name: "CSVReport", op: "csv_report 2026-01-01:2026-01-07", kind: "text/csv", none: true,
			table: true, answer: truth, want: truth,
			do: func(ctx context.Context, c *Client) (any, error) {
				text, _, err := fetch(ctx, c, query())
				return text, err
			}},
		endpointCall{name: "SubmitSpend", op: "cost", kind: "text/plain", record: true, answer: "OK", want: "taken",
			do: func(ctx context.Context, c *Client) (any, error) { return taken(submit(ctx, c, record())) }},
		endpointCall{name: "ShareThirdParty", op: "third_party_sharing", kind: "application/json", record: true,
			answer: `{"status":"OK"}`, want: "taken",
			do: func(ctx context.Context, c *Client) (any, error) { return taken(share(ctx, c, choice())) }},
	)
}

// taken is the result of a record.
func taken(err error) (any, error) {
	if err != nil {
		return "", err
	}
	return "taken", nil
}

// everywhere is a client for all areas of the service.
func everywhere(o *Options) {
	o.CostURL, o.S2SURL, o.Attempts = "http://service.test", "http://service.test", 2
	o.SpendAuth, o.SharingAuth = RecordAuth{Key: &fixed{tokens: []string{secretToken}}},
		RecordAuth{Key: &fixed{tokens: []string{secretToken}}}
}

// asked calls an endpoint that is answered by r.
func (e endpointCall) asked(t *testing.T, r reply) (got string, zero bool, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, play(r), everywhere)
		var value any
		value, err = e.do(t.Context(), c)
		if got = show(value); err != nil {
			got = ""
		}
		v := reflect.ValueOf(value)
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		zero = !v.IsValid() || v.IsZero() || fmt.Sprint(value) == "" || v.Kind() == reflect.Map && v.Len() == 0 ||
			v.Kind() == reflect.Slice && v.Len() == 0
	})
	return got, zero, err
}

// Every method that asks the service is in the table.
func TestEndpointCallsAreAll(t *testing.T) {
	var names []string
	for _, e := range endpointCalls() {
		names = append(names, e.name)
		if e.op == "" {
			t.Errorf("%s: what do its errors begin with?", e.name)
		}
	}
	of := reflect.TypeFor[*Client]()
	for m := range of.Methods() {
		asks := m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]()
		if asks && !slices.Contains(names, m.Name) {
			t.Errorf("endpointCalls has no %s", m.Name)
		}
	}
}

// Each endpoint understands its answer in the ways in which the service was seen to send it.
func TestAnswersOfEveryEndpoint(t *testing.T) {
	for _, e := range endpointCalls() {
		for name, r := range map[string]reply{
			"as documented":      page(200, e.kind, e.answer),
			"a type in capitals": page(200, strings.ToUpper(e.kind)+"; Charset=UTF-8", e.answer),
			"without a type":     page(200, "", e.answer),
			"as text":            page(200, "text/plain; charset=utf-8", e.answer),
			"with blank lines": page(200, e.kind,
				map[bool]string{false: "\n  "}[e.table]+e.answer+map[bool]string{false: "\n\n"}[e.table]),
		} {
			if got, _, err := e.asked(t, r); err != nil || got != e.want {
				t.Errorf("%s, %s: %s, %v\nwant %s", e.name, name, got, err, e.want)
			}
		}
		got, zero, err := e.asked(t, func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		})
		switch {
		case err != nil:
			if e.none || !strings.HasPrefix(err.Error(), e.op) || !strings.Contains(err.Error(), "204") {
				t.Errorf("%s: 204: %v", e.name, err)
			}
		case !e.none && !e.write && (!e.record || got != "taken"):
			t.Errorf("%s: 204 is a success: %s", e.name, got)
		case e.none && !zero:
			t.Errorf("%s: 204 is %s", e.name, got)
		}
	}
}

// A status in capitals is the same one.
func TestCapitalsOfAnswers(t *testing.T) {
	for _, word := range []string{"completed", "COMPLETED", "Completed"} {
		r := page(200, "application/json",
			`{"status":"`+word+`","kind":"MIGRATION","result":{"events":{"successes":["a"],"failures":[]}}}`)
		synctest.Test(t, func(t *testing.T) {
			c, _ := open(t, play(r), everywhere)
			ticket, err := c.WaitTicket(t.Context(), "abc", Wait{})
			if err != nil || !ticket.Completed() || len(ticket.Result) != 1 {
				t.Errorf("%s: %+v, %v", word, ticket, err)
			}
		})
	}
}

// told are an error's words in every form that the service, or what stands before it, was seen to
// send.
func told(words string) map[string]reply {
	return map[string]reply{
		"model":       page(0, "application/json", `{"error_code":"request_error","error_desc":"`+words+`"}`),
		"in capitals": page(0, "application/json", `{"Error_Code":"REQUEST_ERROR","Error_Desc":"`+words+`"}`),
		"details": page(0, "application/json",
			`{"error_code":"validation_error","error_desc":"Bad","error_desc_details":[{"loc":["body","name"],"msg":"`+words+`"}]}`),
		"error":         page(0, "application/json", `{"error":"`+words+`"}`),
		"error, object": page(0, "application/json", `{"error":{"code":7,"message":"`+words+`"}}`),
		"errors":        page(0, "application/json", `{"errors":[{"message":"`+words+`"}]}`),
		"detail":        page(0, "application/json", `{"detail":"`+words+`"}`),
		"detail, list": page(0, "application/json",
			`{"detail":[{"loc":["body","name"],"msg":"`+words+`","type":"missing"}]}`),
		"message": page(0, "application/json",
			`{"timestamp":"x","status":500,"error":"Sorry","message":"`+words+`"}`),
		"problem":    page(0, "application/problem+json", `{"type":"about:blank","title":"`+words+`"}`),
		"text":       page(0, "text/plain", words),
		"text, long": page(0, "text/plain", words+strings.Repeat(" and so on", 9999)),
		"no type":    page(0, "", words),
		"HTML": page(0, "text/html",
			"<!doctype html><html><head><style>p {color: red}</style><title>"+words+"</title></head><body><p>it"+
				"&#39;s &lt;us&gt;</p></body></html>"),
		"HTML in prose":  page(0, "text/plain", "\n<html><script>var x = 1</script><h1>"+words+"</h1>"),
		"half of JSON":   page(0, "application/json", `{"error_desc":"`+words+` and`),
		"with its token": page(0, "application/json", `{"detail":"`+words+` Bearer `+secretToken+`"}`),
	}
}

// under is a reply with another status.
func under(code int, r reply) reply {
	return func(w http.ResponseWriter, req *http.Request) { r(&statusWriter{w, code}, req) }
}

type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(int) { w.ResponseWriter.WriteHeader(w.code) }

// Whatever is answered instead of an answer, the error names what was asked, the status and the
// words, on one line, without markup and without the token, and nothing is returned beside it.
func TestErrorsOfEveryEndpoint(t *testing.T) {
	slow.Test(t)
	const words = "The hamster is unwell"
	for _, e := range endpointCalls() {
		for _, code := range []int{202, 302, 400, 401, 403, 404, 409, 418, 422, 429, 500, 502, 503, 504} {
			taken := code == http.StatusAccepted && e.name == "SubmitSpend" // any word but an error's, as under 200
			for form, r := range told(words) {
				_, zero, err := e.asked(t, under(code, r))
				if !taken || err != nil {
					e.check(t, fmt.Sprintf("%d, %s", code, form), err, zero, fmt.Sprint(code, " "), words)
				} else if !slices.Contains([]string{"text", "text, long", "no type", "half of JSON", "problem"}, form) {
					t.Errorf("%s: %d, %s is taken for a success", e.name, code, form)
				}
			}
			if taken {
				continue
			}
			_, zero, err := e.asked(t, page(code, "", ""))
			e.check(t, fmt.Sprintf("%d, empty", code), err, zero, fmt.Sprint(code, " "))
		}
	}
}

// An error, a page or a text under 200 is no success.
func TestErrorsUnder200(t *testing.T) {
	const words = "The hamster is unwell"
	for _, e := range endpointCalls() {
		for form, r := range told(words) {
			switch form {
			case "text", "text, long", "no type", "half of JSON":
				if e.table || e.record { // any text is a header, or a word
					continue
				}
				_, zero, err := e.asked(t, under(200, r))
				e.check(t, "200, "+form, err, zero)
				continue
			case "problem", "HTML in prose": // nothing that is surely an error's
				continue
			}
			_, zero, err := e.asked(t, under(200, r))
			if e.kind == "text/csv" && form != "HTML" { // it isn't JSON's type either
				e.check(t, "200, "+form, err, zero)
				continue
			}
			e.check(t, "200, "+form, err, zero, words)
		}
	}
}

// markup is that of the pages, without what they quote, and of errors in JSON that are a text.
var markup = regexp.MustCompile(`(?i)<[!/]|<(html|head|p|h1|style|script|title)\b|\{"(error|detail)"`)

// check holds an error to what every error has.
func (e endpointCall) check(t *testing.T, name string, err error, zero bool, parts ...string) {
	t.Helper()
	var own *Error
	if !errors.As(err, &own) || !zero || !strings.HasPrefix(err.Error(), e.op) {
		t.Errorf("%s: %s: %v, nothing beside it: %t", e.name, name, err, zero)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %s: %v\nwant %q in it", e.name, name, err, part)
		}
	}
	if text := err.Error(); len(text) > 1500 || strings.Contains(text, "\n") || markup.MatchString(text) ||
		strings.Contains(text, "T0ken") || strings.Contains(text, "color") {
		t.Errorf("%s: %s: %v", e.name, name, err)
	}
}
