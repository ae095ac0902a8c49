package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// configuredServe is a config of these jobs, each with its schedule.
func configuredServe(dir string, jobs ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "service: embedded\nledger: file://%[1]s/ledger\nspool_dir: %[1]s/spool\njobs:\n", dir)
	for _, job := range jobs {
		name, schedule, _ := strings.Cut(job, " ")
		name, table, _ := strings.Cut(name, "=")
		if table != "" {
			table = "table: " + table + ", "
		}
		fmt.Fprintf(&b, "  - {name: %s, %skind: report, schedule: %q, sinks: [\"file://%s/out\"], start: -3d, "+
			"currency: USD, dimensions: [day], metrics: [installs]}\n", name, table, schedule, dir)
	}
	return b.String()
}

// A serveStage is a daemon whose runs end when the test says so.
type serveStage struct {
	*daemon
	t    *testing.T
	dir  string
	log  serveWrites
	mu   sync.Mutex
	open map[string]chan int // by job: ends the run under way
	most map[string]int      // runs of a job at once
	did  []string            // job and engine of each run, in the order of their beginnings
	runs []string            // the jobs of each

	worse int // the code of a run, when those of its jobs are less
}

// serveWrites may be written by many.
type serveWrites struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *serveWrites) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func checkServe(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newServeStage(t *testing.T, jobs ...string) *serveStage {
	t.Helper()
	s := &serveStage{t: t, dir: t.TempDir(), open: map[string]chan int{}, most: map[string]int{}}
	s.write(configuredServe(s.dir, jobs...))
	p := &wire.Program{
		ConfigFile: filepath.Join(s.dir, "c.yml"), LogFormat: "text", LogLevel: "info",
		LookupEnv: func(string) (string, bool) { return "", false },
		Kinds:     map[string]wire.Maker{"report": wire.Report}, Sinks: map[string]sinks.Opener{"file": blobsink.Open},
	}
	s.daemon = newDaemon(p, slog.New(slog.NewTextHandler(&s.log, nil)), s.do)
	g, err := s.daemon.open(t.Context())
	checkServe(t, err)
	s.install(g)
	return s
}

func (s *serveStage) write(config string) {
	s.t.Helper()
	checkServe(s.t, os.WriteFile(filepath.Join(s.dir, "c.yml"), []byte(config), 0o600))
}

// do is a run whose jobs last until the test ends them.
func (s *serveStage) do(ctx context.Context, e *wire.Engine, jobs []string, over func(string, int)) (code int,
	err error) {
	s.mu.Lock()
	s.runs = append(s.runs, strings.Join(jobs, " "))
	var list []chan int
	for _, job := range jobs {
		if s.open[job] != nil {
			s.t.Errorf("%s runs twice at once", job)
		}
		s.open[job] = make(chan int)
		list = append(list, s.open[job])
		s.did = append(s.did, fmt.Sprintf("%s of %d", job, len(e.Config.Jobs)))
	}
	s.mu.Unlock()
	forget := func(job string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, job)
	}
	var wg sync.WaitGroup
	codes := make([]int, len(jobs))
	for i, job := range jobs {
		wg.Go(func() {
			codes[i] = 130
			select {
			case codes[i] = <-list[i]:
				if err := e.Ledger.Probe(ctx); err != nil {
					s.t.Errorf("the engine is closed while %s runs: %v", job, err)
				}
			case <-ctx.Done():
			}
			forget(job)
			if codes[i] >= 0 {
				over(job, codes[i])
			}
		})
	}
	wg.Wait()
	if slices.Min(codes) < 0 {
		panic("on purpose")
	}
	return max(s.worse, slices.Max(codes)), nil
}

// end ends the run of a job that is under way.
func (s *serveStage) end(job string, code int) {
	s.t.Helper()
	s.mu.Lock()
	end := s.open[job]
	s.mu.Unlock()
	if end == nil {
		s.t.Fatalf("%s doesn't run; %.200v", job, s.did)
	}
	end <- code
	synctest.Wait()
}

// began wants the runs that have begun since it was last asked, in any order.
func (s *serveStage) began(want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.did)
	if !slices.Equal(s.did, want) {
		s.t.Errorf("runs have begun of %q, want %q", s.did, want)
	}
	s.did = nil
}

