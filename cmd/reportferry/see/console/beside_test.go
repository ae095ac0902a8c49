package console

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
)

func probesOf(whole bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, map[bool]string{true: "names", false: "status"}[whole])
	})
}

// Probes are answered to anyone. Names of jobs, pages and metrics are for those who may see pages.
func TestProbesBesidePages(t *testing.T) {
	for _, c := range []struct {
		args, host, token, path string
		want                    int
		says                    string
	}{
		{"--listen=127.0.0.1:0", "localhost", "", "/readyz", 200, "names"},
		{"--listen=127.0.0.1:0", "localhost", "", "/", 200, "page"},
		{"--listen=127.0.0.1:0", "evil.example.com", "", "/healthz", 421, "want localhost"},
		{"--listen=127.0.0.1:0", "evil.example.com", "", "/metrics", 421, "want localhost"},
		{"--listen=0.0.0.0:0", "localhost", "", "/healthz", 200, "status"},
		{"--listen=0.0.0.0:0", "reportferry", "", "/readyz", 200, "status"},
		{"--listen=0.0.0.0:0", "localhost", secret, "/readyz", 200, "status"},
		{"--listen=0.0.0.0:0", "localhost", "", "/", 403, "--token gives none"},
		{"--listen=0.0.0.0:0", "localhost", "", "/metrics", 403, "--token gives none"},
		{"--listen=0.0.0.0:0", "localhost", "", "/healthz/", 403, "--token gives none"},
		{"--listen=0.0.0.0:0 --token=${TOKEN}", "reportferry", "", "/readyz", 200, "status"},
		{"--listen=0.0.0.0:0 --token=${TOKEN}", "reportferry", "wrong", "/readyz", 200, "status"},
		{"--listen=0.0.0.0:0 --token=${TOKEN}", "localhost", secret, "/readyz", 200, "names"},
		{"--listen=0.0.0.0:0 --token=${TOKEN}", "reportferry", secret, "/readyz", 421, "isn't this server"},
		{"--listen=0.0.0.0:0 --token=${TOKEN}", "reportferry", secret, "/metrics", 421, "isn't this server"},
		{"--listen=0.0.0.0:0 --token=${TOKEN} --host=reportferry", "reportferry:8081", secret, "/metrics", 200, "page"},
		{"--listen=0.0.0.0:0 --token=${TOKEN}", "localhost", "", "/metrics", 401, "wants its token"},
		{"--listen=127.0.0.1:0 --token=${TOKEN}", "localhost", "", "/healthz", 200, "status"},
		{"--listen=127.0.0.1:0 --token=${TOKEN}", "localhost", "", "/", 401, "wants its token"},
	} {
		l, p := listening(t, strings.Fields(c.args)...)
		address, stop, err := l.ServeWithProbes(t.Context(), p, slog.New(slog.DiscardHandler), page, probesOf)
		if err != nil {
			t.Fatal(err)
		}
		status, body := got(t, address, c.path, c.host, c.token)
		if status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s, %s of %s with token %q: %d %s, want %d %s", c.args, c.path, c.host, c.token, status, body,
				c.want, c.says)
		}
		stop()
	}
}

// A token that is read again lets in who knows the new one, and nobody else any more.
func TestRenew(t *testing.T) {
	l, p := listening(t, "--listen=0.0.0.0:0", "--token=${TOKEN}")
	address, stop, err := l.ServeWithProbes(t.Context(), p, slog.New(slog.DiscardHandler), page, probesOf)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, c := range []struct {
		now, bad string
		want     map[string]int
	}{
		{secret, "", map[string]int{secret: 200, "another-token-of-20": 401}},
		{"another-token-of-20", "", map[string]int{secret: 401, "another-token-of-20": 200}},
		{"short", "has 5 characters", map[string]int{secret: 401, "another-token-of-20": 200, "short": 401}},
	} {
		p = &wire.Program{LookupEnv: func(string) (string, bool) { return c.now, true }}
		if err := l.Renew(t.Context(), p); (err != nil) != (c.bad != "") || err != nil &&
			!strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s: %v", c.now, err)
		}
		for token, want := range c.want {
			if status, _ := got(t, address, "/", "localhost", token); status != want {
				t.Errorf("when it is %s, %s is answered with %d, want %d", c.now, token, status, want)
			}
		}
	}
}

// got is what is at a path of an address, under the name of a host.
func got(t *testing.T, address, path, host, token string) (status int, body string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(strings.Trim(strings.TrimPrefix(address, "http://"), "/"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}
