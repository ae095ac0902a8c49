package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

var (
	kills    = flag.Int("n", 4, "moments at which the program is killed, and the measure of other volumes")
	killSeed = flag.Uint64("seed", 1, "seed of the moments")
	records  = flag.Int("records", 0, "records that are pushed meanwhile; 0: a few thousand")
)

// The program is killed at random moments and run again: it ends equal to a run that wasn't, nothing half-written is
// ever visible, and what was recorded isn't asked for again.
func TestKilledAtAnyMoment(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "3", "--days", "40", "--latency", "40ms")
	const days = 21
	var want map[string]string
	var took time.Duration
	for range 2 { // the first run waits for the service to make its data up, which says nothing of the others
		clean := newPlace(t, s, days, 1, living)
		start := time.Now()
		if out, code := clean.run("run"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		took, want = time.Since(start), clean.files()
	}
	if len(want) != days {
		t.Fatalf("the clean run left %d parts", len(want))
	}
	t.Logf("seed %d, %d kills within %v", *killSeed, *kills, took)
	dice := rand.New(rand.NewPCG(*killSeed, 0))
	partly := 0
	for i := range *kills {
		after := time.Duration(dice.Int64N(int64(took)))
		t.Run(fmt.Sprintf("%02d after %v", i, after.Round(time.Millisecond)), func(t *testing.T) {
			p := newPlace(t, s, days, 1, dying)
			cmd, _ := p.command(t.Context(), "run")
			check(t, cmd.Start())
			time.Sleep(after)
			check(t, cmd.Process.Kill())
			_ = cmd.Wait() // killed
			for name, data := range p.files() {
				if data != want[name] {
					t.Errorf("%s is visible with %d bytes, whole it has %d", name, len(data), len(want[name]))
				}
			}
			recorded := p.recorded()
			if len(recorded) > 0 && len(recorded) < days {
				partly++
			}
			s.admin(t, http.MethodPost, "reset-requests", nil)
			p.untilDone()
			p.same(want)
			for day := range s.days(t) {
				if recorded[day] != "" {
					t.Errorf("%s was recorded, and is asked for again", day)
				}
			}
		})
	}
	t.Logf("%d of %d kills hit a run that had recorded some of its days", partly, *kills)
}

// untilDone runs the program until nothing is held by the dead one's leases any more.
func (p *place) untilDone() {
	p.t.Helper()
	p.leases(living)
	for range 80 {
		out, code := p.run("run")
		if code == 0 && !strings.Contains(out, "held by another run") {
			p.told()
			return
		}
		if code != 0 && code != 4 {
			p.t.Fatalf("exit code %d: %s", code, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatal("windows of a dead run are held for ever")
}

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

// A holder that sleeps past its lease and wakes up publishes nothing: its windows are another's by then.
func TestAStoppedHolderPublishesNothing(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "2", "--days", "30")
	slow, err := json.Marshal([]emulator.Fault{{Path: "csv_report", Nth: 1, Every: 1, Kind: emulator.FaultSlow, Delay: 3 * time.Second}})
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
	if code := holder.ProcessState.ExitCode(); code == 0 || !strings.Contains(out.String(), "claim lost") {
		t.Errorf("the holder ends with %d and says nothing of a lost claim: %s", code, out)
	}
}

// SIGTERM in the middle of a slow answer: the process ends in time, and the next run goes on at once.
func TestTerminated(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "2", "--days", "30")
	slow, err := json.Marshal([]emulator.Fault{{Path: "csv_report", Query: "campaign", Nth: 2, Every: 1, Kind: emulator.FaultSlow, Delay: time.Minute}})
	check(t, err)
	s.admin(t, http.MethodPut, "faults", json.RawMessage(slow))
	p := newPlace(t, s, 9, 1, living)
	cmd, out := p.command(t.Context(), "run")
	check(t, cmd.Start())
	for deadline := time.Now().Add(20 * time.Second); len(s.days(t)) < 3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the run asks for nothing: %s", out)
		}
	}
	check(t, cmd.Process.Signal(syscall.SIGTERM))
	start := time.Now()
	_ = cmd.Wait() // its exit code is looked at
	if code, took := cmd.ProcessState.ExitCode(), time.Since(start); code != 130 || took > 10*time.Second {
		t.Errorf("exit code %d after %v: %s", code, took, out)
	}
	if n := len(p.recorded()); n == 0 || n == 9 {
		t.Errorf("%d days are recorded, want some", n)
	}
	if spools, err := os.ReadDir(p.dir + "/spool"); err != nil || len(spools) != 0 {
		t.Errorf("left in spool_dir: %v %v", spools, err)
	}
	s.admin(t, http.MethodPut, "faults", []string{})
	if text, code := p.run("run"); code != 0 || strings.Contains(text, "held") || len(p.files()) != 9 {
		t.Errorf("the run after: exit code %d, %d parts: %s", code, len(p.files()), text)
	}
}
