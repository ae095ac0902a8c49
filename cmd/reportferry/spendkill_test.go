package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/outbox"
)

const spendKillConfig = `
service: {base_url: %s, cost_url: %s, token: "${TEST_TOKEN}", spend: {token: "${TEST_KEY}"}}
ledger: file://%s/ledger
spool_dir: %s/spool
lease: 1s
jobs:
  - name: nightly_spend
    kind: spend
    source: file://%s/in/{date}/*
    columns: {cost_amount: spend, engaged_at: time}
    rejects: file://%s/rejects
    wait_until_quiet: false
    first: true
    rate: 1000000
    in_flight: 8
`

const spendKey = "partner-key-of-the-test"

func newSpendPlace(t testing.TB, s *service) *place {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), fmt.Appendf(nil, spendKillConfig, s.url, s.url, dir,
		dir, dir, dir), 0o600))
	return &place{t: t, dir: dir, token: "secret-token-of-the-test", env: []string{"TEST_KEY=" + spendKey}, service: s}
}

// A push of several nights' files is killed at random moments, meets lost answers, resets, bursts
// of 429, and 503, and goes on: every good record is taken with its own content, none came twice
// but for some of those that are counted as doubtful, the sums are equal, and nothing that was said
// or kept holds a Cost ID or a credential.
func TestSpendKilledAtAnyMoment(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "3", "--days", "40")
	p := newSpendPlace(t, s)
	account, err := emulator.New(emutest.With(emulator.Options{Seed: 7, Apps: 3, Days: 40}))
	check(t, err)
	defer account.Close() //nolint:errcheck // it was only asked for a list
	rows := cmp.Or(*records, 1500**kills)
	t.Logf("seed %d, %d records, %d kills", *killSeed, rows, *kills)
	dice := rand.New(rand.NewPCG(*killSeed, 0))
	n := newNights(t, p.dir, account, rows, dice)
	faults := []emulator.Fault{
		{Path: "cost", Kind: emulator.FaultLost, Every: 501}, {Path: "cost", Kind: emulator.FaultLost, Status: 504,
			Every: 1201},
		{Path: "cost", Kind: emulator.FaultReset, Every: 907}, {Path: "cost", Kind: emulator.FaultStatus, Status: 503,
			Every: 701},
		{Path: "cost", Kind: emulator.FaultCut, Every: 1601}, {Path: "cost", Kind: emulator.FaultHTML, Every: 2003},
		{Path: "cost", Kind: emulator.FaultStatus, Status: 429, RetryAfter: 1, Nth: rows / 3},
	}
	for i := range 12 { // a burst
		faults = append(faults, emulator.Fault{Path: "cost", Kind: emulator.FaultStatus, Status: 429, Nth: 4001 + i,
			Every: 15_013})
	}
	s.admin(t, http.MethodPut, "faults", faults)
	start, said, partly, worst := time.Now(), &strings.Builder{}, 0, int64(0)
	for left := *kills; left > 0; left-- {
		before := s.books(t).Records
		target := before + 1 + dice.IntN(max(1, 2*(rows-before)/(left+1)))
		cmd, out := p.command(t.Context(), "run", "--log-level", "debug", "--log-format",
			[]string{"text", "json"}[left%2])
		check(t, cmd.Start())
		over := make(chan struct{})
		go func() {
			_ = cmd.Wait() // killed or refused
			close(over)
		}()
		ended := waitFor(over, func() bool { return s.books(t).Records >= target },
			time.Duration(dice.IntN(50))*time.Millisecond)
		if !ended {
			worst = max(worst, peakMemory(cmd.Process.Pid))
			check(t, cmd.Process.Kill())
			<-over
		}
		said.WriteString(out.String())
		if now := s.books(t).Records; !ended && now > 0 && now < rows {
			partly++
		}
	}
	var files []outbox.File
	for range 30 {
		out, _ := p.run("run", "--log-level", "debug") // 3 when a record was sent eight times and always lost
		said.WriteString(out)
		if files = p.pushed(); len(files) == n.files && addUp(files).open == 0 {
			break
		}
	}
	took := time.Since(start)
	twice := n.agree(t, s, files)
	if sent := s.books(t); sent.Faulted == 0 {
		t.Errorf("no fault struck: %+v", sent)
	}
	p.keepsSecrets(said.String())
	all := addUp(files)
	t.Logf("%d of %d kills hit a push half way; %d rows, %d accepted, %d rejected, %d refused, %d duplicates, %d "+
		"conflicts; "+
		"%d records came more than once, %d are doubtful; %v, %d MiB at most", partly, *kills, all.Rows, all.Accepted,
		all.Rejected,
		all.Refused, all.Duplicates, all.Conflicts, twice, all.Doubtful, took.Round(time.Second), worst>>20)
	if partly < *kills/2 {
		t.Errorf("only %d of %d kills hit a push half way", partly, *kills)
	}
}

