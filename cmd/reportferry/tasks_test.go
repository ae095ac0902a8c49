package main

import (
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// newCloudPlace has its ledger and its sink in a bucket, as a Cloud Run job has.
func newCloudPlace(t *testing.T, s *service, days int, lease string) (*place, *cloud) {
	t.Helper()
	c := startCloud(t)
	p := newPlace(t, s, days, 8, lease)
	p.env = []string{"STORAGE_EMULATOR_HOST=" + c.addr}
	p.edit(t, "file://"+p.dir+"/ledger", "gs://bkt/ledger")
	p.edit(t, "file://"+p.dir+"/out", "gs://bkt/out")
	return p, c
}

// asTask is the program as the index-th task of count, in its attempt-th attempt.
func (p *place) asTask(index, count, attempt int, args ...string) (*exec.Cmd, fmt.Stringer) {
	cmd, out := p.command(p.t.Context(), args...)
	cmd.Env = append(cmd.Env, "CLOUD_RUN_EXECUTION=night-x7", fmt.Sprint("CLOUD_RUN_TASK_INDEX=", index),
		fmt.Sprint("CLOUD_RUN_TASK_COUNT=", count), fmt.Sprint("CLOUD_RUN_TASK_ATTEMPT=", attempt),
		"REPORTFERRY_LOG_FORMAT=json")
	return cmd, out
}

// parts are what the bucket shows of the table, under the names that files have.
func (c *cloud) parts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range c.names(t, "out/") {
		if name == "out/.reportferry-probe.json" {
			continue // says what the store can do; no reader looks at names with a dot
		}
		if stateName.MatchString(name) {
			continue
		}
		if !partName.MatchString(name) {
			t.Errorf("visible, and no part: %s", name)
		}
		o, err := c.store.GetObjectStreaming("bkt", name)
		check(t, err)
		data, err := io.ReadAll(o.Content)
		check(t, err)
		check(t, o.Content.Close())
		found[name] = withoutFetch(data)
	}
	return found
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s: %d bytes, the clean run has %d", name, len(got[name]), len(data))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d parts, want %d", len(got), len(want))
	}
}

