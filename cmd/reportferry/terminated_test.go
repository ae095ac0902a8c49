package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
)

// A gate stands before the service, the bucket and the watcher of a place. The nth call that looks
// like at hangs there, as all later ones like it do, until it is opened.
type gate struct {
	at     *regexp.Regexp // method and decoded address
	nth    int
	half   bool // the call hangs half way through its answer
	struck chan struct{}
	opened chan struct{}

	mu    sync.Mutex
	calls int
}

func newGate(at string, nth int, half bool) *gate {
	return &gate{at: regexp.MustCompile(at), nth: nth, half: half, struck: make(chan struct{}),
		opened: make(chan struct{})}
}

// like counts a call that looks like at, and tells whether it hangs.
func (g *gate) like(r *http.Request) bool {
	select {
	case <-g.opened:
		return false
	default:
	}
	address, err := url.QueryUnescape(r.Method + " " + r.URL.String())
	if err != nil || !g.at.MatchString(address) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls++; g.calls == g.nth {
		close(g.struck)
	}
	return g.calls >= g.nth
}

func (g *gate) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.like(r) {
			next.ServeHTTP(w, r)
			return
		}
		if g.half {
			whole := httptest.NewRecorder()
			next.ServeHTTP(whole, r)
			_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2]) // a reader that has gone is what the test is about
			w.(http.Flusher).Flush()
		}
		<-g.opened
	})
}

// newGatedPlace has a service, a bucket and a watcher behind a gate.
func newGatedPlace(t *testing.T, s *service, days int, lease string, g *gate) (*place, *cloud) {
	t.Helper()
	p, c := newCloudPlace(t, s, days, lease)
	to, err := url.Parse(s.url)
	check(t, err)
	reports := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(g.before(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch first, _, _ := strings.Cut(r.URL.Path[1:], "/"); first {
		case "reports-service":
			reports.ServeHTTP(w, r)
		case "storage", "upload", "bkt":
			r.Host = c.addr
			c.ServeHTTP(w, r)
		}
	})))
	t.Cleanup(front.Close)
	p.edit(t, s.url, front.URL)
	p.edit(t, "in_flight: 8", "in_flight: 1")
	p.edit(t, "page: 2d", "page: 1d") // how the grid lies on a day's windows makes no difference then
	p.edit(t, "ledger:", "heartbeat: ${WATCHER}\nexport: gs://bkt/status\nledger:")
	p.env = []string{"STORAGE_EMULATOR_HOST=" + strings.TrimPrefix(front.URL, "http://"),
		"WATCHER=" + front.URL + "/watcher", "OPENLINEAGE_URL=" + front.URL + "/lineage"}
	return p, c
}

