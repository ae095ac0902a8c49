package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// binary is what tests start as a process: this test binary, which TestMain makes the program.
// Benchmarks measure the program as it is built for users.
func binary(t testing.TB) string {
	t.Helper()
	find := os.Executable
	if _, measured := t.(*testing.B); measured {
		find = built
	}
	path, err := find()
	check(t, err)
	return path
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reportferry-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "reportferry")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// A place is a folder with a config, a ledger and a bucket, and the service it talks to.
type place struct {
	t       testing.TB
	dir     string
	token   string
	env     []string // besides this process's own
	service *service
}

// A service is an emulator in a process of its own.
type service struct {
	url string
	pid int // 0: it is in this process
}

func startService(t testing.TB, args ...string) *service {
	t.Helper()
	started := []string{"emulator", "--addr", "127.0.0.1:0", "--hostile-names", "--seed", "7", "--rate", "-1",
		"--reading", strings.Join(emutest.Chosen(), ",")}
	cmd := exec.Command(binary(t), append(started, args...)...)
	stderr, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		check(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // 130 or 0: it was told to end
	})
	line := make([]byte, 200)
	n, err := stderr.Read(line)
	check(t, err)
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	_, address, found := strings.Cut(strings.TrimSpace(string(line[:n])), "serving on ")
	if !found {
		t.Fatalf("the emulator says %q", line[:n])
	}
	return &service{address, cmd.Process.Pid}
}

// restated is the same account with all other numbers: reports come from an account of another
// seed, and lists of apps and events from this one.
func (s *service) restated(t testing.TB, seed string, args ...string) *service {
	t.Helper()
	other := startService(t, append(args, "--seed", seed)...)
	to := func(at string) *httputil.ReverseProxy {
		u, err := url.Parse(at)
		check(t, err)
		return httputil.NewSingleHostReverseProxy(u)
	}
	reports, lists := to(other.url), to(s.url)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/filters_data") || strings.HasSuffix(r.URL.Path, "/events") {
			lists.ServeHTTP(w, r)
			return
		}
		reports.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return &service{front.URL, other.pid}
}

func (s *service) admin(t testing.TB, method, path string, body any) []byte {
	t.Helper()
	data, err := json.Marshal(body)
	check(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+"/_emulator/"+path, bytes.NewReader(data))
	check(t, err)
	res, err := http.DefaultClient.Do(req)
	check(t, err)
	out, err := io.ReadAll(res.Body)
	check(t, err)
	check(t, res.Body.Close())
	if res.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s", method, path, res.Status, out)
	}
	return out
}

func (s *service) requests(t testing.TB) (log []emulator.Request) {
	t.Helper()
	check(t, json.Unmarshal(s.admin(t, http.MethodGet, "requests", nil), &log))
	return log
}

// days counts how often the rows of each day were asked for, of answers that were complete.
func (s *service) days(t testing.TB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range s.requests(t) {
		q, err := url.ParseQuery(r.Query)
		check(t, err)
		first, last, found := strings.Cut(q.Get("date_period"), ":")
		if !found || q.Get("dimensions") == "day" { // the latter asks for totals
			continue
		}
		from, err := time.Parse(time.DateOnly, first)
		check(t, err)
		to, err := time.Parse(time.DateOnly, last)
		check(t, err)
		for d := from; !d.After(to); d = d.AddDate(0, 0, 1) {
			counts[d.Format(time.DateOnly)]++
		}
	}
	return counts
}

const testConfig = `
service: {base_url: %s, token: "${TEST_TOKEN}", rate: 1000, in_flight: %d, attempts: 4}
ledger: file://%s/ledger
spool_dir: %s/spool
lease: %s
jobs:
  - name: installs
    kind: report
    sinks: [file://%s/out]
    start: -%dd
    page: 2d
    lookback: 0
    currency: USD
    dimensions: [day, app_token, country_code, network, campaign]
    metrics: [installs, clicks, cost, all_revenue, ecpi_all]
    events: [{name: Purchase, metrics: [events, revenue], as: purchase}]
`

