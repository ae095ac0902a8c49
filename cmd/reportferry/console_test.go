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
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// The same pages are shown by the command console and inside of serve, to whoever knows the token.
func TestConsoleIsShown(t *testing.T) {
	dir := served(t)
	t.Setenv("READERS", "0123456789abcdef")
	var out strings.Builder
	if code := execute(t.Context(), []string{"run", "--config", filepath.Join(dir, "c.yml"), "--now"}, &out,
		&out); code != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	for _, c := range []struct {
		name, at string
	}{
		{"console", "The console is at "}, {"serve", "serving at "},
	} {
		ctx, end := context.WithCancel(t.Context())
		r, w := io.Pipe()
		over := make(chan int)
		go func() {
			code := execute(ctx, []string{c.name, "--config", filepath.Join(dir, "c.yml"), "--listen", "127.0.0.1:0",
				"--token", "${READERS}"}, w, w)
			_ = w.Close()
			over <- code
		}()
		lines := bufio.NewReader(r)
		line := ""
		for !strings.Contains(line, c.at) {
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
			if res.StatusCode != want || strings.Contains(string(body), "by_hand") != (want == http.StatusOK) ||
				strings.Contains(string(body), os.Getenv("READERS")) {
				t.Errorf("%s with token %q: %d %s", c.name, token, res.StatusCode, body)
			}
		}
		end()
		if code := <-over; code != 0 {
			t.Errorf("%s ends with %d", c.name, code)
		}
	}
}

// Each run writes the pages where the config says. When that fails, what the run did stays done,
// and it says so.
func TestRunsWriteThePages(t *testing.T) {
	dir := served(t)
	file, pages := filepath.Join(dir, "c.yml"), filepath.Join(dir, "status")
	content, err := os.ReadFile(file)
	check(t, err)
	check(t, os.WriteFile(file, append([]byte("export: file://"+pages+"\n"), content...), 0o600))
	run := func() (code int, said string) {
		var out strings.Builder
		code = execute(t.Context(), []string{"run", "--config", file, "--now"}, &out, &out)
		return code, out.String()
	}
	if code, said := run(); code != 0 || strings.Contains(said, "pages") {
		t.Errorf("exit code %d: %s", code, said)
	}
	var tried strings.Builder
	if code := execute(t.Context(), []string{"check", "--config", file}, &tried, &tried); code != 0 ||
		!strings.Contains(tried.String(), "status: ok, a probe was written") {
		t.Errorf("check says with exit code %d: %s", code, &tried)
	}
	index, err := os.ReadFile(filepath.Join(pages, "index.html"))
	check(t, err)
	if !strings.Contains(string(index), "by_hand") || !strings.Contains(string(index), "asset/style.css") {
		t.Errorf("the first page is %s", index)
	}
	// Another run writes pages: this one waits for it.
	at := filepath.Join(dir, "ledger")
	store, err := bucket.Open(t.Context(), "file://"+at)
	check(t, err)
	l := ledger.Open(ledger.Options{Store: store, URL: "file://./ledger"})
	table, err := l.Table(t.Context(), "_console")
	check(t, err)
	lease, err := table.Begin(t.Context(), "another", []civil.Date{sinks.Whole})
	check(t, err)
	before, err := os.Stat(filepath.Join(pages, "index.html"))
	check(t, err)
	freed := time.AfterFunc(1500*time.Millisecond, func() {
		now, err := os.Stat(filepath.Join(pages, "index.html"))
		if err != nil || !now.ModTime().Equal(before.ModTime()) {
			t.Errorf("pages were written while another run did: %v", err)
		}
		check(t, lease.End(context.Background()))
	})
	if code, said := run(); code != 0 || strings.Contains(said, "pages") || freed.Stop() {
		t.Errorf("exit code %d, and it didn't wait: %s", code, said)
	}
	check(t, l.Close())
	check(t, os.RemoveAll(pages))
	check(t, os.MkdirAll(pages, 0o750))
	check(t, os.WriteFile(filepath.Join(pages, "index.html"), []byte("Our shop"), 0o600))
	code, said := run()
	index, err = os.ReadFile(filepath.Join(pages, "index.html"))
	check(t, err)
	if code != 0 || !strings.Contains(said, "pages could not be written") || string(index) != "Our shop" {
		t.Errorf("exit code %d: %s; the foreign page is now %s", code, said, index)
	}
}
