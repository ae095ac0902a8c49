package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

const spendConfig = `
service: embedded
ledger: file://./ledger
spool_dir: spool
jobs:
  - name: nightly_spend
    kind: spend
    schedule: "30 2 * * *"
    source: file://./in/{date}/*.csv
    columns: {cost_id: click_id, cost_amount: spend, engaged_at: click_time}
    constants: {cost_type: cpi, tag: nightly}
    rejects: file://./rejects
    wait_until_quiet: false
    rate: 1000
`

var logLine = regexp.MustCompile(`(?m)^(\S+ warn .*) job=.*\n`)

// spendFileOf makes a partner's file of the made-up account's engagements, from the first-th to
// before the last-th.
func spendFileOf(t *testing.T, first, last int, more ...string) string {
	t.Helper()
	server, err := emulator.New(emutest.With(emulator.Options{}))
	check(t, err)
	defer server.Close() //nolint:errcheck // it was only asked for a list
	var b strings.Builder
	w := csv.NewWriter(&b)
	check(t, w.Write([]string{"click_id", "cost_currency", "spend", "click_time"}))
	n := 0
	for e := range server.Engagements(time.Now().AddDate(0, 0, -3), time.Now(), 10) {
		if n++; n >= first && n < last {
			check(t, w.Write([]string{e.CostID, []string{"USD", "EUR"}[n%2], fmt.Sprintf("%d.50", n%5),
				e.Time.Format(time.RFC3339)}))
		}
	}
	w.Flush()
	for _, line := range more {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// What people see of every command on spend, one after the other in one folder. The clock is the
// bubble's.
func TestSpendText(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	dir = filepath.Join(dir, strings.Repeat("d", max(1, 90-len(dir)))) // where lines are folded depends on its length
	check(t, os.Mkdir(dir, 0o755))
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(spendConfig), 0o600))
	put := func(path string, first, last int, more ...string) func() {
		return func() {
			check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			check(t, os.WriteFile(path, []byte(spendFileOf(t, first, last, more...)), 0o600))
		}
	}
	today := "in/2009-12-29/"
	for i, s := range []struct {
		name   string
		args   string
		code   int
		before func()
	}{
		{"none", "spend status", 0, nil},
		{"check", "spend check", 3, put(today+"partner.csv", 1, 61, "tooshort,USD,1,2009-12-29T00:00:00Z",
			"long-enough-but-old,USD,1,2009-01-01T00:00:00Z",
			"long-enough-id,USD,1e3,2009-12-29T00:00:00Z", "long-enough-ie,USD,1e3,2009-12-29T00:00:00Z")},
		{"plan", "plan --now", 0, nil},
		{"push", "spend push", 3, nil},
		{"again", "spend push", 0, nil},
		{"file-again", "spend push in/2009-12-29/partner.csv", 0, nil},
		{"by-hand", "spend push more.csv", 0, put("more.csv", 41, 81)},
		{"no-file", "spend push nothing.csv", 2, nil},
		{"bad", "spend check bad.csv", 3, func() { check(t, os.WriteFile("bad.csv", []byte("a;b\n"), 0o600)) }},
		{"too-many", "spend push in/bad2.csv", 1, put("in/bad2.csv", 81, 83, "x,USD,1,", "x,USD,1,", "x,USD,1,")},
		{"unfit", "spend push bad.csv", 1, nil},
		{"status", "spend status", 0, nil},
		{"reconcile", "spend reconcile --from 2009-12-20 --to 2009-12-31", 0, nil},
		{"reconcile-waiting", "spend reconcile --from 2009-12-20 --to 2009-12-31 --network nobody", 0, nil},
		{"reconcile-differs", "spend reconcile --from 2009-12-20 --to 2009-12-31 --network nobody --wait 1s", 3, nil},
		{"reconcile-none", "spend reconcile --from 2001-01-01 --to 2001-01-31", 0, nil},
		{"requeue", "spend requeue", 0, nil},
		{"backfill", "backfill nightly_spend --from 2009-12-01 --to 2009-12-02", 2, nil},
		{"table-status", "status --max-age 26h", 3, nil},
		{"table-stale", "status --max-age 5m", 3, nil},
		{"other-job", "spend status --job campaigns", 2, nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				// A morning of 2009-12-29, a minute later for each command.
				time.Sleep(10*365*24*time.Hour + 7*time.Hour + time.Duration(i)*time.Minute)
				if s.before != nil {
					s.before()
				}
				if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
					t.Errorf("exit code %d, want %d: %s%s", code, s.code, &out, &err)
				}
			})
			said := strings.ReplaceAll(err.String()+out.String(), dir, "/dir")
			said = logLine.ReplaceAllString(said, "$1 ...\n") // wider than people's lines
			golden(t, "spend-"+s.name, "$ reportferry "+wrapped(s.args)+steady(said))
			if all := err.String() + out.String(); strings.Contains(all, "long-enough") ||
				strings.Contains(all, "emu-") {
				t.Errorf("a Cost ID is shown:\n%s", all)
			}
		})
	}
	rejects, err := os.ReadFile("rejects/2009-12-29/partner.csv.rejects.csv")
	check(t, err)
	want := "\ufeff" +
		`click_id,cost_currency,spend,click_time,rejected_field,rejected_because,write_instead,rejected_row,rejected_file
tooshort,USD,1,2009-12-29T00:00:00Z,cost_id,has 8 characters; want 12 to 256,"the Cost ID that the click or impression was served with, of 12 to 256 characters",61,2009-12-29/partner.csv
long-enough-but-old,USD,1,2009-01-01T00:00:00Z,engaged_at,is more than seven days ago (362 days): expired,"nothing: the service takes spend for seven days after the click or impression, and this row comes too late",62,2009-12-29/partner.csv
long-enough-id,USD,1e3,2009-12-29T00:00:00Z,cost_amount,isn't a plain decimal number such as 1.25,"a number such as 1.25, not below zero, of at most five decimals",63,2009-12-29/partner.csv
long-enough-ie,USD,1e3,2009-12-29T00:00:00Z,cost_amount,isn't a plain decimal number such as 1.25,"a number such as 1.25, not below zero, of at most five decimals",64,2009-12-29/partner.csv
`
	if string(rejects) != want {
		t.Errorf("rejects:\n%s", rejects)
	}
}

