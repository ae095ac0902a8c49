//go:build clock

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// jumping is the program with a wall clock that jumps: CLOCK_JUMPS=300ms:-86400,2s:0 says how many
// seconds the clock is off from which age of the process on. The whole program is compiled with
// that, in minutes, so that a build tag keeps this out of the usual tests. Only what package time
// says of now is changed; timers, deadlines and files go by the machine's own clocks.
var jumping = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reportferry-jumps-")
	if err != nil {
		return "", err
	}
	source := filepath.Join(runtime.GOROOT(), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const old, plus = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "\tsec += jumped(mono)\n"
	if strings.Count(string(text), old) != 1 {
		return "", fmt.Errorf("%s has no %q", source, old)
	}
	changed, jumps := filepath.Join(dir, "time.go"), filepath.Join(dir, "jumps.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), old, old+plus, 1)), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(jumps, []byte(jumpsSource), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed,
		filepath.Join(filepath.Dir(source), "jumps.go"): jumps}})
	if err != nil {
		return "", err
	}
	file, path := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "reportferry")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

const jumpsSource = `package time

import "syscall"

type jump struct{ from, by int64 }

var jumps = readJumps()

// readJumps reads pairs of an age with a unit and of seconds, without this package's own initialisation.
func readJumps() (list []jump) {
	text, _ := syscall.Getenv("CLOCK_JUMPS")
	for len(text) > 0 {
		one := text
		text = ""
		for i := 0; i < len(one); i++ {
			if one[i] == ',' {
				one, text = one[:i], one[i+1:]
				break
			}
		}
		for i := 0; i < len(one); i++ {
			if one[i] == ':' {
				age, _ := ParseDuration(one[:i])
				by, minus := int64(0), false
				for _, c := range one[i+1:] {
					if c == '-' {
						minus = true
					} else {
						by = by*10 + int64(c-'0')
					}
				}
				if minus {
					by = -by
				}
				list = append(list, jump{int64(age), by})
			}
		}
	}
	return list
}

func jumped(mono int64) (by int64) {
	for _, j := range jumps {
		if mono-startNano >= j.from {
			by = j.by
		}
	}
	return by
}
`

// jump is a run of the program whose clock jumps.
func (p *place) jump(t *testing.T, jumps string, args ...string) (string, int) {
	t.Helper()
	path, err := jumping()
	check(t, err)
	cmd, out := p.command(t.Context(), args...)
	cmd.Path = path
	cmd.Env = append(cmd.Env, "CLOCK_JUMPS="+jumps)
	_ = cmd.Run() // its exit code is looked at
	return out.String(), cmd.ProcessState.ExitCode()
}

// The clock jumps by up to a day and back while the program runs, alone and beside another process.
// Such a run ends well, or says what is wrong with the clock, or that its lease is over, and
// publishes nothing more. What is recorded was fetched when it was, and the next run ends equal to
// one whose clock was right.
func TestTheClockJumpsAtAnyMoment(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const days = 12
	s := startService(t, "--apps", "2", "--days", "30", "--latency", "40ms")
	var want map[string]string
	var took time.Duration
	for range 2 { // the first one waits for the data to be made up
		clean := newPlace(t, s, days, 1, living)
		start := time.Now()
		if out, code := clean.jump(t, "", "run"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		took, want = time.Since(start), clean.files()
	}
	dice := rand.New(rand.NewPCG(*killSeed, 24))
	ended := map[int]int{}
	var mu sync.Mutex
	for i := range 3 * *kills {
		jumps := fmt.Sprintf("%v:%d,%v:%d", time.Duration(dice.Int64N(int64(took))), dice.IntN(2*86400)-86400,
			took/2+time.Duration(dice.Int64N(int64(took))), dice.IntN(3)*(dice.IntN(7200)-3600))
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) {
			t.Log(jumps)
			p := newPlace(t, s, days, 1, dying)
			begun := time.Now()
			var both sync.WaitGroup
			for n := range 1 + i%2 {
				both.Go(func() {
					out, code := p.jump(t, []string{jumps, "200ms:-3000,400ms:86400"}[n], "run")
					if code != 0 && code != 4 && (code != 1 && code != 3 || !strings.Contains(out, "clock") &&
						!strings.Contains(out, "lease lost")) {
						t.Errorf("exit code %d: %s", code, out)
					}
					mu.Lock()
					defer mu.Unlock()
					ended[code]++
				})
			}
			both.Wait()
			for name, data := range p.files() {
				if data != want[name] {
					t.Errorf("%s is visible with %d bytes, whole it has %d", name, len(data), len(want[name]))
				}
			}
			for day, at := range p.fetchedAt() {
				if at.Before(begun.Add(-time.Hour)) || at.After(time.Now().Add(time.Hour)) {
					t.Errorf("%s is recorded as fetched at %s, and it is %s", day, at, time.Now())
				}
			}
			p.untilDone()
			p.same(want)
		})
	}
	t.Logf("seed %d, ended %v", *killSeed, ended)
	if ended[1]+ended[3] == 0 {
		t.Error("no run has noticed a jump")
	}
}

// fetchedAt gives the time of fetch that the ledger has of each day.
func (p *place) fetchedAt() map[string]time.Time {
	p.t.Helper()
	out, code := p.run("status", "--json", "--records")
	if code != 0 && code != 3 { // days are missing still
		p.t.Fatalf("status: %d %s", code, out)
	}
	var status struct {
		Tables []struct {
			Records []struct {
				Partition, State string
				Fetched          time.Time
			}
		}
	}
	check(p.t, json.Unmarshal([]byte(out), &status))
	days := map[string]time.Time{}
	for _, table := range status.Tables {
		for _, r := range table.Records {
			if r.State != "publishing" {
				days[r.Partition] = r.Fetched
			}
		}
	}
	return days
}