// playedServe runs a stage in a bubble, at 07:00 of a day.
func playedServe(t *testing.T, jobs []string, play func(t *testing.T, s *serveStage, reload func(config string))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour)
		s := newServeStage(t, jobs...)
		ctx, stop := context.WithCancel(t.Context())
		hangups, over := make(chan struct{}), make(chan struct{})
		go func() { defer close(over); s.run(ctx, hangups) }()
		play(t, s, func(config string) {
			s.write(config)
			hangups <- struct{}{}
			synctest.Wait()
		})
		stop()
		<-over
		last := s.current
		s.close()
		if last.holders.Load() != 0 {
			t.Errorf("%d still hold what is closed", last.holders.Load())
		}
	})
}

func TestReloadWhileJobsRun(t *testing.T) {
	playedServe(t, []string{"a 0 8 * * *", "b 0 8 * * *"}, func(t *testing.T, s *serveStage, reload func(string)) {
		s.began("a of 2", "b of 2")
		old := s.current
		s.end("b", 0)

		// a runs on, b is gone, c and d are new.
		reload(configuredServe(s.dir, "a 0 9 * * *", "c 0 8 * * *", "d 0 8 * * *"))
		s.began("c of 3", "d of 3")
		if s.current == old || old.holders.Load() != 1 {
			t.Errorf("%d hold the old config, want the run of a", old.holders.Load())
		}
		time.Sleep(61 * time.Minute) // 08:01: c and d still run, b must not
		s.began()
		s.end("a", 0)
		s.began("a of 3") // what the reload asked for
		if err := old.engine.Ledger.Probe(t.Context()); old.holders.Load() != 0 || err == nil {
			t.Errorf("%d hold the old config after its last run, and its ledger is open", old.holders.Load())
		}
		s.end("a", 0)
		s.end("c", 3)
		s.end("d", 0)
		time.Sleep(time.Hour) // 09:01
		s.began("a of 3")

		reload(configuredServe(s.dir, "e=a 0 9 * * *", "f 0 8 * * *")) // e fills the table of a, which runs
		s.began("f of 2")
		if h := s.health(); len(h.Jobs) != 3 || !h.Jobs[2].Gone || h.Jobs[2].Job != "a" {
			t.Errorf("the run of a job that is gone isn't shown: %+v", h)
		}
		reload(configuredServe(s.dir, "e=f 0 9 * * *", "f=a 0 8 * * *")) // each waits for the table that it fills now
		s.began()
		s.end("f", 0)
		s.began("e of 2")
		reload(configuredServe(s.dir, "e=a 0 9 * * *", "f 0 8 * * *"))
		s.end("a", 0)
		s.began()
		s.end("e", 0)
		s.began("e of 2", "f of 2")
		if h := s.health(); len(h.Jobs) != 2 || h.Status != "ok" {
			t.Errorf("health: %+v", h)
		}
		s.end("f", 0)
		s.end("e", -1)
		if h := s.health(); h.Status != "failing" || h.Jobs[0].Last.Exit != 1 ||
			!strings.Contains(s.log.b.String(), "a run has panicked") {
			t.Errorf("a run that panicked is %+v: %s", h, &s.log.b)
		}
	})
}

// What is due together is one run. A job of it that is over begins again while others of it still
// run, and isn't kept back by them.
func TestWhatIsDueTogetherIsOneRun(t *testing.T) {
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("j%03d */5 * * * *", i)
	}
	playedServe(t, append(many, "slow 0 8 * * *"), func(t *testing.T, s *serveStage, _ func(string)) {
		names := make([]string, len(many))
		for i, job := range many {
			names[i], _, _ = strings.Cut(job, " ")
		}
		all := strings.Join(names, " ")
		for tick, want := range []string{all + " slow", all, all, all} {
			synctest.Wait()
			if len(s.runs) != tick+1 || s.runs[tick] != want {
				t.Fatalf("at the tick %d there are %d runs, and the last is of %q", tick, len(s.runs),
					s.runs[len(s.runs)-1])
			}
			for i, name := range names {
				s.end(name, 3*(i%2))
			}
			h := s.health()
			if j := h.Jobs[1]; h.Status != "failing" || j.Running || j.Last.Exit != 3 || h.Jobs[0].Last.Exit != 0 ||
				!h.Jobs[200].Running {
				t.Errorf("while the run goes on, its jobs are %+v, %+v and %+v", h.Jobs[0], j, h.Jobs[200])
			}
			time.Sleep(5 * time.Minute)
		}
	})
}

