package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// threeIncidents is a message about three incidents, with what a service might take for markup.
func threeIncidents() Message {
	n := News{Link: "https://status.example.com"}
	return n.message([]*incident{
		{Job: "daily", Reason: Stale, ID: "2026-01-05", Kind: opened,
			problem: &Problem{Job: "daily", Reason: Stale, From: "2026-01-05", Through: "2026-01-07", Count: 3,
				What: "<!channel> & co", Do: "reportferry gaps daily"}},
		{Job: "daily", Reason: Denied, Kind: opened, problem: &Problem{Job: "daily", Reason: Denied, Count: 1,
			Do: "reportferry check daily"}},
		{Job: "weekly", Reason: Failed, ID: "2026-01-01", Kind: resolved,
			problem: &Problem{Job: "weekly", Reason: Failed, From: "2026-01-01"}},
	})
}

// What is sent has the form that its receiver takes.
func TestBodies(t *testing.T) {
	for _, c := range []struct {
		address string
		bodies  int
		has     []string
	}{
		{"https://hooks.slack.com/services/T0/B0/secret", 1,
			[]string{`{"text":"reportferry: 2 new, 1 over\n\ndaily: access denied\n    reportferry check daily\n`,
				`\u0026lt;!channel\u0026gt; \u0026amp; co`}},
		{"https://discord.com/api/webhooks/1/secret", 1, []string{`"allowed_mentions":{"parse":[]}`,
			`"content":"reportferry: 2 new`}},
		{"https://chat.googleapis.com/v1/spaces/AAA/messages?key=secret&token=secret", 1,
			[]string{`{"text":"reportferry: 2 new, 1 over\n\ndaily: access denied\n`,
				"\\u003c\u200b!channel\\u003e \\u0026 co", `\n\nhttps://status.example.com"}`}},
		{"https://prod-01.westeurope.logic.azure.com:443/workflows/x", 1,
			[]string{`"contentType":"application/vnd.microsoft.card.adaptive"`, `"weight":"Bolder"`}},
		{"https://events.pagerduty.com/v2/enqueue?routing_key=secret", 3,
			[]string{`"routing_key":"secret"`, `"dedup_key":"reportferry/daily/denied/"`, `"event_action":"resolve"`,
				`"severity":"error"`, `"severity":"warning"`}},
		{"https://example.com/hook", 1, []string{`"command":"reportferry gaps daily"`, `"count":3`,
			`"from":"2026-01-05","id":"reportferry/daily/stale/2026-01-05"`, `"link":"https://status.example.com"`}},
	} {
		at, err := url.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		to, form := formOf(at)
		if strings.Contains(to, "routing_key") {
			t.Errorf("%s is sent to %s", c.address, to)
		}
		bodies := form(threeIncidents())
		text := ""
		for _, b := range bodies {
			one, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			text += string(one) + "\n"
		}
		for _, has := range c.has {
			if len(bodies) != c.bodies || !strings.Contains(text, has) {
				t.Errorf("%s: %d bodies, no %s in\n%s", c.address, len(bodies), has, text)
			}
		}
	}
}

// A server that refuses, sends elsewhere or repeats what it is sent is an error, which has nothing
// of the address.
func TestServersThatFail(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("a message went elsewhere")
	}))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"is busy": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "60")
			http.Error(w, r.URL.String(), http.StatusTooManyRequests)
		}, "429 Too Many Requests"},
		"refuses": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.URL.String(),
				http.StatusForbidden)
		}, "403 Forbidden"},
		"breaks": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"sends on": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
		}, "308"},
		"repeats": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.String())
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprint(w, r.URL, r.Header)
		}, "502"},
		"isn't there": {nil, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := "http://127.0.0.1:1"
			if c.answer != nil {
				s := httptest.NewServer(c.answer)
				t.Cleanup(s.Close)
				address = s.URL
			}
			ctx, cancel := context.WithTimeout(t.Context(), SendTime)
			defer cancel()
			for _, path := range []string{"/hidden-path?token=hidden-token&insecure=true",
				"/v1/spaces/hidden/messages?key=hidden-key&token=hidden-token"} {
				send, err := Sender(address + path)
				if err != nil {
					t.Fatal(err)
				}
				if err = send(ctx, threeIncidents()); err == nil || !strings.Contains(err.Error(), c.says) ||
					strings.Contains(err.Error(), "hidden") {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	for _, c := range []struct {
		address string
		refused bool
	}{
		{"http://hooks.example/hidden", true}, {"http://hooks.example/hidden?insecure=false", true},
		{"http://127.0.0.1.example/hidden", true},
		{"http://hooks.example/hidden?insecure=true", false}, {"https://hooks.example/hidden", false},
		{"http://[::1]:80/hidden", false},
	} {
		_, err := Sender(c.address)
		_, beat := NewPoster().Heartbeat(c.address)
		if (err != nil) != c.refused || (beat != nil) != c.refused || c.refused &&
			strings.Contains(err.Error()+beat.Error(), "hidden") {
			t.Errorf("%s: %v, %v", c.address, err, beat)
		}
	}
	for _, wrong := range []string{"", "hidden", "ftp://hidden/x", "smtp://user:hidden@host", "://hidden"} {
		if _, err := Sender(wrong); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// A server that takes a message and never answers is given up when the time for sending is over.
// The run goes on, and the next one tells.
func TestASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPoster()
		p.Transport = silence()
		silent := Receiver{Name: "silent", Send: func(ctx context.Context, m Message) error {
			return p.Post(ctx, "http://hook.example/hidden-path", "", m)
		}}
		l, good := memLedger(t), newEar("good")
		began := time.Now()
		err := Send(t.Context(), News{
			Ledger: l, Run: "run", Began: began, Now: began, Jobs: []string{"daily"},
			Calm:     map[string]bool{"daily": true},
			Problems: []Problem{missing("2026-01-05", "2026-01-05")}, Receivers: []Receiver{silent, good.Receiver},
		})
		if took := time.Since(began); took != SendTime || err == nil ||
			!strings.Contains(err.Error(), "silent: context deadline") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("after %v: %v", took, err)
		}
		if got := good.heard(); got != "opened stale 2026-01-05" {
			t.Errorf("the other heard %q", got)
		}
	})
}