// A job of spend has no table whose age would tell: its last success does, however many runs of
// other jobs came after it.
func TestSpendGrowsStale(t *testing.T) {
	slow.Test(t)
	t.Chdir(t.TempDir())
	clock := 10 * 365 * 24 * time.Hour // of the next command, since the bubble's beginning
	check(t, os.MkdirAll("in", 0o755))
	check(t, os.WriteFile("reportferry.yml", []byte(spendConfig+"  - {name: other, kind: spend, source: "+
		"file://./in/*.csv, rejects: file://./rejects}\n"), 0o600))
	for _, s := range []struct {
		args  string
		times int
		pause time.Duration
		code  int
		want  string
	}{
		{"status nightly_spend --max-age 26h", 1, time.Minute, 3,
			"nightly_spend: no run of it has succeeded yet\n  stale: no run of it that ended without a failure is " +
				"recorded of the last 26h0m0s\n"},
		{"status nightly_spend", 1, time.Minute, 0, "nightly_spend: no run of it has succeeded yet\n"},
		{"run nightly_spend", 1, time.Minute, 0, ""},
		{"run other", 25, time.Minute, 0, ""},
		{"status --max-age 26h", 1, 26 * time.Hour, 0, "nightly_spend: last success 26m0s ago; see spend status\n"},
		{"status nightly_spend --max-age 26h", 1, time.Minute, 3, "stale: the last success was 26h26m0s ago"},
		{"run nightly_spend", 1, time.Minute, 0, ""},
		{"status nightly_spend --max-age 26h", 1, 27 * time.Hour, 0, "last success 1m0s ago"},
		{"status nightly_spend --max-age 26h --json", 1, time.Minute, 3, `"stale": "the last success was 27h1m0s ago"`},
	} {
		for range s.times {
			var out bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(clock)
				if code := execute(t.Context(), strings.Fields(s.args), &out, &out); code != s.code {
					t.Errorf("%s: exit code %d, want %d: %s", s.args, code, s.code, &out)
				}
				if !strings.Contains(out.String(), s.want) {
					t.Errorf("%s says\n%swant\n%s", s.args, &out, s.want)
				}
			})
			clock += s.pause
		}
	}
}
