package adjust

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	adID = "38400000-8cf0-11bd-b23e-10b96e40000d"
	idfa = "6D92078A-8246-4BA4-AE5B-76104861E7DC"
)

func choice() Sharing {
	return Sharing{AppToken: "abc123xyz", GPSAdID: adID, IDFA: idfa, Choice: "enable",
		Partners: `{"all":{"all":false},"facebook":{"install":true}}`, Options: `{"google_dma":{"eea":"1"}}`}
}

// openSharing makes a client for third-party sharing only, of h.
func openSharing(t *testing.T, h http.Handler, edit func(*Options)) (*Client, *Meter) {
	t.Helper()
	return open(t, h, func(o *Options) {
		o.BaseURL, o.Token = "", nil
		o.S2SURL, o.SharingAuth.Key = "http://s2s.test", &fixed{tokens: []string{secretToken}}
		if edit != nil {
			edit(o)
		}
	})
}

var shared200 = page(200, "application/json", `{"status":"OK"}`)

func TestSharingRequest(t *testing.T) {
	key := &fixed{tokens: []string{secretToken}}
	for _, c := range []struct {
		record        Sharing
		auth          RecordAuth
		url, path     string
		header, value string
		form          url.Values
	}{
		{choice(), RecordAuth{Key: key}, "http://s2s.test", "s2s.test/third_party_sharing", "Authorization",
			"Bearer " + secretToken, url.Values{
				"s2s": {"1"}, "app_token": {"abc123xyz"}, "gps_adid": {adID}, "idfa": {idfa}, "sharing": {"enable"},
				"partner_sharing_settings":             {choice().Partners},
				"granular_third_party_sharing_options": {choice().Options},
			}},
		{Sharing{AppToken: "a&b\r\nX-Evil: 1", IDFA: "x y&s2s=2", Choice: "dis\nable"}, RecordAuth{},
			"http://s2s.test/eu/", "s2s.test/eu/third_party_sharing", "Authorization", "", url.Values{
				"s2s": {"1"}, "app_token": {"a&b\r\nX-Evil: 1"}, "idfa": {"x y&s2s=2"}, "sharing": {"dis\nable"},
			}},
		{Sharing{}, RecordAuth{Key: key, Header: "x-s2s-token"}, "http://s2s.test", "s2s.test/third_party_sharing",
			"X-S2s-Token", secretToken, url.Values{"s2s": {"1"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var body string
			s := play(func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if err != nil || r.Method != "POST" || r.Header.Get("Content-Type") !=
					"application/x-www-form-urlencoded" {
					t.Errorf("%s %v %v", r.Method, r.Header, err)
				}
				body = string(b)
				shared200(w, r)
			})
			client, m := openSharing(t, s, func(o *Options) {
				o.S2SURL, o.SharingAuth, o.AccountID = c.url, c.auth,
					"1"
			})
			if err := share(t.Context(), client, c.record); err != nil {
				t.Error(err)
			}
			v, err := url.ParseQuery(body)
			if err != nil || !maps.EqualFunc(v, c.form, slices.Equal) || s.urls[0] != c.path {
				t.Errorf("%s %v, want %v", s.urls[0], v, c.form)
			}
			if h := s.heads[0]; h.Get(c.header) != c.value || h.Get("X-Evil") != "" || h.Get("X-Account-ID") != "" ||
				len(h) > 6 || m.Requests.Load() != 1 {
				t.Errorf("%v", h)
			}
		})
	}
}