// A roundTrip answers requests without a network.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// A room of Google Chat takes one message a second, from whoever it is: what it refuses because of
// that is sent again, and not twice.
func TestABusyRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const processes = 3
		var mu sync.Mutex
		var taken []string
		last := time.Now().Add(-time.Hour)
		p := NewPoster()
		p.Transport = roundTrip(func(r *http.Request) *http.Response {
			mu.Lock()
			defer mu.Unlock()
			text, _ := io.ReadAll(r.Body)
			if time.Since(last) < time.Second {
				return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}
			}
			taken, last = append(taken, string(text)), time.Now()
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
		})
		ctx, cancel := context.WithTimeout(t.Context(), SendTime)
		defer cancel()
		var wg sync.WaitGroup
		for i := range processes {
			wg.Go(func() {
				if err := p.Post(ctx, "https://chat.googleapis.com/v1/spaces/A/messages", "", i); err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if slices.Sort(taken); strings.Join(taken, " ") != "0 1 2" {
			t.Errorf("the room has %v", taken)
		}
	})
}

// What is longer than a text may be in Google Chat is cut between characters.
func TestALongTextForGoogleChat(t *testing.T) {
	text := googleChat(Message{Title: strings.Repeat("<\u00e4", 3000)}).(map[string]string)["text"]
	body, err := json.Marshal(map[string]string{"text": text})
	if n := utf8.RuneCountInString(text); err != nil || n > 4096 || len(text) < 4090 || len(body) > 32000 ||
		!utf8.ValidString(text) || !strings.HasSuffix(text, "...") {
		t.Errorf("%d characters, %d bytes, %d in all: %v", n, len(text), len(body), err)
	}
}

// A mail has the message, and goes to all who are named; a server that refuses is told of without
// the password.
func TestMail(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() { got <- smtp(l, refuses) }()
		send, err := Sender(fmt.Sprintf("smtp://robot:hidden-password@%s/?from=robot@a.example&to=one@b.example"+
			"&to=two@b.example", l.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err = send(ctx, threeIncidents())
		cancel()
		_ = l.Close()
		said := <-got
		if refuses {
			if err == nil || strings.Contains(err.Error(), "hidden-password") ||
				strings.Contains(err.Error(), "robot ") {
				t.Errorf("a server that refuses: %v", err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
		}
		for _, has := range []string{"Subject: reportferry: 2 new, 1 over", "RCPT TO:<one@b.example>",
			"RCPT TO:<two@b.example>", "daily: access denied", "reportferry gaps daily"} {
			if !strings.Contains(said, has) {
				t.Errorf("there is no %s in\n%s", has, said)
			}
		}
	}
}

// smtp is a server of mail that takes one letter, and gives all that it was told.
func smtp(l net.Listener, refuses bool) string {
	c, err := l.Accept()
	if err != nil {
		return err.Error()
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second)) // a client that was refused may leave the connection open
	var said strings.Builder
	answer := func(text string) { _, _ = fmt.Fprint(c, text+"\r\n") }
	answer("220 here")
	lines, data := bufio.NewScanner(c), false
	for lines.Scan() {
		line := lines.Text()
		said.WriteString(line + "\n")
		switch verb, _, _ := strings.Cut(line, " "); {
		case data && line == ".":
			data = false
			answer("250 notice")
		case data:
		case verb == "EHLO":
			answer("250-here\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME")
		case verb == "AUTH" && refuses:
			answer("535 who is robot hidden-password")
		case verb == "AUTH":
			answer("235 welcome")
		case verb == "DATA":
			data = true
			answer("354 go on")
		case verb == "QUIT":
			answer("221 bye")
			return said.String()
		default:
			answer("250 fine")
		}
	}
	return said.String()
}