// waitFor waits until something holds, and then some more. It tells whether the process had ended
// by itself.
func waitFor(over <-chan struct{}, holds func() bool, more time.Duration) (ended bool) {
	for pause := time.Millisecond; ; {
		select {
		case <-over:
			return true
		case <-time.After(pause):
		}
		asked := time.Now()
		if holds() {
			break
		}
		pause = max(5*time.Millisecond, 4*time.Since(asked)) // a large account takes its time to look at its books
	}
	select {
	case <-over:
		return true
	case <-time.After(more):
		return false
	}
}

// pushed is what spend status says.
func (p *place) pushed() []outbox.File { return p.statusOf("spend") }

func (p *place) choices() []outbox.File { return p.statusOf("sharing") }

func (p *place) statusOf(kind string) (files []outbox.File) {
	p.t.Helper()
	out, code := p.run(kind, "status", "--json")
	if code != 0 {
		p.t.Fatalf("exit code %d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		var f outbox.File
		check(p.t, json.Unmarshal([]byte(line), &f))
		files = append(files, f)
	}
	return files
}

// keepsSecrets looks for Cost IDs and credentials in what was said, in what every command on spend
// says now, and in all files of the ledger and the spool. The rejects alone may hold Cost IDs,
// because they are for the partner.
func (p *place) keepsSecrets(said string) {
	p.t.Helper()
	texts := map[string]string{}
	day := time.Now().UTC()
	for _, args := range []string{
		"spend status", "spend status --json", "spend check", "status", "status --json --records", "plan --now",
		"spend requeue", "spend reconcile --from " + day.AddDate(0, 0, -6).Format(time.DateOnly) + " --to " +
			day.Format(time.DateOnly),
	} {
		for _, format := range []string{"text", "json"} {
			out, _ := p.run(append(strings.Fields(args), "--log-level", "debug", "--log-format", format)...)
			texts[args+" as "+format] = out
		}
	}
	p.keptSecrets(said, texts)
}

// keptSecrets looks through what was said, other texts and the files alone, compressed or not.
func (p *place) keptSecrets(said string, texts map[string]string) {
	p.t.Helper()
	texts["what was said"] = said
	frames, err := zstd.NewReader(nil)
	check(p.t, err)
	defer frames.Close()
	for _, folder := range []string{"ledger", "spool"} {
		check(p.t, filepath.WalkDir(filepath.Join(p.dir, folder), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			// https://datatracker.ietf.org/doc/html/rfc8878#section-3.1.1
			if err == nil && bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")) {
				data, err = frames.DecodeAll(data, nil)
			}
			texts[path] = path + "\n" + string(data)
			return err
		}))
	}
	kinds := map[string]int{}
	for place, text := range texts {
		kinds[filepath.Ext(place)] += len(text)
		text = strings.ToLower(text)
		for what, mark := range map[string]string{
			"a Cost ID": "emu-20", "a Cost ID of the partner's": strings.ToLower(ownID), "the token": p.token,
			"the partner's key": spendKey,
		} {
			if i := strings.Index(text, mark); i >= 0 {
				p.t.Errorf("%s holds %s: %q", place, what, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
	if len(said) == 0 || kinds[".json"] == 0 {
		p.t.Errorf("there was little to look through: %v", kinds)
	}
	p.t.Logf("looked through %d texts and files, %d kB of output", len(texts), len(said)/1000)
}

// peakMemory is the most that a process had in memory so far, in bytes; 0 where there is no /proc.
// Its usage as waited for would be at least that of this process, which it is forked from.
func peakMemory(pid int) (bytes int64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, after, found := strings.Cut(string(data), "VmHWM:"); found {
		_, _ = fmt.Sscan(after, &bytes)
	}
	return bytes << 10
}