// Which answers are asked again, and what the error says of the record.
func TestSharingAnswers(t *testing.T) {
	const known, maybe, refused, partly, denied, other = "", "unknown", "rejected", "partly", "auth", "other"
	said := func(code int, text string) reply { return page(code, "application/json", `{"error":`+quote(text)+`}`) }
	for _, c := range []struct {
		name  string
		first reply
		sent  int // requests: 2 when the first answer is asked again
		want  string
		code  int
	}{
		{"200", shared200, 1, known, 0},
		{"200 without a word", page(200, "text/plain", ""), 1, known, 0},
		{"200, much", page(200, "text/plain", strings.Repeat("OK ", 1<<20)), 1, known, 0},
		{"200 in HTML", page(200, "text/html; charset=utf-8", "wait"), 2, known, 0},
		{"200, cut", cutSpend(200), 2, known, 0},
		{"201", page(201, "text/plain", "OK"), 1, known, 0},
		{"200, another word", page(200, "application/json", `{"status":"success","message":"done"}`), 1, known, 0},
		{"200 in JSON of another kind", page(200, "application/json", `null`), 1, known, 0},
		{"202", said(202, "Third party sharing partially failed (Unknown partner: x)"), 1, partly, 202},
		{"202, about a partner", said(202, "Third party sharing partially failed (Unknown partner: wrong "+
			"authentication token)"), 1, partly, 202},
		{"202, cut", cutSpend(202), 1, partly, 202},
		{"202, other JSON", page(202, "application/json", `{"errors":[{"message":"Unknown partner: x"}]}`), 1, partly,
			202},
		{"202, HTML", page(202, "text/html", "<!doctype html><p>Unknown partner: x"), 1, partly, 202},
		{"202, empty", page(202, "application/json", ""), 1, partly, 202},
		{"202, no token, other JSON", page(202, "application/json", `{"detail":"Missing authentication token"}`), 1,
			denied, 202},
		{"202, no token", said(202, "Missing authentication token"), 1, denied, 202},
		{"202, wrong token", page(202, "text/plain", "Wrong authentication token."), 1, denied, 202},
		{"203", page(203, "text/plain", ""), 2, known, 0},
		{"204", page(204, "text/plain", ""), 1, known, 0},
		{"301", page(301, "text/plain", "", "Location", "http://elsewhere.test/"), 1, other, 301},
		{"307", page(307, "text/plain", "", "Location", "http://elsewhere.test/"), 1, other, 307},
		{"400", said(400, "Third party sharing failed (App not found)"), 1, refused, 400},
		{"400, not a token", said(400, "Third party sharing failed (Failed to authorize request)"), 1, denied, 400},
		{"400, cut", cutSpend(400), 1, refused, 400},
		{"401", said(401, "Failed to authorize request"), 1, denied, 401},
		{"403", said(403, "Forbidden"), 1, denied, 403},
		{"403, empty", page(403, "text/plain", ""), 1, denied, 403},
		{"403, HTML", page(403, "text/html", "<p>This app is disabled"), 1, denied, 403},
		{"403, of an app", said(403, "App is inactive"), 1, refused, 403},
		{"403, of a device", page(403, "text/plain", "Tracking disabled"), 1, refused, 403},
		{"404", page(404, "text/plain", "404 page not found"), 1, other, 404},
		{"404, HTML", page(404, "text/html", "<html>This app was not found"), 1, other, 404},
		{"404, of a device", said(404, "Device not found"), 1, refused, 404},
		{"404, of an app", page(404, "application/json", `{"detail":"App token not found"}`), 1, refused, 404},
		{"408", page(408, "text/plain", ""), 2, known, 0},
		{"413", page(413, "text/plain", ""), 1, refused, 413},
		{"422", page(422, "application/json", `{"detail":[{"loc":["body"],"msg":"Unknown partner: x"}]}`), 1, refused,
			422},
		{"429", page(429, "text/plain", "slow down"), 2, known, 0},
		{"429 with Retry-After", page(429, "text/plain", "", "Retry-After", "7"), 2, known, 0},
		{"451", said(451, "Device is opted out"), 1, refused, 451},
		{"500", page(500, "text/plain", "Internal error"), 2, known, 0},
		{"501", page(501, "text/plain", ""), 2, known, 0},
		{"502", page(502, "text/html", "<html>"), 2, known, 0},
		{"503", page(503, "text/plain", ""), 2, known, 0},
		{"504", page(504, "text/plain", ""), 2, known, 0},
		{"reset", reset, 2, known, 0},
		{"no answer", silent, 2, known, 0},
		{"not HTTP", raw("hello", nil), 2, known, 0},
		{"lost, then refused", nil, 2, refused, 400},
		{"lost, then partly", nil, 2, partly, 202},
		{"lost, then denied", nil, 2, denied + maybe, 401},
		{"lost, then gone", nil, 2, maybe, 404},
	} {
		synctest.Test(t, func(t *testing.T) {
			second := shared200
			if c.first == nil {
				c.first, second = reset, said(c.code, "words")
			}
			s := play(c.first, second)
			client, _ := openSharing(t, s, nil)
			start := time.Now()
			err := share(t.Context(), client, choice())
			for name, is := range map[string]error{maybe: ErrUnknown, refused: ErrRejected, denied: ErrAuth,
				partly: ErrPartly} {
				if errors.Is(err, is) != strings.Contains(c.want, name) {
					t.Errorf("%s: %v, want %q", c.name, err, c.want)
				}
			}
			var e *Error
			if (err == nil) != (c.want == known) || err != nil && (!errors.As(err, &e) || e.Status != c.code ||
				e.Op != "third_party_sharing" || e.Attempts != c.sent) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			var p *PartialError
			if errors.As(err, &p) != (c.want == partly) || p != nil && p.Words != e.Message || c.name == "202" &&
				(p.Words != "Third party sharing partially failed (Unknown partner: x)" ||
					err.Error() != "third_party_sharing: 202 Accepted: "+p.Words+": only a part is applied") {
				t.Errorf("%s: %v", c.name, err)
			}
			if n := len(s.when()); n != c.sent {
				t.Errorf("%s: %d requests, want %d", c.name, n, c.sent)
			}
			switch took := time.Since(start); {
			case c.name == "429 with Retry-After" && took != 7*time.Second, c.name == "no answer" &&
				(took < 30*time.Second || took > 31*time.Second):
				t.Errorf("%s: after %v", c.name, took)
			}
		})
	}
}

