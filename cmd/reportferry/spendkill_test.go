package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/outbox"
)

const spendKillConfig = `
service: {base_url: %s, cost_url: %s, token: "${TEST_TOKEN}", spend: {token: "${TEST_TOKEN}"}}
ledger: file://%s/ledger
spool_dir: %s/spool
lease: %s
jobs:
  - name: nightly_spend
    kind: spend
    source: file://%s/in/{date}/*.csv
    columns: {cost_amount: spend, engaged_at: time}
    constants: {cost_type: cpi, cost_currency: USD, tag: nightly}
    rejects: file://%s/rejects
    wait_until_quiet: false
    rate: 1000000
    in_flight: 8
`

// A push is killed at random moments, meets lost answers, resets, 429 and 503, and goes on: every good record is taken,
// none is sent twice but those that are counted as doubtful, and no output holds a Cost ID or a credential.
func TestSpendKilledAtAnyMoment(t *testing.T) {
	const rows = 12_000
	s := startService(t, "--apps", "3", "--days", "40")
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "reportferry.yml"), fmt.Appendf(nil, spendKillConfig, s.url, s.url, dir, dir, dying, dir, dir), 0o600))
	p := &place{t: t, dir: dir, token: "secret-token-of-the-test", service: s}
	account, err := emulator.New(emulator.Options{Seed: 7, Apps: 3, Days: 40})
	check(t, err)
	defer account.Close() //nolint:errcheck // it was only asked for a list
	var file bytes.Buffer
	file.WriteString("cost_id,spend,time\nbad,1,\n")
	now, n := time.Now(), 0
	for e := range account.Engagements(now.AddDate(0, 0, -4), now, rows) {
		if n++; n > rows {
			break
		}
		fmt.Fprintf(&file, "%s,%d.25,%s\n", e.CostID, n%9, e.Time.Format(time.RFC3339))
	}
	path := filepath.Join(dir, "in", now.UTC().Format(time.DateOnly), "a.csv")
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, file.Bytes(), 0o600))
	s.admin(t, http.MethodPut, "faults", []emulator.Fault{
		{Path: "cost", Kind: "lost", Every: 501}, {Path: "cost", Kind: emulator.FaultStatus, Status: 429, Every: 997, RetryAfter: 0},
		{Path: "cost", Kind: emulator.FaultStatus, Status: 503, Every: 701}, {Path: "cost", Kind: "lost", Status: 504, Every: 1201},
	})
	t.Logf("seed %d, %d kills", *killSeed, *kills)
	dice := rand.New(rand.NewPCG(*killSeed, 0))
	said, partly := "", 0
	for range *kills {
		cmd, out := p.command(t.Context(), "run", "--log-level", "debug")
		before := arrived(t, s)
		check(t, cmd.Start())
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline) && arrived(t, s) == before; { // a claim waits for the dead one's lease
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Duration(dice.Int64N(int64(150 * time.Millisecond))))
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		said += out.String()
		if now := arrived(t, s); now > 0 && now < rows {
			partly++
		}
	}
	var files []outbox.File
	for range 20 {
		out, _ := p.run("run", "--log-level", "debug")
		said += out
		if files = p.pushed(); len(files) == 1 && !files[0].Open() {
			break
		}
	}
	var books emulator.SpendBooks
	check(t, json.Unmarshal(s.admin(t, http.MethodGet, "spend", nil), &books))
	if len(files) != 1 || files[0].Open() || files[0].Accepted != rows || files[0].Refused != 1 {
		t.Fatalf("files %+v\n%s", files, said)
	}
	if books.Records != rows || books.Replaced != 0 || int64(books.Duplicates) > files[0].Doubtful {
		t.Errorf("the service has %d records of %d, %d twice, %d replaced; %d are doubtful here", books.Records, rows, books.Duplicates, books.Replaced, files[0].Doubtful)
	}
	if strings.Contains(said, "emu-") || strings.Contains(said, p.token) {
		t.Error("an output holds a Cost ID or a credential")
	}
	t.Logf("%d of %d kills hit a push half way; %d records came twice, %d are doubtful", partly, *kills, books.Duplicates, files[0].Doubtful)
}

// arrived is how many different records the service has.
func arrived(t *testing.T, s *service) int {
	t.Helper()
	var books emulator.SpendBooks
	check(t, json.Unmarshal(s.admin(t, http.MethodGet, "spend", nil), &books))
	return books.Records
}

// pushed is what spend status says.
func (p *place) pushed() (files []outbox.File) {
	p.t.Helper()
	out, code := p.run("spend", "status", "--json")
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
