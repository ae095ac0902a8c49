package adjust

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

func ticketOf(status string) reply {
	return page(200, "application/json",
		`{"status":"`+status+`","kind":"migration","result":{"events":{"successes":["a"],"failures":[]}}}`)
}

// The looks at a job come at once, then after waits that double up to the longest, each shortened
// by up to a half.
func TestWaitTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(ticketOf("new"), ticketOf("new"), ticketOf("opened"), ticketOf("opened"), ticketOf("opened"),
			ticketOf("opened"), ticketOf("later"), ticketOf("COMPLETED"))
		c, _ := open(t, s, nil)
		var seen []string
		got, err := c.WaitTicket(t.Context(), "t-1", Wait{Longest: 8 * time.Second,
			Seen: func(t Ticket) { seen = append(seen, t.Status) }})
		if err != nil || !got.Completed() || !got.Done() || got.Failed() ||
			strings.Join(seen, " ") != "new new opened opened opened opened later COMPLETED" {
			t.Errorf("%+v, %v, %v", got, seen, err)
		}
		at := s.when()
		for i, most := range []time.Duration{1, 2, 4, 8, 8, 8, 8} {
			if pause := at[i+1] - at[i]; pause < most*time.Second/2 || pause > most*time.Second {
				t.Errorf("look %d after %v more, want %d s at most", i+2, pause, most)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) { // many that wait don't look all at once
		c, _ := open(t, play(ticketOf("new")), nil)
		first := map[time.Duration]bool{}
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			var looks []time.Time
			_, _ = c.WaitTicket(ctx, "t", Wait{Seen: func(Ticket) { looks = append(looks, time.Now()) }})
			cancel()
			first[looks[1].Sub(looks[0])] = true
		}
		if len(first) < 4 {
			t.Errorf("%v", first)
		}
	})
}

func TestWaitTicketEnds(t *testing.T) {
	stop := errors.New("the task is stopped")
	for name, c := range map[string]struct {
		replies []reply
		wait    Wait
		cancel  time.Duration
		want    []error
		not     []error
		status  string // of the ticket seen last
		took    time.Duration
		text    string
	}{
		"failed": {replies: []reply{ticketOf("opened"), ticketOf("failed")}, want: []error{ErrTicketFailed},
			not: []error{ErrTicketOpen}, status: "failed", text: "read ticket t-1: 2 attempts over"},
		"deadline": {replies: []reply{ticketOf("opened")}, wait: Wait{Most: time.Minute}, want: []error{ErrTicketOpen},
			not: []error{context.DeadlineExceeded}, status: "opened",
			took: time.Minute, text: "the job isn't over yet, ask for its ticket later, after 1m0s"},
		"deadline by default": {replies: []reply{ticketOf("new")}, want: []error{ErrTicketOpen}, status: "new",
			took: 30 * time.Minute},
		"deadline while asked": {replies: []reply{ticketOf("new"), silent}, wait: Wait{Most: 20 * time.Second},
			want: []error{ErrTicketOpen}, not: []error{context.DeadlineExceeded},
			status: "new", took: 20 * time.Second},
		"cancelled": {replies: []reply{ticketOf("new")}, cancel: 90 * time.Second,
			want: []error{context.Canceled, stop}, not: []error{ErrTicketOpen}, status: "new", took: 90 * time.Second},
		"cancelled while asked": {replies: []reply{ticketOf("new"), silent}, cancel: 10 * time.Second,
			want: []error{context.Canceled, stop}, not: []error{ErrTicketOpen}, status: "new", took: 10 * time.Second},
		"unknown": {replies: []reply{page(400, "application/json", `{"error_desc":"Ticket not found"}`)},
			want: []error{ErrNotFound}, text: "Ticket not found"},
		"refused": {replies: []reply{ticketOf("new"), status(403)}, want: []error{ErrAuth},
			status: "new"},
		"out of order": {replies: []reply{ticketOf("new"), status(500)}, want: []error{errAny},
			not: []error{ErrTicketOpen, ErrTicketFailed}, status: "new"},
		"trouble on the way": {replies: []reply{status(500), status(429, "Retry-After", "5"), reset,
			ticketOf("completed")}, status: "completed"},
		"no status": {replies: []reply{page(200, "application/json", `{}`)}, want: []error{errAny},
			text: "tells no status"},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := open(t, play(c.replies...), nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.cancel > 0 {
				time.AfterFunc(c.cancel, func() { cancel(stop) })
			}
			start := time.Now()
			got, err := client.WaitTicket(ctx, "t-1", c.wait)
			var e *Error
			if (err == nil) != (c.want == nil) || err != nil && !errors.As(err, &e) ||
				!strings.Contains(fmt.Sprint(err), c.text) || got.Status != c.status {
				t.Errorf("%s: %v, ticket %q", name, err, got.Status)
			}
			for _, want := range c.want {
				if !errors.Is(want, errAny) && !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
			for _, not := range c.not {
				if errors.Is(err, not) {
					t.Errorf("%s: %v is %v", name, err, not)
				}
			}
			if took := time.Since(start); c.took > 0 && took != c.took {
				t.Errorf("%s: after %v, want %v", name, took, c.took)
			}
		})
	}
}

func TestTicketProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, play(page(200, "application/json",
			`{"status":"failed","result":{"trackers":{"successes":[],"failures":["x",{"name":"y","detail":"no"}]},
			"partners":{"section":"partners","detail":"Could not be started because events section has failed"},"events":{"failures":[{"odd":1}]},"s2s":{"successes":["z"],"failures":null}}}`)), nil)
		got, err := c.Ticket(t.Context(), "t")
		want := []string{`events {"odd":1}`, "partners: Could not be started because events section has failed",
			"trackers x", "trackers y: no"}
		if err != nil || !slices.Equal(got.Problems(), want) {
			t.Errorf("%q, %v", got.Problems(), err)
		}
	})
}

