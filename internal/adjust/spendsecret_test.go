package adjust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

// showsID tells whether text holds eight characters in a row of the record's Cost ID, in any
// spelling.
func showsID(text, id string) bool {
	escaped, err := json.Marshal(id)
	if err != nil {
		panic(err)
	}
	for _, form := range []string{id, url.QueryEscape(id), url.PathEscape(id), html.EscapeString(id),
		string(escaped[1 : len(escaped)-1])} {
		form, text := strings.ToLower(form), strings.ToLower(text)
		for i := 0; i+8 <= len(form); i++ {
			if strings.Contains(text, form[i:i+8]) {
				return true
			}
		}
	}
	return false
}

// A service may repeat the record in its answer: no error and no log, at any level, shows its Cost
// ID or the key.
func TestCostIDIsScrubbed(t *testing.T) {
	for _, id := range []string{record().CostID, "3P4OXS8dMAQbqn4Y", "550e8400-e29b-41d4-a716-446655440000",
		"click=7&user=ä/b+c%20d<e>\"f\"", "ééééééééééééé"} {
		text := func(code int, body string) reply { return page(code, "text/plain", body) }
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("x ", 195)
		for name, r := range map[string]reply{
			"words":       text(400, "cost_id "+id+" is malformed, key "+secretToken),
			"of a retry":  text(503, "try "+id+" later"),
			"of a pause":  page(429, "text/plain", id, "Retry-After", "1"),
			"in capitals": text(400, strings.ToUpper(id)+" "+strings.ToLower(id)),
			"a query":     text(502, "POST /cost?cost_id="+url.QueryEscape(id)+"&tag=x"),
			"a path":      text(404, "/cost/"+url.PathEscape(id)),
			"HTML":        page(200, "text/html", "<p>"+html.EscapeString(id)+"</p>"),
			"JSON":        page(422, "application/json", `{"error":"no such cost_id: `+string(quoted[1:])+`}`),
			"JSON, other": page(422, "application/json", `{"what":`+string(quoted)+`}`),
			"JSON, in details": page(422, "application/json",
				`{"error_desc":"no","error_desc_details":[{"loc":["body",`+string(quoted)+`],"msg":"no"}]}`),
			"shortened":          text(400, "cost_id "+string([]rune(id)[:10])+"... is malformed"),
			"twice":              text(500, id+id+" "+id),
			"cut in the middle":  text(400, long+id),
			"cut by the service": cutWords(403, "forbidden: "+id),
			"behind much":        text(400, strings.Repeat(" ", errorBodyLimit-9)+id),
			"redirect":           page(302, "text/plain", "", "Location", "/sorry?id="+url.QueryEscape(id)),
			"redirect, broken":   page(302, "text/plain", "", "Location", "http://[::1/"+id),
			"status":             raw("HTTP/1.1 "+url.PathEscape(id)+" hm", nil),
			"header":             raw("HTTP/1.1 200 OK\n"+id, nil),
			"length":             raw("HTTP/1.1 200 OK\nContent-Length: "+url.PathEscape(id), nil),
			"key of a 401": text(401,
				"POST /cost?partner_key="+url.QueryEscape(secretToken)+"&cost_id="+url.QueryEscape(id)),
			"key in a form": text(400, record().form()+"&partner_key="+url.QueryEscape(secretToken)),
			"key in a location": page(302, "text/plain", "", "Location",
				"/sorry?partner_key="+url.QueryEscape(secretToken)),
			"key in HTML":         page(200, "text/html", "<p>Bearer "+secretToken),
			"unknown answer":      text(203, "made "+id),
			"the whole request":   text(400, record().form()+" "+Spend{CostID: id}.form()),
			"percent, lower case": text(400, strings.ToLower(url.QueryEscape(id))),
		} {
			for _, parameter := range []string{"", "partner_key"} {
				hidesSpend(t, fmt.Sprintf("%s, %q", name, parameter), id, parameter, r)
			}
		}
	}
}

// hidesSpend wants neither the Cost ID nor the key in an error or a log.
func hidesSpend(t *testing.T, name, id, parameter string, r reply) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		client, _ := openSpend(t, play(r), func(o *Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			o.SpendAuth.Parameter = parameter
		})
		rec := record()
		rec.CostID = id
		err := submit(t.Context(), client, rec)
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, s := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", e), e.Message, e.Code,
			fmt.Sprint(errors.Unwrap(err)), log.String()} {
			if showsID(s, id) {
				t.Errorf("%s: the Cost ID %s is in %s", name, id, s)
			}
			if shows(s) {
				t.Errorf("%s: the key is in %s", name, s)
			}
		}
		if len(e.Message) > 3*400+20 {
			t.Errorf("%s: %d bytes of words", name, len(e.Message))
		}
	})
}

func cutWords(code int, body string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9999")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// A thousand records that meet the same trouble don't fill the log.
func TestSpendWarnsOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		client, _ := openSpend(t, play(page(503, "text/plain", "")), func(o *Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			o.Rate, o.InFlight, o.Attempts = 1e6, 1, 2
		})
		for range 20 {
			if err := submit(t.Context(), client, record()); err == nil {
				t.Fatal("taken")
			}
		}
		if n := strings.Count(log.String(), "\n"); n < 3 || n > 15 { // 20 waits of half a second in the mean
			t.Errorf("%d lines: %s", n, log.String())
		}
	})
}