// Eight tasks backfill half a year, or a year. One is killed and started again, one is stopped
// until its lease is long over, and started again if it fails by that. Together they have every day
// once, ask for no window twice but those that the two were at, and keep to the rate in every
// second.
func TestEightTasksBackfill(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	days := 182
	if *kills > 4 {
		days = 364
	}
	const perSecond, tasks, killed, stopped = 8, 8, 5, 2
	s := startService(t, "--apps", "2", "--days", fmt.Sprint(days+20), "--latency", "250ms")
	started := time.Now()
	clean := newPlace(t, s, days, 8, living)
	clean.edit(t, "page: 2d", "page: 7d")
	today := time.Now().UTC()
	from, to := today.AddDate(0, 0, -days).Format(time.DateOnly), today.AddDate(0, 0, -1).Format(time.DateOnly)
	backfill := []string{"backfill", "installs", "--from", from, "--to", to, "--deadline", "5m"}
	if out, code := clean.run(backfill...); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	t.Logf("one process: %v", time.Since(started))
	s.admin(t, "POST", "reset-requests", nil)

	p, c := newCloudPlace(t, s, days, living)
	p.edit(t, "lease: "+living, "lease: ${TEST_LEASE}")
	p.edit(t, "page: 2d", "page: 7d")
	p.edit(t, "rate: 1000", fmt.Sprint("rate: ", perSecond))
	var wg sync.WaitGroup
	for i := range tasks {
		wg.Go(func() {
			cmd, out := p.asTask(i, tasks, 0, backfill...)
			lease := living // a busy machine may leave a task without its heartbeats for seconds
			if i == killed || i == stopped {
				lease = "4s"
			}
			cmd.Env = append(cmd.Env, "TEST_LEASE="+lease)
			check(t, cmd.Start())
			switch i {
			case killed:
				time.Sleep(1500 * time.Millisecond)
				_ = cmd.Process.Kill() // it may have ended
				_ = cmd.Wait()         // killed
				cmd, out = p.asTask(i, tasks, 1, backfill...)
				cmd.Env = append(cmd.Env, "TEST_LEASE="+living)
				check(t, cmd.Start())
			case stopped:
				time.Sleep(2 * time.Second)
				check(t, cmd.Process.Signal(syscall.SIGSTOP))
				time.Sleep(5 * time.Second)
				check(t, cmd.Process.Signal(syscall.SIGCONT))
			}
			err := cmd.Wait()
			if i == stopped && err != nil {
				cmd, out = p.asTask(i, tasks, 1, backfill...)
				cmd.Env = append(cmd.Env, "TEST_LEASE="+living)
				err = cmd.Run()
			}
			if err != nil {
				t.Errorf("task %d: %v: %s", i, err, out)
			}
		})
	}
	wg.Wait()
	t.Logf("calls of the bucket: %d", c.breaks(cloudFault{}))
	same(t, c.parts(t), clean.files())

	twice, seconds := 0, map[int64]int{}
	windows := map[string]int{}
	for _, r := range s.requests(t) {
		seconds[r.Started.Unix()]++
		q, err := url.ParseQuery(r.Query)
		check(t, err)
		if w := q.Get("date_period"); w != "" && q.Get("dimensions") != "day" { // by day it asks for totals
			windows[w]++
		}
	}
	for w, n := range windows {
		if twice += n - 1; n > 2 {
			t.Errorf("%s was asked for %d times", w, n)
		}
	}
	most := 0
	for _, n := range seconds {
		most = max(most, n)
	}
	t.Logf("%d windows, %d asked for again; at most %d requests in a second, over %d seconds", len(windows), twice,
		most, len(seconds))
	if twice > 2 {
		t.Errorf("%d windows were asked for again, want at most those of the killed task and of the stopped one: %v",
			twice, windows)
	}
	if most > perSecond+1 { // the task that was killed sends its first one anew
		t.Errorf("%d requests in one second, want at most %d, and one", most, perSecond)
	}
}

// What a platform would only try again ends at once, and before anybody is called.
func TestRefusalsAreQuick(t *testing.T) {
	s := startService(t, "--apps", "2", "--days", "30")
	for _, c := range []struct {
		name   string
		change func(p *place)
		code   int
		reason string
	}{
		{"a config that isn't one", func(p *place) { p.edit(t, "currency: USD", "curency: USD") }, 2, "config"},
		{"no token", func(p *place) { p.edit(t, "${TEST_TOKEN}", "${NO_SUCH_TOKEN}") }, 2, "config"},
		// Not even root may read this one inside a container.
		{"a token file that may not be read", func(p *place) { p.edit(t, "${TEST_TOKEN}", "${file:/proc/1/mem}") }, 5,
			"denied"},
		{"a ledger that is gone with the task", func(p *place) { p.edit(t, "gs://bkt/ledger", "file:///ledger") }, 2,
			"config"},
		{"a sink that is gone with the task", func(p *place) { p.edit(t, "gs://bkt/out", "file:///out") }, 2, "config"},
		{"a deadline that is none", func(p *place) { p.env = append(p.env, "REPORTFERRY_DEADLINE=soon") }, 2, "config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, cloud := newCloudPlace(t, s, 5, living)
			c.change(p)
			s.admin(t, "POST", "reset-requests", nil)
			cmd, out := p.asTask(1, 2, 0, "run")
			start := time.Now()
			_ = cmd.Run() // its exit code is looked at
			took := time.Since(start)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if code := cmd.ProcessState.ExitCode(); code != c.code ||
				!strings.Contains(out.String(), `"reason":"`+c.reason+`"`) || took > time.Second || len(lines) != 1 {
				t.Errorf("exit code %d after %v, want %d and %s: %s", code, took, c.code, c.reason, out)
			}
			if n := cloud.breaks(cloudFault{}); n > 0 {
				t.Errorf("%d calls of the bucket", n)
			}
			if log := s.requests(t); len(log) > 0 {
				t.Errorf("%d calls of the service", len(log))
			}
		})
	}
}
