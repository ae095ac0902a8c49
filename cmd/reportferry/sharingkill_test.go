package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

const sharingKillConfig = `
service: {base_url: %s, s2s_url: %s, token: "${TEST_TOKEN}"}
ledger: file://%s/ledger
spool_dir: %s/spool
lease: %s
jobs:
  - name: choices
    kind: sharing
    source: file://%s/in/{date}/*
    partners: [ghostnet]
    rejects: file://%s/rejects
    wait_until_quiet: false
    first: true
    rate: 1000000
    in_flight: 32
`

// Three days of choices are pushed, killed at random moments, among lost answers, resets, 429, 503
// and delays: every record arrives, those of a device in order and one at a time, none again whose
// answer was on record, none after a later one whatever was killed in between, and the service's
// final state is that of the files replayed in order. No device's ID is in an output or in the
// ledger.
func TestSharingKilledAtAnyMoment(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	n := cmp.Or(*records, 1500**kills)
	s := startService(t, "--apps", "3", "--days", "40")
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), fmt.Appendf(nil, sharingKillConfig, s.url, s.url, dir,
		dir, living, dir, dir), 0o600))
	p := &place{t: t, dir: dir, token: "secret-token-of-the-test", service: s}
	account, err := emulator.New(emutest.With(emulator.Options{Seed: 7, Apps: 3, Days: 40}))
	check(t, err)
	c := &consents{seed: *killSeed, files: []int{n / 2, n / 3, n - n/2 - n/3}, devices: max(1, n/6)}
	for _, app := range account.Apps() {
		c.apps = append(c.apps, app.Token)
	}
	check(t, account.Close())
	var names, paths []string
	offset := map[string]int{}
	for i, start := 0, 0; i < 3; i++ {
		names = append(names, time.Now().AddDate(0, 0, i-2).UTC().Format(time.DateOnly)+"/choices"+[]string{".csv",
			".jsonl", ".csv"}[i])
		paths = append(paths, filepath.Join(dir, "in", names[i]))
		offset[names[i]], start = start, start+c.files[i]
	}
	c.write(t, paths)
	index := make([][]int32, c.devices+1) // by device and number
	at := int32(0)
	c.each(func(_, _ int, r consent) {
		index[r.device] = append(index[r.device], at)
		at++
	})
	s.admin(t, http.MethodPut, "faults", []emulator.Fault{
		{Path: "third_party_sharing", Kind: "lost", Every: 1501},
		{Path: "third_party_sharing", Kind: emulator.FaultStatus, Status: 429, Every: 1997},
		{Path: "third_party_sharing", Kind: emulator.FaultStatus, Status: 503, Every: 1701},
		{Path: "third_party_sharing", Kind: "lost", Status: 504, Every: 2201},
		{Path: "third_party_sharing", Kind: emulator.FaultReset, Every: 1301},
		{Path: "third_party_sharing", Kind: emulator.FaultSlow, Random: true, Delay: 20 * time.Millisecond, Every: 97},
	})
	t.Logf("seed %d, %d kills, %d records of %d devices", *killSeed, *kills, n, c.devices)
	level := "debug"
	if n > 100_000 {
		level = "info"
	}
	dice := rand.New(rand.NewPCG(*killSeed, 1))
	var moments []int
	for range *kills {
		moments = append(moments, dice.IntN(n*9/10))
	}
	slices.Sort(moments)
	said, peak, hits := "", int64(0), 0
	settled := make([]int32, n) // how many had arrived when the record was seen settled; 0: never
	began := time.Now()
	for _, moment := range moments {
		cmd, out := p.command(t.Context(), "run", "--log-level", level)
		check(t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // killed
			close(ended)
		}()
		before := s.choices(t).Records
		for over := false; !over; {
			select {
			case <-ended:
				over = true
			case <-time.After(10 * time.Millisecond):
				now := s.choices(t).Records
				over = now >= moment && now > before
			}
		}
		peak = max(peak, peakMemory(cmd.Process.Pid))
		_ = cmd.Process.Kill()
		<-ended
		said += out.String()
		if cmd.ProcessState.ExitCode() < 0 {
			hits++
		}
		time.Sleep(60 * time.Millisecond) // what is on its way
		endLease(t, "file://"+dir+"/ledger", "choices")
		arrived := int32(s.choices(t).Records)
		settledRows(t, "file://"+dir+"/ledger", "choices", func(file string, row int64) {
			if i := offset[file] + int(row) - 1; settled[i] == 0 {
				settled[i] = arrived
			}
		})
	}
	var finished bool
	for range 20 {
		cmd, out := p.command(t.Context(), "run", "--log-level", level)
		peak = max(peak, runMeasured(t, cmd)) // its exit code counts at the end
		said += out.String()
		finished = true
		files := p.choices()
		for _, f := range files {
			finished = finished && !f.Open()
		}
		if finished = finished && len(files) == 3; finished {
			break
		}
	}
	took := time.Since(began)
	if !finished {
		t.Fatalf("not finished:\n%s", said[max(0, len(said)-5000):])
	}
	var accepted, rejected, doubtful int64
	for _, f := range p.choices() {
		accepted, rejected, doubtful = accepted+f.Accepted, rejected+f.Rejected, doubtful+f.Doubtful
	}
	if accepted+rejected != int64(n) || rejected != int64(c.rejected) {
		t.Errorf("%d accepted, %d rejected of %d; %d should be rejected", accepted, rejected, n, c.rejected)
	}

	last := make([]int, c.devices)
	arrivals, again, back, wrong := 0, 0, 0, 0
	arrived := make([]bool, n)
	eachLine(t, s.get(t, "sharing-log"), func(line string) {
		arrivals++
		cells := strings.Split(line, ",")
		id := cells[4] + cells[5]
		var device int
		_, err := fmt.Sscanf(strings.ToLower(id[len(id)-12:]), "%x", &device)
		check(t, err)
		number := numberOf(t, cells[len(cells)-1])
		i := index[device][number-1]
		switch {
		case number > last[device]+1:
			t.Errorf("arrival %d: number %d of device %d after %d", arrivals, number, device, last[device])
			wrong++
		case number < last[device]:
			t.Errorf("arrival %d: number %d of device %d after %d: a step back", arrivals, number, device, last[device])
			back++
			wrong++
		case settled[i] != 0 && arrivals > int(settled[i]):
			t.Errorf("arrival %d: number %d of device %d, whose answer was on record after %d arrivals", arrivals,
				number, device, settled[i])
			wrong++
		}
		if wrong > 10 {
			t.FailNow()
		}
		if arrived[i] {
			again++
		}
		arrived[i], last[device] = true, number
	})
	c.each(func(file, row int, r consent) {
		if i := offset[names[file]] + row - 1; !arrived[i] && !r.bad {
			t.Fatalf("row %d of %s never arrived", row, names[file])
		}
	})
	for device, number := range last {
		if number != len(index[device]) {
			t.Errorf("the last that arrived of device %d is number %d of %d", device, number, len(index[device]))
		}
	}
	want := c.replay(t)
	i := 0
	eachLine(t, s.get(t, "sharing-devices"), func(line string) {
		if i >= len(want) || withoutArrivals(line) != want[i] {
			t.Fatalf("device %d is %s", i, line)
		}
		i++
	})
	if i != len(want) {
		t.Errorf("the service knows %d devices, %d of the files", i, len(want))
	}
	books := s.choices(t)
	t.Logf("%d of %d kills hit a run; %d arrivals, %d of them again (%d doubtful), %d steps back, in %v, %.0f/s; "+
		"overlaps %d; peak %d MiB",
		hits, *kills, arrivals, again, doubtful, back, took.Round(time.Second), float64(n)/took.Seconds(),
		books.Overlaps, peak>>20)
	if peak > 150<<20 {
		t.Errorf("peak of %d MiB, want 150 at most", peak>>20)
	}
	p.private(said)
}