// A clock that was a day ahead, or has been set back by one, makes no job miss its hour.
func TestAClockThatIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour)
		s := newServeStage(t, "a 0 8 * * *")
		defer s.close()
		at := func(after time.Duration, want ...string) {
			t.Helper()
			s.beginDue(t.Context(), time.Now().Add(after))
			s.began(want...)
		}
		at(0, "a of 1") // what an earlier process may have missed
		s.end("a", 0)
		at(24*time.Hour, "a of 1") // 07:00 of tomorrow, by a clock that is wrong
		s.end("a", 0)
		at(30 * time.Minute) // it is right again
		at(time.Hour, "a of 1")
		s.end("a", 0)
		at(-23 * time.Hour) // wrong in the other way
		at(-22 * time.Hour)
		at(25*time.Hour, "a of 1")
		s.end("a", 0)
		s.daemon.runs.Wait()
	})
}

// A run that fails although its jobs went well, by its record, has failed for each of them.
func TestARunThatCannotBeRecorded(t *testing.T) {
	playedServe(t, []string{"a 0 8 * * *", "b 0 8 * * *"}, func(t *testing.T, s *serveStage, _ func(string)) {
		s.began("a of 2", "b of 2")
		s.worse = 1
		s.end("a", 0)
		if h := s.health(); h.Status != "ok" {
			t.Errorf("one is over: %+v", h)
		}
		s.end("b", 0)
		if h := s.health(); h.Status != "failing" || h.Jobs[0].Last.Exit != 1 || h.Jobs[1].Last.Exit != 1 {
			t.Errorf("both are over: %+v", h.Jobs)
		}
	})
}

func TestAWrongConfigChangesNothing(t *testing.T) {
	playedServe(t, []string{"a 0 8 * * *"}, func(t *testing.T, s *serveStage, reload func(string)) {
		said := ""
		s.announce = func(level slog.Level, text string, args ...any) { said = fmt.Sprint(level, text, args) }
		s.began("a of 1")
		s.end("a", 0)
		old := s.current
		for _, c := range []struct{ config, says string }{
			{strings.Replace(configuredServe(s.dir, "a 0 8 * * *"), "kind: report", "kind: rport", 1), "c.yml:5:"},
			{configuredServe(s.dir, "a 0 8 * *"), "c.yml:5:"}, {strings.Replace(configuredServe(s.dir, "a 0 8 * * *"),
				"schedule", "# ", 1), "c.yml:5:"},
			{strings.Replace(configuredServe(s.dir, "a"), `schedule: "", `, "", 1), "no job has a schedule"},
			{strings.Replace(configuredServe(s.dir, "a 0 8 * * *"), "ledger: file://", "ledger: mem://", 1), "mem://"},
			{"", "the file is empty"},
		} {
			reload(c.config)
			r := s.ready(t.Context())
			i := slices.IndexFunc(r.Checks, func(c condition) bool { return c.Check == "config" })
			if s.current != old || !strings.Contains(said, c.says) || r.Status != "ready" ||
				!strings.Contains(r.Checks[i].Refused, c.says) || time.Since(r.Checks[i].Since) > time.Second {
				t.Errorf("%s: it says %s, and is %+v", c.says, said, r)
			}
			s.daemon.mu.Lock()
			status := s.status()
			s.daemon.mu.Unlock()
			if !strings.Contains(status, "the config was refused") {
				t.Errorf("the status is %s", status)
			}
		}
		time.Sleep(time.Hour)
		s.began("a of 1")
		s.end("a", 0)
		s.renewSecrets = func(context.Context) error { return errors.New("--token: the file is gone") }
		reload(configuredServe(s.dir, "a 0 8 * * *"))
		if s.current != old || !strings.Contains(said, "--token: the file is gone") {
			t.Errorf("without its token: %s", said)
		}
		s.renewSecrets = func(context.Context) error { return nil }
		reload(configuredServe(s.dir, "a 0 8 * * *"))
		if r := s.ready(t.Context()); s.current == old || strings.Contains(fmt.Sprint(r), "the file is gone") {
			t.Errorf("after a good one: %+v", r)
		}
	})
}