// What can't be a part of a path, or is too much, isn't sent; nor are line ends and headers in any
// other value.
func TestAutomationInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header) > 6 || r.Header.Get("X-Evil") != "" || r.Host != "service.test" {
				t.Errorf("%v", r.Header)
			}
			page(200, "application/json", `{}`)(w, r)
		})
		c, _ := open(t, s, nil)
		for _, bad := range []string{"", "a/b", "..", ".", "a?b=c", "a#b", "a b", "a\r\nX-Evil: 1", "%2e%2e", "ä",
			"a\x00", strings.Repeat("a", 129)} {
			for name, do := range map[string]func() error{
				"App":        func() error { _, err := c.App(t.Context(), bad); return err },
				"Settings":   func() error { _, err := c.Settings(t.Context(), bad); return err },
				"Ticket":     func() error { _, err := c.Ticket(t.Context(), bad); return err },
				"WaitTicket": func() error { _, err := c.WaitTicket(t.Context(), bad, Wait{}); return err },
				"signature": func() error {
					_, err := c.UpdateSignature(t.Context(), bad,
						SignatureSettings{})
					return err
				},
				"revoke":        func() error { _, err := c.RevokeSecret(t.Context(), "a", bad); return err },
				"reactivate":    func() error { _, err := c.ReactivateSecret(t.Context(), bad, "1", ""); return err },
				"revoke of app": func() error { _, err := c.RevokeSecret(t.Context(), bad, "1"); return err },
				"revoke outdate": func() error {
					_, err := c.RevokeOutdatedSecrets(t.Context(), bad,
						Outdated{})
					return err
				},
			} {
				var e *Error
				if err := do(); !errors.As(err, &e) || e.Attempts != 0 ||
					!strings.Contains(err.Error(), "can't be a token") || strings.ContainsAny(err.Error(), "\r\n\x00") {
					t.Errorf("%s %q: %v", name, bad, err)
				}
			}
		}
		if _, err := c.PutVault(t.Context(), "s", "", strings.Repeat("x", 10<<20)); err == nil ||
			!strings.Contains(err.Error(), "put into vault: what is to be sent is 10485") || len(err.Error()) > 200 {
			t.Errorf("%v", err)
		}
		if _, err := c.CreateApp(t.Context(), App{OverrideSettings: map[string]any{"x": func() {}}}); err == nil ||
			!strings.Contains(err.Error(), "no form in JSON") {
			t.Errorf("%v", err)
		}
		if n := len(s.when()); n != 0 {
			t.Errorf("%d requests", n)
		}
		const evil = "a\r\nX-Evil: 1"
		if _, err := c.CreateApp(t.Context(), App{Name: evil, StoreID: evil, Platform: evil}); err != nil {
			t.Error(err)
		}
		if _, err := c.Settings(t.Context(), "a", evil, "&x=y"); err != nil ||
			!strings.HasSuffix(s.urls[1], "/settings?sections=a%0D%0AX-Evil%3A+1&sections=%26x%3Dy") {
			t.Errorf("%v %s", err, s.urls[1])
		}
	})
}

// A validation error names each field and message; its text has no end of them.
func TestValidationError(t *testing.T) {
	many := strings.Repeat(`{"loc":["body","sections",1],"msg":"unknown section"},`, 60)
	for body, want := range map[string]struct {
		fields int
		text   string
	}{
		`{"error_code":"validation_error","error_desc":"Request validation failed","error_desc_details":[{"loc":["body","channel_setup","facebook","app_id"],"msg":"Field required"},{"loc":["body","platform"],"msg":"Field required","type":"missing"}]}`: {2,
			"create app: 422 Unprocessable Entity: validation_error: Request validation failed: " +
				"channel_setup.facebook.app_id: Field required; platform: Field required"},
		`{"error_desc":"no","error_desc_details":[{"loc":["body"],"msg":"not JSON"},{"loc":["body","sections",3],"msg":""},{"loc":["query","body"],"msg":"m"}]}`: {3, "no: not JSON; sections.3; query.body: m"},
		`{"error_desc_details":[{"loc":["body","x"],"msg":"m"}]}`: {1, "create app: 422 Unprocessable Entity: x: m"},
		`{"error_desc":"no","error_desc_details":null}`: {0,
			"no: the service refuses the data, and doesn't say which field"},
		`{"error_desc":"no","error_desc_details":"odd"}`: {0, "doesn't say which field"},
		`oops`: {0, "oops: the service refuses"},
		`{"error_desc":"no","error_desc_details":[` + many + `{"loc":["body","z"],"msg":"m"}]}`: {61,
			"sections.1: unknown section; and 11 more"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := open(t, play(page(422, "application/json", body)), nil)
			_, err := c.CreateApp(t.Context(), App{})
			var v *transport.ValidationError
			if !errors.As(err, &v) || len(v.Fields) != want.fields || !strings.Contains(err.Error(), want.text) {
				t.Errorf("%s: %v", body, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // details of a 400 are told as well
		c, _ := open(t, play(page(400, "application/json",
			`{"error_desc":"no","error_desc_details":[{"loc":["body","x"],"msg":"m"}]}`)), nil)
		var v *transport.ValidationError
		if _, err := c.CreateApp(t.Context(), App{}); !errors.As(err, &v) || v.Fields[0].Loc[0] != "x" ||
			v.Fields[0].Msg != "m" {
			t.Error(err)
		}
	})
}
