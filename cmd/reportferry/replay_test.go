package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// keeps makes the place keep raw answers, a month in each.
func (p *place) keeps() {
	p.t.Helper()
	path := filepath.Join(p.dir, "reportferry.yml")
	data, err := os.ReadFile(path)
	check(p.t, err)
	text := strings.Replace(string(data), "page: 2d", "page: 31d", 1) + fmt.Sprintf("raw: file://%s/raw\n", p.dir)
	check(p.t, os.WriteFile(path, []byte(text), 0o600))
}

// lose deletes everything in the sink.
func (p *place) lose() { p.t.Helper(); check(p.t, os.RemoveAll(filepath.Join(p.dir, "out"))) }

// Four months of days, or two years, are made again from the raw answers, byte by byte but for the
// text that makes each file another one, after the sink was deleted, and the service gets no
// request. With one answer damaged, all days but those of that answer come back. Replays that are
// killed at random moments and done again come to the same.
func TestReplayOfManyDays(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	days := 120
	if *kills > 4 {
		days = 730 // as far as the service goes back
	}
	s := startService(t, "--apps", "1", "--days", fmt.Sprint(days+1))
	p := newPlace(t, s, days, 2, living)
	p.keeps()
	if out, code := p.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	want := p.files()
	if len(want) != days {
		t.Fatalf("%d parts", len(want))
	}
	s.admin(t, http.MethodPost, "reset-requests", nil)

	p.lose()
	start := time.Now()
	out, code := p.run("replay", "installs")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	took := time.Since(start)
	p.same(want)

	raw, err := filepath.Glob(p.dir + "/raw/installs/*/*.zst")
	check(t, err)
	dice := rand.New(rand.NewPCG(*killSeed, 1))
	victim := raw[dice.IntN(len(raw))]
	whole, err := os.ReadFile(victim)
	check(t, err)
	bad := append([]byte{}, whole...)
	bad[dice.IntN(len(bad))] ^= 1 << dice.IntN(8)
	check(t, os.WriteFile(victim, bad, 0o600))
	first, until, _ := strings.Cut(filepath.Base(filepath.Dir(victim)), "_")
	p.lose()
	out, code = p.run("replay", "installs")
	if code != 3 || !strings.Contains(out, filepath.Base(victim)) {
		t.Errorf("seed %d: exit code %d: %s", *killSeed, code, out)
	}
	got := p.files()
	for name, data := range want {
		_, day, _ := strings.Cut(filepath.Dir(name), "dt=")
		lost := day >= first && day < until
		if part, there := got[name]; there == lost || there && part != data {
			t.Errorf("seed %d: %s with the answer about %s until %s damaged: there %v", *killSeed, name, first, until,
				there)
		}
	}
	check(t, os.WriteFile(victim, whole, 0o600))

	partly := 0
	for range (*kills + 1) / 2 {
		p.lose()
		p.leases(dying)
		cmd, _ := p.command(t.Context(), "replay", "installs")
		check(t, cmd.Start())
		time.Sleep(time.Duration(dice.Int64N(int64(took))))
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		if n := len(p.files()); n > 0 && n < days {
			partly++
		}
		p.leases(living)
		for tries := 0; ; tries++ {
			out, code := p.run("replay", "installs")
			if code == 0 && !strings.Contains(out, "held by another run") {
				break
			}
			if code != 0 && code != 4 || tries > 40 {
				t.Fatalf("seed %d: exit code %d: %s", *killSeed, code, out)
			}
			time.Sleep(200 * time.Millisecond)
		}
		p.same(want)
	}
	t.Logf("seed %d: a replay of %d days takes %v; %d of %d kills hit one that had put some days", *killSeed, days,
		took, partly, (*kills+1)/2)
	if n := len(s.requests(t)); n > 0 {
		t.Errorf("the service got %d requests", n)
	}
}
