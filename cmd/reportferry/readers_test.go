package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

// While a run meets faults of the service, a hundred readers look at pages of its ledger, each of
// them once a second: the run is right, every page is answered, and the console has no more
// descriptors open afterwards. How much longer the run takes is logged.
func TestReadersLeaveARunAlone(t *testing.T) {
	t.Parallel()
	days, latency := 9, "50ms"
	if *kills >= 6 { // a minute each
		days, latency = 84, "400ms"
	}
	s := startService(t, "--apps", "3", "--days", "100", "--latency", latency)
	s.admin(t, http.MethodPut, "faults", []emulator.Fault{
		{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 1, Every: 7},
		{Kind: emulator.FaultStatus, Status: 503, Every: 11}, {Kind: emulator.FaultCut, AfterBytes: 300, Every: 13},
	})
	var alone, watched []time.Duration
	var want map[string]string
	for i := range max(2, *kills/2) {
		p := newPlace(t, s, days, 1, living)
		stop, answered := func() {}, new(atomic.Int64)
		if i%2 == 1 {
			stop, answered = readers(t, p, 100)
		}
		start := time.Now()
		out, code := p.run("run")
		took := time.Since(start)
		stop()
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		if i == 0 {
			want = p.files()
		}
		p.same(want)
		if i%2 == 0 {
			alone = append(alone, took)
			continue
		}
		watched = append(watched, took)
		t.Logf("seed 1: %d pages in %v", answered.Load(), took.Round(time.Millisecond))
	}
	a, w := median(alone), median(watched)
	t.Logf("interrupted by nobody %v, with readers %v: %+.1f%%", a.Round(time.Millisecond), w.Round(time.Millisecond),
		100*(w.Seconds()/a.Seconds()-1))
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// readers lets so many look at pages of a place's ledger, by a console of its own, until stop is
// called. It counts their pages.
func readers(t *testing.T, p *place, n int) (stop func(), answered *atomic.Int64) {
	t.Helper()
	cmd, _ := p.command(t.Context(), "console", "--listen", "127.0.0.1:0")
	cmd.Stdout = nil
	pipe, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	line, err := bufio.NewReader(pipe).ReadString('\n')
	check(t, err)
	address := regexp.MustCompile(`http://\S+/`).FindString(line)
	open := func() int {
		list, err := os.ReadDir(filepath.Join("/proc", fmt.Sprint(cmd.Process.Pid), "fd"))
		check(t, err)
		return len(list)
	}
	answered = new(atomic.Int64)
	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	get := func(path string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		check(t, err)
		res, err := client.Do(r)
		if ctx.Err() != nil {
			return
		}
		check(t, err)
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK && ctx.Err() == nil {
			t.Errorf("%s is answered with %d", path, res.StatusCode)
		}
		answered.Add(1)
	}
	paths := strings.Fields("index.html problems.html overnight.html runs/index.html jobs/installs/index.html " +
		"jobs/installs/numbers/rows.html")
	for _, path := range paths {
		get(path)
	}
	client.CloseIdleConnections()
	before := open()
	var g sync.WaitGroup
	for i := range n {
		g.Go(func() {
			for j := i; ctx.Err() == nil; j++ {
				get(paths[j%len(paths)])
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	return func() {
		t.Helper()
		cancel()
		g.Wait()
		client.CloseIdleConnections()
		for deadline := time.Now().Add(5 * time.Second); open() > before; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%d descriptors are open, there were %d", open(), before)
				break
			}
		}
		check(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // interrupted
	}, answered
}