// withoutFetch is a part without the text that makes every fetch's file another one, which its
// footer ends with.
func withoutFetch(part []byte) string { return fetchText.ReplaceAllString(string(part), "") }

var fetchText = regexp.MustCompile(`fetch(?s:.){1,3}[A-Z2-7]{26}`)

// Leases: short where a run is to be killed and followed, long where a busy machine must not take a
// run for dead.
const dying, racing, living = "1s", "10s", "1m"

// leases gives the runs that follow another lease: the one that is to be killed a short one, those
// after it a long one.
func (p *place) leases(lease string) {
	p.t.Helper()
	path := filepath.Join(p.dir, "reportferry.yml")
	data, err := os.ReadFile(path)
	check(p.t, err)
	check(p.t, os.WriteFile(path, leaseLine.ReplaceAll(data, []byte("lease: "+lease)), 0o600))
}

var leaseLine = regexp.MustCompile(`(?m)^lease: \w+$`)

func newPlace(t testing.TB, s *service, days, inFlight int, lease string) *place {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(testConfig, s.url, inFlight, dir, dir, lease, dir, days)
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), []byte(text), 0o600))
	return &place{t: t, dir: dir, token: "secret-token-of-the-test", service: s}
}

// allNumbers lets answers pass that have nothing in common with what is recorded.
func (p *place) allNumbers(t *testing.T) {
	t.Helper()
	p.edit(t, "kind: report", "kind: report\n    guard: 100%")
}

// command is the program as a process, not yet started.
func (p *place) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	p.t.Helper()
	cmd := exec.CommandContext(ctx, binary(p.t), args...)
	cmd.Dir = p.dir
	cmd.Env = slices.Concat(os.Environ(), p.env, []string{"TEST_TOKEN=" + p.token})
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// run runs the program to its end and gives its output and exit code.
func (p *place) run(args ...string) (string, int) {
	p.t.Helper()
	cmd, out := p.command(p.t.Context(), args...)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

var (
	partName = regexp.MustCompile(`^out/installs/dt=\d{4}-\d\d-\d\d/part-0\.parquet$`)
	// Who fetched what when, which no two runs have the same, and what the columns mean, which a
	// killed run may have left out.
	stateName = regexp.MustCompile(
		`^out/(_reportferry_(partitions|restatements)/table=installs/dt=\d{4}-\d\d-01/part-0\.parquet|installs\.dataset\.json)$`)
)

// files gives the parts of the job's table that are visible in the bucket; what is no part is an
// error.
func (p *place) files() map[string]string {
	p.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(filepath.Join(p.dir, "out"), func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		// A killed writer's, no reader takes it for a part.
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".tmp") {
			return err
		}
		rel, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		if stateName.MatchString(rel) || rel == "out/.reportferry-probe.json" { // no reader looks at names with a dot
			return nil
		}
		if !partName.MatchString(rel) {
			p.t.Errorf("visible, and no part: %s", rel)
		}
		data, err := os.ReadFile(path)
		found[rel] = withoutFetch(data)
		return err
	})
	check(p.t, err)
	return found
}

// same compares what is visible with what a clean run left, byte for byte.
func (p *place) same(want map[string]string) {
	p.t.Helper()
	got := p.files()
	for name, data := range want {
		if got[name] != data {
			p.t.Errorf("%s: %d bytes, the clean run has %d", name, len(got[name]), len(data))
		}
	}
	if len(got) != len(want) {
		p.t.Errorf("%d parts, want %d", len(got), len(want))
	}
}

// recorded gives the days that the ledger has a complete record of.
func (p *place) recorded() map[string]string {
	p.t.Helper()
	out, code := p.run("status", "--json", "--records")
	if code != 0 && code != 3 { // days are missing still
		p.t.Fatalf("status: %d %s", code, out)
	}
	var status struct {
		Tables []struct {
			Records []struct{ Partition, State, Run string }
		}
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		p.t.Fatalf("status says %v: %s", err, out)
	}
	days := map[string]string{}
	for _, r := range status.Tables[0].Records {
		if r.State != "publishing" {
			days[r.Partition] = r.Run
		}
	}
	return days
}
