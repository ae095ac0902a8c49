package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The same pages are shown by the command console and inside of serve, to whoever knows the token.
func TestConsoleIsShown(t *testing.T) {
	dir := served(t)
	t.Setenv("READERS", "0123456789abcdef")
	var out strings.Builder
	if code := execute(t.Context(), []string{"run", "--config", filepath.Join(dir, "c.yml"), "--now"}, &out, &out); code != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"console", []string{"--listen", "127.0.0.1:0", "--token", "${READERS}"}},
		{"serve", []string{"--health", "", "--console", "127.0.0.1:0", "--console-token", "${READERS}"}},
	} {
		ctx, end := context.WithCancel(t.Context())
		r, w := io.Pipe()
		over := make(chan int)
		go func() {
			code := execute(ctx, append([]string{c.name, "--config", filepath.Join(dir, "c.yml")}, c.args...), w, w)
			_ = w.Close()
			over <- code
		}()
		lines := bufio.NewReader(r)
		line := ""
		for !strings.Contains(line, "the console is at") && !strings.Contains(line, "The console is at") {
			var err error
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatalf("%s says no address: %q %v", c.name, line, err)
			}
		}
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		_, address, _ := strings.Cut(line, "http://")
		address, _, _ = strings.Cut(address, "/")
		for token, want := range map[string]int{"": http.StatusUnauthorized, "0123456789abcdef": http.StatusOK} {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
			check(t, err)
			if token != "" {
				req.SetBasicAuth("me", token)
			}
			res, err := http.DefaultClient.Do(req)
			check(t, err)
			body, err := io.ReadAll(res.Body)
			check(t, err)
			check(t, res.Body.Close())
			if res.StatusCode != want || strings.Contains(string(body), "by_hand") != (want == http.StatusOK) || strings.Contains(string(body), os.Getenv("READERS")) {
				t.Errorf("%s with token %q: %d %s", c.name, token, res.StatusCode, body)
			}
		}
		end()
		if code := <-over; code != 0 {
			t.Errorf("%s ends with %d", c.name, code)
		}
	}
}
