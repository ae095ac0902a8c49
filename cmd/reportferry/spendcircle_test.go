package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

const spendCircleConfig = `
  - name: costs
    kind: report
    sinks: [file://%s/out]
    start: -%dd
    page: 3d
    currency: USD
    dimensions: [day, app, campaign]
    metrics: [%s, installs, clicks]
`

var spendColumns = []string{"click_cost", "impression_cost", "install_cost", "event_cost", "adjust_cost", "cost"}

// The circle: what is pushed tonight is in the report's partitions of the days that it was for
// after the next run, to the last micro and by app and campaign, and every other cell and every
// other day is as it was. A third run changes nothing.
func TestSpendComesBackInTheReport(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const days = 20 // more than the lookback, which is 7
	untilNoMidnight()
	s := startService(t, "--apps", "4", "--days", "40")
	p := newSpendPlace(t, s)
	f, err := os.OpenFile(filepath.Join(p.dir, "reportferry.yml"), os.O_APPEND|os.O_WRONLY, 0o600)
	check(t, err)
	_, err = fmt.Fprintf(f, spendCircleConfig, p.dir, days, strings.Join(spendColumns, ", "))
	check(t, errors.Join(err, f.Close()))
	run := func(args ...string) {
		t.Helper()
		if out, code := p.run(args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	run("run", "costs")
	before := p.parts("costs")
	if len(before) != days {
		t.Fatalf("%d partitions, want %d", len(before), days)
	}

	account, err := emulator.New(emutest.With(emulator.Options{Seed: 7, Apps: 4, Days: 40}))
	check(t, err)
	defer account.Close() //nolint:errcheck // it was only asked for a list
	want, touched, records := p.spendOf(account, before)
	// It pushes, and fetches the report in whichever order. What comes in between a day's rows and
	// its totals makes them differ, which is exit code 3; the next run has it all.
	if out, code := p.run("run"); code != 0 && code != 3 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	run("run")
	got := p.parts("costs")
	for day, part := range before {
		switch now := got[day]; {
		case touched[day] && now.bytes == part.bytes:
			t.Errorf("%s has spend, and is as it was", day)
		case !touched[day] && now.bytes != part.bytes:
			t.Errorf("%s has no spend, and has changed", day)
		case !maps.Equal(now.cells, want[day].cells):
			for key, micros := range want[day].cells {
				if now.cells[key] != micros {
					t.Errorf("%s %s is %d, want %d; before, it was %d", day, key, now.cells[key], micros,
						part.cells[key])
				}
			}
			t.Errorf("%s has %d cells, want %d", day, len(now.cells), len(want[day].cells))
		}
	}
	if len(got) != len(before) || len(touched) < 5 || len(touched) > 7 {
		t.Errorf("%d partitions after %d; %d days have spend", len(got), len(before), len(touched))
	}
	if books := s.books(t); books.States["matched"] != records || books.Duplicates != 0 {
		t.Errorf("the service has %+v, want %d records", books, records)
	}
	run("run")
	for day, part := range p.parts("costs") {
		if part.bytes != got[day].bytes {
			t.Errorf("%s has changed though nothing was pushed", day)
		}
	}
	t.Logf("%d records on %d of %d days", records, len(touched), len(before))
}

// spendOf writes a file of spend for engagements of the last seven days, and gives what it makes of
// the partitions.
func (p *place) spendOf(account *emulator.Server, before map[string]part) (want map[string]part,
	touched map[string]bool, records int) {
	want, touched = map[string]part{}, map[string]bool{}
	for day, part := range before {
		part.cells = maps.Clone(part.cells)
		want[day] = part
	}
	now, dice := time.Now().UTC(), rand.New(rand.NewPCG(*killSeed, 1))
	path := filepath.Join(p.dir, "in", now.Format(time.DateOnly), "tonight.csv")
	check(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	f := newNightFile(p.t, path)
	for e := range account.Engagements(now.AddDate(0, 0, -7), now.AddDate(0, 0, -1), 30) {
		day := e.Time.Format(time.DateOnly)
		if now.Sub(e.Time) > 7*24*time.Hour-time.Hour || day == now.Format(time.DateOnly) {
			continue
		}
		kind := dice.IntN(4)
		amount := int64(1 + dice.IntN(1_000_000)) // of hundred-thousandths, which are ten micros
		micros := amount * 10
		if kind == 1 { // the price is for a thousand impressions
			amount *= 100
			micros = amount * 10 / 1000
		}
		f.row(e.CostID, []string{"cpc", "cpm", "cpi", "cpe"}[kind], "USD", spelled(amount), "circle",
			e.Time.Format(time.RFC3339))
		for _, column := range []string{spendColumns[kind], "adjust_cost", "cost"} {
			key := e.App + "|" + e.Campaign + "|" + column
			if _, known := want[day].cells[key]; !known {
				p.t.Fatalf("the report has no %s on %s", key, day)
			}
			want[day].cells[key] += micros
		}
		touched[day] = true
		records++
	}
	f.close()
	return want, touched, records
}

// A part is what is visible of one partition: its bytes, and its cells by app, campaign and column;
// money in micros.
type part struct {
	bytes string
	cells map[string]int64
}

// parts reads a table's partitions back from the bucket.
func (p *place) parts(table string) map[string]part {
	p.t.Helper()
	parts := map[string]part{}
	names, err := filepath.Glob(filepath.Join(p.dir, "out", table, "dt=*", "part-0.parquet"))
	check(p.t, err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		check(p.t, err)
		f, err := parquet.OpenFile(strings.NewReader(string(data)), int64(len(data)))
		check(p.t, err)
		one := part{string(data), map[string]int64{}}
		var columns []string
		for _, path := range f.Schema().Columns() {
			columns = append(columns, path[0])
		}
		rows := parquet.NewReader(f)
		buf := make([]parquet.Row, 100)
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				text := map[string]string{}
				for _, v := range row {
					text[columns[v.Column()]] = v.String()
				}
				for _, v := range row {
					if v.Kind() == parquet.Int64 {
						one.cells[text["app"]+"|"+text["campaign"]+"|"+columns[v.Column()]] = v.Int64()
					}
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			check(p.t, err)
		}
		check(p.t, rows.Close())
		parts[strings.TrimPrefix(filepath.Base(filepath.Dir(name)), "dt=")] = one
	}
	return parts
}

// untilNoMidnight lets a midnight pass that a test of some seconds would see.
func untilNoMidnight() {
	now := time.Now().UTC()
	if left := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now); left < time.Minute {
		time.Sleep(left)
	}
}
