package naive

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// These follow -args: go test would take -n for its own.
var (
	naiveRuns = flag.Int("n", 50, "queries of the naive evaluator's test, and half of those whose totals are added up")
	naiveSeed = flag.Uint64("seed", 1, "seed of these queries")
	naiveOnly = flag.Int("only", -1, "number of the one query to ask")
)

// wholeDraw is how many queries bring up everything that there is to draw.
const wholeDraw = 250

// naiveWorlds are small accounts at awkward times.
func naiveWorlds(t *testing.T) []*naiveWorld {
	at := func(s string) func() time.Time {
		now, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return func() time.Time { return now }
	}
	return []*naiveWorld{
		openNaive(t, "spring", emulator.Options{Now: at("2026-03-30T18:45:00Z"), Apps: 4, Days: 6}, 0, 6),
		openNaive(t, "autumn", emulator.Options{Now: at("2026-11-02T12:00:00Z"), Apps: 2, Days: 10, Seed: 11},
			45*24*time.Hour, 10),
		openNaive(t, "new year", emulator.Options{Now: at("2027-01-04T23:59:59Z"), Apps: 1, Days: 16, Seed: 12},
			5*24*time.Hour, 21),
		openNaive(t, "declared", emulator.Options{Now: at("2026-05-20T12:30:00Z"), Apps: 2, Days: 4, Seed: 13},
			3*24*time.Hour, 7, naiveRestate, naiveDeclare),
	}
}

func TestAnyQueryEqualsANaiveEvaluation(t *testing.T) {
	t.Parallel()
	n := *naiveRuns
	worlds := naiveWorlds(t)
	d := newNaiveDealer(*naiveSeed, worlds[0])
	var full, empty, failed int
	for i := range n {
		w := worlds[d.r.IntN(len(worlds))]
		v := d.query(w)
		text := v.Encode()
		got := emutest.Ask(w.s, "csv_report?"+text)
		d.settle(got.Code == http.StatusOK)
		if *naiveOnly >= 0 && i != *naiveOnly {
			continue
		}
		q, err := w.parse(v)
		var want string
		if err == nil {
			want, err = w.answer(q)
		}
		status := http.StatusOK
		if want == "" {
			status = http.StatusNoContent
			empty++
		} else {
			full++
		}
		if err == nil && got.Code != status {
			err = fmt.Errorf("status %d, want %d: %.300s", got.Code, status, got.Body)
		}
		if err == nil {
			err = sameCSV(got.Body.String(), want)
		}
		if err != nil {
			failed++
			readable, bad := url.QueryUnescape(text)
			if bad != nil {
				readable = text
			}
			t.Errorf("%v\nworld %s, query: %s\nagain: go test ./internal/emulator -run %s -args -seed %d -n %d "+
				"-only %d", err, w.name, readable, t.Name(), *naiveSeed, i+1, i)
			if failed == 5 {
				t.Fatal("enough")
			}
		}
	}
	t.Logf("seed %d: %d queries, %d with rows, %d empty", *naiveSeed, n, full, empty)
	for _, w := range worlds {
		w.read(t, "SELECT count(*) FROM facts", func(row []naiveVal) {
			if row[0].i != int64(len(w.facts)) {
				t.Errorf("the world %s has grown to %d facts, %d of them are loaded", w.name, row[0].i, len(w.facts))
			}
		})
	}
	if *naiveOnly < 0 && full*5 < n*2 {
		t.Errorf("only %d of %d queries had rows: the test shows little", full, n)
	}
	if *naiveOnly < 0 && n >= wholeDraw {
		for _, m := range d.missed() {
			t.Errorf("no answer with rows had to do with %s", m)
		}
	}
}

// sameCSV compares two answers byte by byte: sums are exact, and quotients are the same operations
// on the same doubles.
func sameCSV(got, want string) error {
	if got == want {
		return nil
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Errorf("line %d is missing: %s", i+1, b[i])
		case i >= len(b):
			return fmt.Errorf("line %d is too much: %s", i+1, a[i])
		case a[i] != b[i]:
			return fmt.Errorf("line %d is\n  %s\nthe naive evaluation gives\n  %s\nunder\n  %s", i+1, a[i], b[i], b[0])
		}
	}
	return nil
}