// What can't be delivered is given up, as unknown when one of its tries may have been applied.
func TestSharingGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		replies []reply
		sent    int
		unknown bool
		text    string
	}{
		"busy": {[]reply{page(503, "text/plain", "")}, 8, false, "503"},
		"lost": {[]reply{reset}, 8, true, "EOF"},
		"lost, then busy": {[]reply{page(500, "text/plain", ""), page(503, "text/plain", "")}, 8, true,
			"503 Service Unavailable: it isn't known"},
		"lost, then full": {[]reply{reset, page(429, "text/plain", "", "Retry-After", "7201")}, 2, true,
			"after an earlier attempt it isn't known"},
		"full": {[]reply{page(429, "text/plain", "", "Retry-After", "7201")}, 1, false, "429"},
		"lost, then moved": {[]reply{reset, page(308, "text/plain", "", "Location", "/x")}, 2, true,
			"redirect not followed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := play(c.replies...)
			client, _ := openSharing(t, s, nil)
			err := share(t.Context(), client, choice())
			if err == nil || errors.Is(err, ErrUnknown) != c.unknown || len(s.when()) != c.sent ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v after %d requests", name, err, len(s.when()))
			}
		})
	}
	stop := errors.New("the task is stopped")
	for name, c := range map[string]struct {
		replies []reply
		unknown bool
	}{
		"while the answer is awaited": {[]reply{silent}, true},
		"between two attempts":        {[]reply{page(503, "text/plain", "")}, false},
		"after a lost one":            {[]reply{reset, page(429, "text/plain", "", "Retry-After", "60")}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := openSharing(t, play(c.replies...), func(o *Options) { o.Attempts = 1000 })
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { time.Sleep(5 * time.Second); cancel(stop) }()
			start := time.Now()
			err := share(ctx, client, choice())
			if !errors.Is(err, context.Canceled) || !errors.Is(err, stop) || errors.Is(err, ErrUnknown) != c.unknown ||
				time.Since(start) != 5*time.Second {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// A key that changed is read again once, after a 401 or what stands for one; without a key nothing
// is read.
func TestSharingKey(t *testing.T) {
	for _, denied := range []reply{status(401), page(202, "text/plain", "Wrong authentication token"),
		page(400, "application/json", `{"error":"Third party sharing failed (Failed to authorize request)"}`)} {
		synctest.Test(t, func(t *testing.T) {
			keys := &fixed{tokens: []string{"old-key", "new-key", "newest-key"}}
			s := play(denied, shared200, denied)
			client, _ := openSharing(t, s, func(o *Options) { o.SharingAuth.Key = keys })
			if err := share(t.Context(), client, choice()); err != nil || len(s.when()) != 2 ||
				s.heads[1].Get("Authorization") != "Bearer new-key" {
				t.Errorf("%v after %d requests", err, len(s.when()))
			}
			err := share(t.Context(), client, choice())
			if !errors.Is(err, ErrAuth) || len(s.when()) != 4 || keys.refreshes != 2 ||
				!strings.Contains(err.Error(), "s2s_url") {
				t.Errorf("%v after %d requests", err, len(s.when()))
			}
		})
		synctest.Test(t, func(t *testing.T) {
			s := play(denied)
			client, _ := openSharing(t, s, func(o *Options) { o.SharingAuth = RecordAuth{} })
			if err := share(t.Context(), client, choice()); !errors.Is(err, ErrAuth) || len(s.when()) != 1 {
				t.Errorf("%v after %d requests", err, len(s.when()))
			}
		})
	}
}

// A 403 that isn't about an app or a device is one of rights, and no matter of an old key.
func TestSharingForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &fixed{tokens: []string{"old-key", "new-key"}}
		s := play(page(403, "application/json", `{"error":"Insufficient scope"}`), shared200)
		client, _ := openSharing(t, s, func(o *Options) { o.SharingAuth.Key = keys })
		if err := share(t.Context(), client, choice()); !errors.Is(err, ErrAuth) || len(s.when()) != 1 ||
			keys.refreshes != 0 {
			t.Errorf("%v after %d requests", err, len(s.when()))
		}
	})
}

func TestSharingInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(shared200)
		client, _ := openSharing(t, s, nil)
		if err := share(t.Context(), client, Sharing{IDFA: idfa, Partners: strings.Repeat("x",
			10<<20)}); !errors.Is(err, ErrRejected) || len(err.Error()) > 200 || len(s.when()) != 0 {
			t.Errorf("%v", err)
		}
		for _, err := range []error{
			submit(t.Context(), client, record()),
			func() error { _, err := client.CreateApp(t.Context(), App{}); return err }(),
			client.SettingsCSV(t.Context(), io.Discard, nil, nil),
		} {
			if err == nil || !strings.Contains(err.Error(), "this client has no ") || len(s.when()) != 0 {
				t.Error(err)
			}
		}
		spend, _ := openSpend(t, s, nil)
		if err := share(t.Context(), spend, choice()); fmt.Sprint(err) !=
			"third_party_sharing: this client has no s2s_url" {
			t.Error(err)
		}
	})
	for want, o := range map[string]Options{
		"s2s_url must look like https://s2s.": {S2SURL: "a.test"},
		"s2s_url must be a bare address":      {S2SURL: "https://a.test?x=y"},
		"can't be the name of a header":       {S2SURL: "https://a.test", SharingAuth: RecordAuth{Header: "a: b"}},
	} {
		if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), "open service: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A service may repeat the record in its answer: no error and no log, at any level, shows a
// device's ID or the key.
func TestDeviceIDIsScrubbed(t *testing.T) {
	bare := strings.ReplaceAll(adID, "-", "")
	all := adID + " " + strings.ToLower(idfa) + " " + strings.ToUpper(bare) + " " + adID[:20] + "... " +
		url.QueryEscape(choice().form()) + " Bearer " + secretToken
	for name, r := range map[string]reply{
		"words": page(400, "text/plain", all),
		"partly": page(202, "application/json",
			`{"error":`+quote("Third party sharing partially failed ("+all+")")+`}`),
		"of a retry": page(503, "text/plain", all),
		"of a pause": page(429, "text/plain", all, "Retry-After", "1"),
		"lost":       page(500, "application/json", `{"what":`+quote(quote(all))+`}`),
		"HTML":       page(200, "text/html", "<p>"+all),
		"details": page(422, "application/json",
			`{"error_desc":"no","error_desc_details":[{"loc":["body",`+quote(adID)+`],"msg":`+quote(all)+`}]}`),
		"cut":            cutWords(403, "forbidden: "+adID[:12]),
		"redirect":       page(302, "text/plain", "", "Location", "/sorry?id="+adID),
		"status":         raw("HTTP/1.1 "+adID+" hm", nil),
		"header":         raw("HTTP/1.1 200 OK\n"+adID, nil),
		"length":         raw("HTTP/1.1 200 OK\nContent-Length: "+idfa, nil),
		"behind much":    page(400, "text/plain", strings.Repeat(" ", errorBodyLimit-9)+adID),
		"denied by 202":  page(202, "text/plain", "Wrong authentication token"),
		"denied by echo": page(401, "text/plain", all),
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			client, _ := openSharing(t, play(r), func(o *Options) {
				o.Logger, o.Attempts = slog.New(slog.NewJSONHandler(&log,
					&slog.HandlerOptions{Level: slog.LevelDebug})), 3
			})
			err := share(t.Context(), client, choice())
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%s: %v", name, err)
			}
			for _, s := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", e),
				fmt.Sprintf("%#v", e.Err), e.Message, fmt.Sprint(errors.Unwrap(err)), log.String()} {
				if showsID(s, adID) || showsID(s, idfa) || showsID(s, bare) {
					t.Errorf("%s: a device's ID is in %s", name, s)
				}
				if shows(s) {
					t.Errorf("%s: the key is in %s", name, s)
				}
			}
		})
	}
}