// private looks for IDs of devices and the token wherever they mustn't be, and at who may read the
// rejects.
func (p *place) private(said string) {
	t := p.t
	t.Helper()
	secret := func(text string) bool {
		return strings.Contains(strings.ToLower(text), "c0ffee") || strings.Contains(text, p.token)
	}
	if secret(said) {
		t.Error("an output holds a device's ID or the token")
	}
	for _, folder := range []string{"ledger", "rejects"} {
		check(t, filepath.WalkDir(filepath.Join(p.dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if folder == "ledger" && secret(string(data)) {
				t.Errorf("%s holds a device's ID or the token", path)
			}
			if info, err := d.Info(); err != nil || folder == "rejects" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", path, info.Mode(), err)
			}
			return err
		}))
	}
}

// runMeasured runs a process to its end, and gives the most that it had in memory, in bytes.
func runMeasured(t *testing.T, cmd *exec.Cmd) (peak int64) {
	t.Helper()
	check(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the caller looks at what it has done
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return peak
		case <-time.After(10 * time.Millisecond):
			peak = max(peak, peakMemory(cmd.Process.Pid))
		}
	}
}

// choices sums up what arrived.
func (s *service) choices(t testing.TB) (b emulator.SharingSummary) {
	t.Helper()
	check(t, json.Unmarshal(s.admin(t, http.MethodGet, "sharing-books", nil), &b))
	return b
}
