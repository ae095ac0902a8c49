package adjust

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/slow"
)

// An answer without end is bounded: what is kept of it in memory, and what is read of it.
func TestLongAnswers(t *testing.T) {
	slow.Test(t)
	const long = 100 << 20
	piece := bytes.Repeat([]byte("x"), 1<<20)
	var kind, head string
	var code int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, head)
		for range long / len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}`)
	}))
	defer s.Close()
	web := &http.Client{Transport: &http.Transport{}}
	c, err := New(Options{BaseURL: s.URL, Token: &fixed{tokens: []string{secretToken}}, S2SURL: s.URL,
		Options: transport.Options{Attempts: 1, Rate: 1000, HTTP: web}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.CloseIdleConnections()
	for _, a := range []struct {
		name, kind, head string
		code             int
		do               func() error
		text             string // of the error; empty: none
	}{
		{"a field", "application/json", `{"name":"`, 200, func() error {
			_,
				err := c.App(t.Context(), "a")
			return err
		}, "the answer isn't an app: the answer is longer than 64 MiB"},
		{"many values", "application/json", `{}`, 200, func() error {
			_,
				err := c.CreateApp(t.Context(), App{})
			return err
		}, "more follows"},
		{"CSV", "text/csv", "", 200, func() error {
			var b strings.Builder
			err := c.SettingsCSV(t.Context(), &b, nil, nil)
			if b.Len() > 0 {
				t.Errorf("%d bytes were written", b.Len())
			}
			return err
		}, "the answer is longer than 64 MiB"},
		{"an error", "application/json", `{"error_desc":"`, 422,
			func() error { _, err := c.CreateApp(t.Context(), App{}); return err }, ": 422 Unprocessable"},
		{"sharing, taken", "application/json", `{"status":"`, 200,
			func() error { return share(t.Context(), c, choice()) }, ""},
		{"sharing, refused", "text/plain", "", 400, func() error { return share(t.Context(), c, choice()) },
			"400 Bad Request: the record is refused"},
	} {
		kind, head, code = a.kind, a.head, a.code
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := a.do()
		runtime.ReadMemStats(&after)
		if (err == nil) != (a.text == "") || err != nil && (!strings.Contains(err.Error(), a.text) ||
			len(err.Error()) > errorLimit) {
			t.Errorf("%s: %.300v", a.name, err)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 8*answerLimit>>20 || a.code != 200 && used > 4 {
			t.Errorf("%s: %d MiB allocated", a.name, used)
		}
	}
}

// A report without end, however small it is packed, ends at MaxAnswer. Who can ask for less does so
// at once, and nobody asks the same again.
func TestReportsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 20
		var rows, asked int
		endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Content-Type", "text/csv")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, "day,installs\n")
			for rows = 0; rows < 100*most; rows++ {
				if _, err := io.WriteString(z, "2026-01-01,1\n"); err != nil {
					return
				}
			}
		})
		for _, splittable := range []bool{false, true} {
			asked = 0
			c, _ := open(t, endless, func(o *Options) { o.MaxAnswer = most })
			q := query()
			q.Splittable = splittable
			read := int64(0)
			_, err := c.CSVReport(t.Context(), q, func(r io.Reader) (err error) {
				read, err = io.Copy(io.Discard, r)
				return err
			})
			if err == nil || !strings.Contains(err.Error(),
				"longer than 1048576 bytes unpacked (service.max_answer)") || errors.Is(err, ErrTooSlow) != splittable {
				t.Errorf("splittable %v: %v", splittable, err)
			}
			if read > most || asked != 1 {
				t.Errorf("%d bytes were given to the reader, in %d requests", read, asked)
			}
		}
	})
}
