package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// reloaded is a config of these jobs, each of which asks for another dimension.
func reloaded(s *service, dir string, jobs ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "service: {base_url: %s, token: \"${file:%s/token}\", rate: 1000, in_flight: 3}\nledger: "+
		"file://%s/ledger\nspool_dir: %s/spool\nlease: 1m\njobs:\n", s.url, dir, dir, dir)
	for _, job := range jobs {
		fmt.Fprintf(&b, "  - {name: %[1]s, kind: report, schedule: \"* * * * *\", sinks: [\"file://%[2]s/out\"], "+
			"start: -20d, page: 1d, lookback: 0, currency: USD, dimensions: [day, %[1]s], metrics: [installs]}\n", job,
			dir)
	}
	return b.String()
}

// writes may be read by the test while the command writes.
type writes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *writes) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// A serving is the command serve in this process.
type serving struct {
	hangups chan struct{}
	said    writes
	ended   chan struct{} // is closed when the command has ended
	stop    func() error
}

func startServing(t *testing.T, args ...string) *serving {
	t.Helper()
	s := &serving{hangups: make(chan struct{}), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	p := newProgram()
	p.Hangups = func() <-chan struct{} { return s.hangups }
	root := newRoot(p)
	root.SetArgs(append([]string{"serve"}, args...))
	root.SetOut(&s.said)
	root.SetErr(&s.said)
	var err error
	go func() {
		defer close(s.ended)
		err = root.ExecuteContext(ctx)
	}()
	s.stop = sync.OnceValue(func() error {
		cancel()
		<-s.ended
		return err
	})
	t.Cleanup(func() { _ = s.stop() })
	return s
}

// reload has the config read again, and waits until that is done.
func (s *serving) reload(t *testing.T) {
	t.Helper()
	n := strings.Count(s.said.String(), "the config was ") + 1
	select {
	case s.hangups <- struct{}{}:
	case <-s.ended:
		t.Fatalf("it has ended: %v: %s", s.stop(), &s.said)
	}
	for deadline := time.Now().Add(60 * time.Second); strings.Count(s.said.String(),
		"the config was ") < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the config isn't read: %s", &s.said)
		}
	}
}

func (s *serving) until(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !strings.Contains(s.said.String(),
		text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never says %q: %s", text, &s.said)
		}
	}
}

// A hundred reloads while jobs run: jobs come and go, and wrong configs are refused. Each day of
// each job is fetched once all the same, none is missing, and nothing stays open.
func TestReloadsWhileJobsRun(t *testing.T) {
	s := startService(t, "--apps", "2", "--days", "60", "--latency", "100ms", "--token", "the-token-of-the-test")
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yml")
	write := func(text string) { check(t, os.WriteFile(file, []byte(text), 0o600)) }
	check(t, os.WriteFile(filepath.Join(dir, "token"), []byte("the-token-of-the-test\n"), 0o600))
	goroutines, files := runtime.NumGoroutine(), open(t)
	write(reloaded(s, dir, "app_token"))
	d := startServing(t, "--config", file, "--listen=")
	d.reload(t) // it has read the file, which is written over from here on
	sets := [][]string{{"app_token", "network"}, {"network"}, {"country_code"},
		{"network", "country_code", "app_token"}, {"app_token"}}
	for i := range 100 {
		text := reloaded(s, dir, sets[i%len(sets)]...)
		if i%10 == 9 {
			text = strings.Replace(text, "kind: report", "kind: rport", 1)
		}
		write(text)
		d.reload(t)
		time.Sleep(time.Duration(i%5) * 10 * time.Millisecond)
	}
	write(reloaded(s, dir, "app_token", "network", "country_code"))
	d.reload(t)
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		parts, err := filepath.Glob(filepath.Join(dir, "out/*/*/*.parquet"))
		check(t, err)
		// A part is there before its record is. Who ends the program in between leaves the
		// partition to the next run.
		status := []string{"status", "--config", file}
		if len(parts) >= 3*20 && execute(t.Context(), status, io.Discard, io.Discard) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("days are missing: %s", &d.said)
		}
	}
	check(t, d.stop())
	if n := strings.Count(d.said.String(), "the config was refused, and the one before stays; error: "+file+":6:"); n !=
		10 {
		t.Errorf("%d configs were refused, want 10: %s", n, &d.said)
	}
	if strings.Contains(d.said.String(), "failed 1") || strings.Contains(d.said.String(), "warn") {
		t.Errorf("it says %s", &d.said)
	}
	for left := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines ||
		open(t) > files; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(left) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, there were %d; %d files, there were %d\n%s", runtime.NumGoroutine(), goroutines,
				open(t), files, stacks[:runtime.Stack(stacks, true)])
		}
	}
	asked := map[string]int{}
	for _, r := range s.requests(t) {
		q, err := url.ParseQuery(r.Query)
		check(t, err)
		if by := q.Get("dimensions"); by != "day" && by != "" { // those would be totals, and the list of apps
			asked[by+" "+q.Get("date_period")]++
		}
	}
	for what, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", what, n)
		}
	}
	if len(asked) != 3*20 {
		t.Errorf("%d days were asked for, want 60", len(asked))
	}
	for _, command := range []string{"status", "check"} {
		var out strings.Builder
		if code := execute(t.Context(), []string{command, "--config", file}, &out, &out); code != 0 {
			t.Errorf("%s: exit code %d: %s", command, code, &out)
		}
	}
}

// open counts the files and connections of this process.
func open(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	check(t, err)
	return len(list)
}

// A run under way goes on with the token and the config that it began with; its job waits for its
// end, and one that is gone isn't begun again. A token's file is read again.
func TestARunOutlivesItsConfig(t *testing.T) {
	t.Parallel()
	s := startService(t, "--apps", "1", "--days", "60", "--latency", "150ms", "--token", "the-token-of-the-test")
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yml")
	check(t, os.WriteFile(filepath.Join(dir, "token"), []byte("the-token-of-the-test"), 0o600))
	slow := strings.Replace(reloaded(s, dir, "app_token", "network"), "in_flight: 3", "in_flight: 1", 1)
	check(t, os.WriteFile(file, []byte(slow), 0o600))
	d := startServing(t, "--config", file, "--listen=")
	d.until(t, "app_token  window")
	d.until(t, "network  window")
	check(t, os.WriteFile(filepath.Join(dir, "token"), []byte("another"), 0o600)) // it is refused by the service
	check(t, os.WriteFile(file, []byte(reloaded(s, dir, "app_token", "country_code")), 0o600))
	d.reload(t)
	d.until(t, "new: country_code; gone: network")
	d.until(t, "country_code (")          // with the new token
	d.until(t, "network (")               // with the old one
	d.until(t, "app_token: all is up to") // once more, after the first
	check(t, d.stop())
	said := d.said.String()
	for _, want := range []string{"written 20, unchanged 0"} {
		if n := strings.Count(said, want); n != 2 {
			t.Errorf("%q is said %d times, want 2: %s", want, n, said)
		}
	}
	if i := strings.Index(said, "country_code ("); !strings.Contains(said[i:], "401") &&
		!strings.Contains(said, "refused") {
		t.Errorf("the new token isn't used: %s", said)
	}
}
