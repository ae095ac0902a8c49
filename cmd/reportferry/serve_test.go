package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Snappy, because the zstd coders keep channels that belong to no bubble.
const servedConfig = `
service: embedded
ledger: file://%[1]s/ledger
spool_dir: %[1]s/spool
jobs:
  - name: daily
    kind: report
    schedule: "0 6 * * *"
    sinks: [file://%[1]s/out]
    start: -3d
    lookback: 0
    codec: snappy
    currency: USD
    dimensions: [day, app_token]
    metrics: [installs]
  - name: by_hand
    kind: report
    sinks: [file://%[1]s/out]
    start: -3d
    currency: USD
    dimensions: [day]
    metrics: [installs]
`

func served(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "c.yml"), []byte(fmt.Sprintf(servedConfig, dir)), 0o600))
	return dir
}

// Three days of serving: what fired before the start is done at the start, then a day more with
// every night.
func TestServeByTheSchedule(t *testing.T) {
	dir := served(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour) // the bubble begins at a midnight of 2000, before any start
		var out strings.Builder
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		p := newProgram()
		p.Hangups = nil // it is none of the bubble's
		root := newRoot(p)
		root.SetArgs([]string{"serve", "--config", filepath.Join(dir, "c.yml"), "--listen="})
		root.SetOut(&out)
		root.SetErr(&out)
		done := make(chan error, 1)
		go func() { done <- root.ExecuteContext(ctx) }()
		for day, want := range []int{3, 4, 5} {
			synctest.Wait()
			parts, err := filepath.Glob(filepath.Join(dir, "out/daily/*/*.parquet"))
			check(t, err)
			if len(parts) != want {
				t.Fatalf("after %d nights: %d parts, want %d; %s", day, len(parts), want, &out)
			}
			time.Sleep(24 * time.Hour)
		}
		stop()
		check(t, <-done)
		golden(t, "serve", steady(out.String()))
	})
	if _, err := os.Stat(filepath.Join(dir, "out/by_hand")); !os.IsNotExist(err) {
		t.Errorf("a job without a schedule was run: %v", err)
	}
}

// A push at the same tick as a report goes out although the token of reports can't be read.
func TestServePushesWithoutTheReportsToken(t *testing.T) {
	s := startService(t, "--apps", "1", "--days", "5")
	dir := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(dir, "in"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "in", "a.csv"),
		fmt.Appendf(nil, "cost_id,cost_amount,time\nclick-000000001,1.25,%s\n", time.Now().UTC().Format(time.RFC3339)),
		0o600))
	earlier := time.Now().Add(-10 * time.Minute)
	check(t, os.Chtimes(filepath.Join(dir, "in", "a.csv"), earlier, earlier)) // its schedule has fired since
	config := fmt.Sprintf(
		`service: {base_url: %[1]s, cost_url: %[1]s, token: "${file:%[2]s/none}", spend: {token: "${TEST_KEY}"}}
ledger: file://%[2]s/ledger
spool_dir: %[2]s/spool
jobs:
  - {name: daily, kind: report, schedule: "* * * * *", sinks: ["file://%[2]s/out"], start: -2d, currency: USD, dimensions: [day], metrics: [installs]}
  - {name: sp, kind: spend, schedule: "* * * * *", source: "file://%[2]s/in/*.csv", rejects: "file://%[2]s/rejects", wait_until_quiet: 0, columns: {engaged_at: time}, constants: {cost_type: cpi, cost_currency: USD, tag: x}}
`, s.url, dir)
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), []byte(config), 0o600))
	p := &place{t: t, dir: dir, token: "any", env: []string{"TEST_KEY=" + spendKey}, service: s}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	cmd, out := p.command(ctx, "serve", "--listen=")
	check(t, cmd.Start())
	for ctx.Err() == nil && s.books(t).Records == 0 {
		time.Sleep(50 * time.Millisecond)
	}
	check(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // it was told to end
	if s.books(t).Records != 1 || !strings.Contains(out.String(), "service.token") {
		t.Errorf("%d records are pushed: %s", s.books(t).Records, out)
	}
}

// The process answers /healthz and /readyz on the loopback, and ends with 0 when it is told to;
// until then it says that it ends. What is due at a tick is one run with one record, and a job
// whose bucket can't be opened keeps none of the others from it.
func TestServeDoesATickAsOneRun(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	var text strings.Builder
	fmt.Fprintf(&text, "service: embedded\nledger: file://%[1]s/ledger\nspool_dir: %[1]s/spool\njobs:\n", dir)
	for i := range 20 {
		out := "out"
		if i == 7 {
			out = "file/out"
		}
		fmt.Fprintf(&text, "  - {name: job%02d, kind: report, schedule: \"0 6 * * *\", sinks: [\"file://%s/%s\"], "+
			"start: -3d, lookback: 0, codec: snappy, currency: USD, dimensions: [day], metrics: [installs]}\n", i, dir,
			out)
	}
	check(t, os.WriteFile(filepath.Join(dir, "c.yml"), []byte(text.String()), 0o600))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour)
		var out strings.Builder
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		p := newProgram()
		p.Hangups = nil
		root := newRoot(p)
		root.SetArgs([]string{"serve", "--config", filepath.Join(dir, "c.yml"), "--listen="})
		root.SetOut(&out)
		root.SetErr(&out)
		done := make(chan error, 1)
		go func() { done <- root.ExecuteContext(ctx) }()
		for day := range 3 {
			time.Sleep(time.Hour) // the service's rate
			parts, err := filepath.Glob(filepath.Join(dir, "out/job*/*/*.parquet"))
			check(t, err)
			runs := runsIn(t, filepath.Join(dir, "ledger"))
			if len(parts) != 19*(3+day) || len(runs) != day+1 {
				t.Fatalf("after %d nights: %d parts of %d jobs and %d runs; %s", day, len(parts), 19, len(runs), &out)
			}
			time.Sleep(23 * time.Hour)
		}
		stop()
		check(t, <-done)
		if !strings.Contains(out.String(), "Something is left out in 1 of 20 jobs") {
			t.Errorf("it says %s", &out)
		}
	})
}

