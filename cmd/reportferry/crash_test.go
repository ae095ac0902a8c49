package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

// Eight processes at once on one job: no window is fetched twice, and together they have it all.
func TestEightProcessesShareTheWork(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "3", "--days", "60", "--latency", "30ms")
	const days = 48
	clean := newPlace(t, s, days, 4, living)
	if out, code := clean.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	s.admin(t, http.MethodPost, "reset-requests", nil)
	p := newPlace(t, s, days, 1, racing)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if out, code := p.run("run", "installs"); code != 0 && code != 4 {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
	wg.Wait()
	p.same(clean.files())
	counts := s.days(t)
	for day, n := range counts {
		if n != 1 {
			t.Errorf("%s was asked for %d times", day, n)
		}
	}
	if len(counts) != days {
		t.Errorf("%d days were asked for, want %d", len(counts), days)
	}
}

// A holder that sleeps past its lease and wakes up publishes nothing: its windows are another's by
// then.
func TestAStoppedHolderPublishesNothing(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "2", "--days", "30")
	slow, err := json.Marshal([]emulator.Fault{{Path: "csv_report", Nth: 1, Every: 1, Kind: emulator.FaultSlow,
		Delay: 3 * time.Second}})
	check(t, err)
	s.admin(t, http.MethodPut, "faults", json.RawMessage(slow))
	p := newPlace(t, s, 9, 1, dying)
	holder, out := p.command(t.Context(), "run")
	check(t, holder.Start())
	for deadline := time.Now().Add(20 * time.Second); len(s.days(t)) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the holder asks for nothing")
		}
	}
	check(t, holder.Process.Signal(syscall.SIGSTOP))
	for p.locked() { // the others would wait for it
		check(t, holder.Process.Signal(syscall.SIGCONT))
		time.Sleep(5 * time.Millisecond)
		check(t, holder.Process.Signal(syscall.SIGSTOP))
	}
	s.admin(t, http.MethodPut, "faults", []string{})
	time.Sleep(1200 * time.Millisecond) // its lease is over
	p.untilDone()
	want, records := p.files(), p.recorded()
	check(t, holder.Process.Signal(syscall.SIGCONT))
	var exit *exec.ExitError
	if err := holder.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	p.same(want)
	for day, run := range p.recorded() {
		if records[day] != run {
			t.Errorf("%s was recorded anew by the holder that slept", day)
		}
	}
	if code := holder.ProcessState.ExitCode(); code == 0 ||
		!strings.Contains(strings.Join(strings.Fields(out.String()), " "), "lease lost") {
		t.Errorf("the holder ends with %d and says nothing of a lost lease: %s", code, out)
	}
}

// locked tells whether a process has locked a folder of the ledger.
func (p *place) locked() (yes bool) {
	check(p.t, filepath.WalkDir(filepath.Join(p.dir, "ledger"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		yes = yes || syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
		return f.Close()
	}))
	return yes
}

// A crash dies by SIGABRT, so that nobody takes it for a wrong config, which has 2. It leaves no
// core, in which the token would be.
func TestACrashDiesBySignal(t *testing.T) {
	t.Parallel()
	crashes := map[string]string{"panic": "panic: a mistake", "map": "fatal error: concurrent map",
		"memory": "fatal error: ", "threads": "fatal error: thread exhaustion"}
	if emutest.Slowdown > 1 {
		// The detector needs memory too, and where it gets none, it ends the process before the
		// runtime does.
		delete(crashes, "memory")
	}
	for how, says := range crashes {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := &place{t: t, dir: t.TempDir(), env: []string{asCrash + "=" + how}}
			cmd, out := p.command(t.Context(), "emulator", "--addr", "127.0.0.1:0")
			err := cmd.Run()
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if status.Signal() != syscall.SIGABRT || status.CoreDump() || !strings.Contains(out.String(), says) {
				t.Errorf("it ends with %v: %.2000s", err, out)
			}
		})
	}
}