// probedServe asks a probe.
func probedServe(h http.Handler, path string) (status int, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestReadiness(t *testing.T) {
	playedServe(t, []string{"a 0 8 * * *"}, func(t *testing.T, s *serveStage, _ func(string)) {
		s.began("a of 1")
		whole, short := s.probes(true), s.probes(false)
		ready := func(wantStatus int, wants ...string) {
			t.Helper()
			status, body := probedServe(whole, "/readyz")
			for _, want := range wants {
				if status != wantStatus || !strings.Contains(body, want) {
					t.Errorf("/readyz: %d %s, want %d and %s", status, body, wantStatus, want)
				}
			}
			if other, body := probedServe(short, "/readyz"); other != status || strings.Contains(body, "error") ||
				strings.Contains(body, s.dir) || !strings.Contains(body, `"check":`) {
				t.Errorf("/readyz for strangers: %d %s", other, body)
			}
		}
		ready(200, `"status":"ready"`, `{"check":"ledger","ok":true,"since":"2009-12-29T07:00:00Z"}`)
		if status, body := probedServe(whole, "/healthz"); status != 200 ||
			!strings.Contains(body, `{"job":"a","running":true,"next":"2009-12-29T08:00:00Z"}`) {
			t.Errorf("/healthz: %d %s", status, body)
		}
		if status, body := probedServe(short, "/healthz"); status != 200 || body != "{\"status\":\"ok\"}\n" {
			t.Errorf("/healthz for strangers: %d %s", status, body)
		}
		for path, want := range map[string]int{"/metrics": 404, "/": 404} {
			if status, _ := probedServe(short, path); status != want {
				t.Errorf("%s is answered by probes with %d", path, status)
			}
		}

		away := filepath.Join(s.dir, "away")
		checkServe(t, os.Rename(filepath.Join(s.dir, "ledger"), away))
		time.Sleep(time.Minute)
		ready(503, `"status":"not ready"`, `"check":"ledger","ok":false,"since":"2009-12-29T07:01:00Z","error":"`,
			"no such file")
		time.Sleep(time.Minute)
		ready(503, `"since":"2009-12-29T07:01:00Z","error":"`)
		checkServe(t, os.Rename(away, filepath.Join(s.dir, "ledger")))
		ready(503, `"check":"ledger","ok":false`) // the answer of a moment ago
		time.Sleep(time.Minute)
		ready(200, `"check":"ledger","ok":true,"since":"2009-12-29T07:03:00Z"`)
		if status, body := probedServe(whole, "/healthz"); status != 200 || !strings.Contains(body, `"running":true`) {
			t.Errorf("/healthz: %d %s", status, body)
		}
		now := time.Now()
		s.stopping.Store(&now)
		ready(503, `"check":"running","ok":false,"since":"2009-12-29T07:03:00Z","error":"it stops`)
		s.stopping.Store(nil)
	})
}

// Runs, probes and readers go to the ledger that the newest config names, from the moment on at
// which it was read.
func TestAnotherLedger(t *testing.T) {
	playedServe(t, []string{"a 0 8 * * *"}, func(t *testing.T, s *serveStage, reload func(string)) {
		s.began("a of 1")
		s.end("a", 0)
		first := s.current.engine.Ledger
		if status, body := probedServe(s.probes(true), "/readyz"); status != 200 {
			t.Errorf("/readyz: %d %s", status, body)
		}
		checkServe(t, os.RemoveAll(filepath.Join(s.dir, "ledger")))
		reload(strings.Replace(configuredServe(s.dir, "a 0 8 * * *"), "/ledger", "/another", 1))
		if status, body := probedServe(s.probes(true), "/readyz"); status != 200 || s.current.engine.Ledger == first ||
			first.Probe(t.Context()) == nil {
			t.Errorf("/readyz: %d %s, or the first ledger is open", status, body)
		}
		s.began("a of 1")
		checkServe(t, os.RemoveAll(filepath.Join(s.dir, "another")))
		reload(configuredServe(s.dir, "a 0 8 * * *"))
		if status, body := probedServe(s.probes(true), "/readyz"); status != 200 {
			t.Errorf("/readyz: %d %s", status, body)
		}
		checkServe(t, os.MkdirAll(filepath.Join(s.dir, "another"), 0o700)) // the run of a goes on there
		s.end("a", 0)
		s.began("a of 1")
	})
}
