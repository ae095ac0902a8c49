package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

var (
	kills    = flag.Int("n", 4, "moments at which the program is killed, and the measure of other volumes")
	killSeed = flag.Uint64("seed", 1, "seed of the moments")
	records  = flag.Int("records", 0, "records that are pushed meanwhile; 0: a few thousand")
)

// The program is killed at random moments and run again: it ends equal to a run that wasn't,
// nothing half-written is ever visible, and what was recorded isn't asked for again.
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
			p.messages()
			return
		}
		if code != 0 && code != 4 {
			p.t.Fatalf("exit code %d: %s", code, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatal("windows of a dead run are held for ever")
}

// A task that is told to end at any moment ends within ten seconds, and the next attempt ends equal
// to the truth.
func TestATaskIsTerminatedAtAnyMoment(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const days = 12
	s := startService(t, "--apps", "2", "--days", "30", "--latency", "60ms")
	var want map[string]string
	var took time.Duration
	for range 2 { // the first one waits for the data to be made up
		p, c := newCloudPlace(t, s, days, living)
		start := time.Now()
		if out, code := p.run("run"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		took, want = time.Since(start), c.parts(t)
	}
	t.Logf("seed %d, %d moments within %v", *killSeed, *kills, took)
	dice := rand.New(rand.NewPCG(*killSeed, 2))
	interrupted, longest := 0, time.Duration(0)
	for i := range *kills {
		after := time.Duration(dice.Int64N(int64(took)))
		t.Run(fmt.Sprintf("%03d after %v", i, after.Round(time.Millisecond)), func(t *testing.T) {
			p, c := newCloudPlace(t, s, days, living)
			cmd, out := p.asTask(0, 1, 0, "run")
			check(t, cmd.Start())
			time.Sleep(after)
			told := time.Now()
			check(t, cmd.Process.Signal(syscall.SIGTERM))
			_ = cmd.Wait() // its exit code is looked at
			ending := time.Since(told)
			longest = max(longest, ending)
			code := cmd.ProcessState.ExitCode()
			early := code == -1 && c.breaks(cloudFault{}) == 0 // before it listened to signals, and did anything
			if ending > 10*time.Second || code != 0 && code != 130 && !early {
				t.Errorf("exit code %d after %v: %s", code, ending, out)
			}
			if code == 130 {
				interrupted++
			}
			next, out := p.asTask(0, 1, 1, "run")
			start := time.Now()
			if err := next.Run(); err != nil || time.Since(start) > 10*time.Second {
				t.Errorf("the next attempt: %v after %v: %s", err, time.Since(start), out)
			}
			same(t, c.parts(t), want)
			if spools, err := os.ReadDir(p.dir + "/spool"); err != nil || len(spools) != 0 && !early {
				t.Errorf("left in spool_dir: %v %v", spools, err)
			}
		})
	}
	t.Logf("%d of %d were interrupted; the slowest ended after %v", interrupted, *kills,
		longest.Round(time.Millisecond))
}