// SIGTERM in each phase of a run, of which the call that is under way hangs: the process ends in
// time, nothing is half done, and the next run goes on at once. A run that has published and
// recorded everything before it was told to end has succeeded.
func TestTerminatedInEachPhase(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const days, all = 4, `^`
	s := startService(t, "--apps", "2", "--days", "30")
	p, c := newGatedPlace(t, s, days, living, newGate(`^$`, 1, false))
	if out, code := p.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	want := c.parts(t)
	for _, phase := range []struct {
		name, at    string
		nth         int
		half, held  bool
		code, parts int
	}{
		{"the ledger is opened", `GET .*reportferry-probe`, 1, false, false, 130, 0},
		{"apps are asked for", `filters_data`, 1, false, false, 130, 0},
		{"the plan reads what is recorded", `GET .*prefix=ledger/tables/installs/months/`, 1, false, false, 130, 0},
		{"the plan asks what the sink holds", `GET .*prefix=out/installs/`, 1, false, false, 130, 0},
		{"the run's record begins", `name=ledger/runs/`, 1, false, false, 130, 0},
		{"a window is leased", `name=ledger/tables/installs/months/2`, 1, false, false, 130, 0},
		{"rows are asked for", `csv_report.*campaign`, 3, false, false, 130, 2},
		{"rows are converted", `csv_report.*campaign`, 3, true, false, 130, 2},
		{"totals are asked for", `csv_report.*dimensions=day&`, 1, false, false, 130, 0},
		{"a partition is put", `name=out/installs/`, 3, false, false, 130, 2},
		{"partitions are recorded", `name=ledger/tables/installs/months/2`, 4, false, true, 130, 2},
		{"the state tables are written", `name=out/_reportferry_partitions/`, 1, false, false, 130, 4},
		{"the run's record ends", `name=ledger/runs/`, 2, false, false, 130, 4},
		{"pages are written", `name=status/`, 1, false, false, 0, 4},
		{"the catalogue is told", `/lineage`, 2, false, false, 0, 4},
		{"the watcher is told", `/watcher$|/watcher/0`, 1, false, false, 0, 4},
		{"all is away", all, 22, false, true, 130, 0},
	} {
		t.Run(phase.name, func(t *testing.T) {
			t.Parallel()
			g := newGate(phase.at, phase.nth, phase.half)
			lease := living
			if phase.held { // until it ends, because it can't be given back
				lease = racing
			}
			p, c := newGatedPlace(t, s, days, lease, g)
			opens := sync.OnceFunc(func() { close(g.opened) })
			t.Cleanup(opens) // before the servers end
			cmd, out := p.command(t.Context(), "run")
			check(t, cmd.Start())
			select {
			case <-g.struck:
			case <-time.After(time.Minute):
				_ = cmd.Process.Kill()
				t.Fatalf("it never comes there: %s", out)
			}
			check(t, cmd.Process.Signal(syscall.SIGTERM))
			told := time.Now()
			_ = cmd.Wait() // its exit code is looked at
			took, parts := time.Since(told), c.parts(t)
			t.Logf("exit code %d after %v, %d parts", cmd.ProcessState.ExitCode(), took.Round(time.Millisecond),
				len(parts))
			if code := cmd.ProcessState.ExitCode(); code != phase.code || took > 10*time.Second ||
				len(parts) != phase.parts {
				t.Errorf("exit code %d after %v with %d parts, want %d and %d: %s", code, took, len(parts), phase.code,
					phase.parts, out)
			}
			for name, data := range parts {
				if data != want[name] {
					t.Errorf("%s is there with %d bytes, whole it has %d", name, len(data), len(want[name]))
				}
			}
			opens()
			spool, earlier := filepath.Join(p.dir, "spool"), time.Now().Add(-time.Hour)
			spools, err := os.ReadDir(spool)
			check(t, err)
			for _, left := range spools { // who was ended by force leaves one, which is swept when it is old
				check(t, os.Chtimes(filepath.Join(spool, left.Name()), earlier, earlier))
			}
			if text, code := p.run("run"); code != 0 || strings.Contains(text, "held by another") && !phase.held {
				t.Errorf("the run after: exit code %d: %s", code, text)
			}
			same(t, c.parts(t), want)
			if left, err := os.ReadDir(spool); err != nil || len(left) != 0 || len(spools) > 0 && phase.at != all {
				t.Errorf("left in spool_dir: %v, and then %v %v", spools, left, err)
			}
		})
	}
}

// A signal before the handlers stand ends the process as the system has it, before anything was
// begun; one while the config is read, which nothing interrupts, ends it after nine seconds.
func TestTerminatedBeforeTheRun(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "1", "--days", "5")
	for name, c := range map[string]struct {
		reads, early bool
		code         int
		signal       syscall.Signal
	}{
		"no handlers": {early: true, code: -1, signal: syscall.SIGTERM},
		"the config":  {reads: true, code: jobs.ExitInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, s, 2, 1, living)
			config := filepath.Join(p.dir, "reportferry.yml")
			good, err := os.ReadFile(config)
			check(t, err)
			if c.early {
				p.env = []string{asCrash + "=early"}
			}
			if c.reads {
				check(t, os.Remove(config))
				check(t, syscall.Mkfifo(config, 0o600))
			}
			cmd, out := p.command(t.Context(), "run")
			check(t, cmd.Start())
			if c.reads {
				pipe, err := os.OpenFile(config, os.O_WRONLY, 0) // returns when it is read
				check(t, err)
				defer func() { _ = pipe.Close() }()
				check(t, cmd.Process.Signal(syscall.SIGTERM))
			}
			told := time.Now()
			_ = cmd.Wait() // how it ends is looked at
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if took := time.Since(told); status.ExitStatus() != c.code || status.Signaled() &&
				status.Signal() != c.signal || took > 10*time.Second {
				t.Errorf("exit code %d, signal %d after %v: %s", status.ExitStatus(), status.Signal(), took, out)
			}
			for _, made := range []string{"ledger", "spool", "out"} {
				if _, err := os.Stat(filepath.Join(p.dir, made)); !os.IsNotExist(err) {
					t.Errorf("%s was begun: %v", made, err)
				}
			}
			p.env = nil
			check(t, os.RemoveAll(config))
			check(t, os.WriteFile(config, good, 0o600))
			if text, code := p.run("run"); code != 0 || len(p.files()) != 2 {
				t.Errorf("the run after: exit code %d: %s", code, text)
			}
		})
	}
}