// runsIn are the runs that a ledger in a folder has on record.
func runsIn(t *testing.T, dir string) []ledger.Run {
	t.Helper()
	store, err := bucket.Open(t.Context(), "file://"+dir)
	check(t, err)
	l := ledger.Open(ledger.Options{Store: store})
	past, err := l.Past(t.Context(), 1000)
	check(t, errors.Join(err, l.Close()))
	return past.Runs
}

func TestServeEndsWell(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "2", "--days", "30", "--latency", "20s")
	p := newPlace(t, s, 5, 1, living)
	path := filepath.Join(p.dir, "reportferry.yml")
	data, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, []byte(strings.Replace(string(data), "kind: report",
		"kind: report\n    schedule: \"* * * * *\"", 1)), 0o600))

	cmd, _ := p.command(t.Context(), "serve", "--listen", "127.0.0.1:0")
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	check(t, err)
	_, url, found := strings.Cut(first, "http://")
	if !found {
		t.Fatalf("serve says %q", first)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	url, _, _ = strings.Cut(url, "/")
	var h struct{ Jobs []struct{ Running bool } }
	for deadline := time.Now().Add(20 * time.Second); len(h.Jobs) == 0 ||
		!h.Jobs[0].Running; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get("http://" + url + "/healthz")
		check(t, err)
		check(t, json.NewDecoder(res.Body).Decode(&h))
		check(t, res.Body.Close())
		if time.Now().After(deadline) {
			t.Fatalf("it runs nothing: %+v", h)
		}
	}
	answersOnlyToItsHosts(t, "http://"+url+"/healthz", http.StatusOK)
	probe, said := p.command(t.Context(), "serve", "--listen", url, "--probe")
	if err := probe.Run(); err != nil || !strings.Contains(said.String(), `"status":"ready"`) {
		t.Errorf("the probe: %v %s", err, said)
	}
	begun := time.Now()
	check(t, cmd.Process.Signal(syscall.SIGTERM)) // in the middle of an answer that takes 20 s
	if err := cmd.Wait(); err != nil || time.Since(begun) > 9*time.Second {
		t.Errorf("it ends after %v: %v", time.Since(begun), err)
	}
}

func TestServeRefuses(t *testing.T) {
	dir := served(t)
	t.Chdir(dir)
	for _, c := range []struct{ name, old, new, listen, says string }{
		{"no address", "", "", "8081", "want an address such as"},
		{"nothing to serve", `schedule: "0 6 * * *"`, "", "127.0.0.1:0", "no job has a schedule"},
	} {
		text := strings.Replace(fmt.Sprintf(servedConfig, dir), c.old, c.new, 1)
		check(t, os.WriteFile("c.yml", []byte(text), 0o600))
		var out strings.Builder
		if code := execute(t.Context(), []string{"serve", "--config", "c.yml", "--listen", c.listen}, &out,
			&out); code != 2 || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit code %d: %s", c.name, code, &out)
		}
	}
}

// answersOnlyToItsHosts asks under several names for what is at the URL. A page in a browser on
// this machine can have a name of its own lead here, but not change the name that the browser says
// it asks for.
func answersOnlyToItsHosts(t *testing.T, url string, good int) {
	t.Helper()
	own := strings.Split(url, "/")[2]
	for host, want := range map[string]int{
		own: good, "localhost": good, "LocalHost:1": good, "127.0.0.1": good, "127.8.9.1:8080": good, "[::1]": good,
		"[::1]:8081":   good,
		"evil.example": 421, "evil.example:8081": 421, "localhost.evil.example": 421,
		"127.0.0.1.evil.example:8081": 421,
		"192.0.2.1":                   421, "[2001:db8::1]:8081": 421, "0.0.0.0:8081": 421, "1": 421,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		check(t, err)
		r.Host = host
		r.Header.Set("Authorization", "Bearer x")
		res, err := http.DefaultClient.Do(r)
		check(t, err)
		body, err := io.ReadAll(res.Body)
		check(t, err)
		check(t, res.Body.Close())
		if res.StatusCode != want {
			t.Errorf("Host %q: %s %s", host, res.Status, body)
		} else if want == 421 && (!strings.Contains(string(body), "want localhost") ||
			strings.Contains(string(body), "jobs")) {
			t.Errorf("Host %q: %s", host, body)
		}
	}
}
