package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Rows of a file that weren't taken are said wherever people and programs look, from the first one
// on, and the others are sent. What is no record is counted, and nothing to worry about.
func TestRowsNotTakenAreSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.Mkdir("in", 0o700))
	check(t, os.WriteFile("reportferry.yml", []byte(`
service: embedded
ledger: file://./ledger
jobs: [{name: p, kind: spend, source: file://./in/*.csv, rejects: file://./rejects, wait_until_quiet: 0, constants: {cost_type: cpi, cost_currency: USD, tag: t}}]
`), 0o600))
	clock := 10 * 365 * 24 * time.Hour // of the next command, since the bubble's beginning
	say := func(code int, args, text string) string {
		t.Helper()
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(clock)
			if text != "" {
				check(t, os.WriteFile("in/a.csv", []byte("cost_id,cost_amount\n"+text), 0o600))
				now := time.Now()
				check(t, os.Chtimes("in/a.csv", now, now))
			}
			if got := execute(t.Context(), strings.Fields(args), &out, &out); got != code {
				t.Errorf("%s: exit code %d, want %d: %s", args, got, code, &out)
			}
		})
		clock += time.Minute
		return out.String()
	}
	wants := func(said string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("want %q, said is\n%s", w, said)
			}
		}
	}
	good := "long-enough-id-1,1\nlong-enough-id-2,1\n"
	wants(say(0, "spend push", good+",\n"), "  skipped     1 row of totals, notes or nothing\n")
	wants(say(0, "spend status", ""), "rows        2, accepted 2", "skipped     1 row")
	wants(say(3, "spend push --result run.json", good+"long-enough-id-3,1\nlong-enough-id-4,1\nlong-enough-id-5,"+
		"1\nlong-enough-id-1,2\nlong-enough-id-6,1e3\nshort,1\n,\n"),
		"  not taken   3: refused 2, rejected 0, conflicts 1\n", "  skipped     1 row",
		"Something is left out, as said above.")
	wants(say(0, "spend status", ""), "rows        8, accepted 3, duplicates 2",
		"not taken   3: refused 2, rejected 0, conflicts 1", "skipped     1 row")
	wants(say(0, "status", ""), "3 rows of 1 file not taken: refused 2, rejected 0, conflicts 1",
		"spend status --job p")
	wants(say(0, "runs", ""), "3 rows not taken")
	result, err := os.ReadFile("run.json")
	check(t, err)
	wants(string(result), `"not_taken":3`, `"skipped":1`, `"retry":false`)
	// The record of the run.
	wants(say(0, "status --json", ""), `"refused": 2`, `"conflicts": 1`, `"skipped": 1`, `"exit": 3`)
	wants(say(0, "spend push", ""), "p: all is up to date")
	wants(say(1, "spend push", good+"a,1\nb,1\nc,1\n"), "too many rejects: 3 of 5 rows")
	// An export that failed quietly looks like a day without spend.
	wants(say(0, "spend push", ",\n"), "warn the file has no records window=a.csv")
	wants(say(0, "spend status", ""), "rows        none: the file has no records", "skipped     1 row")
}
