package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
)

const historyConfig = `
service: embedded
ledger: file://./ledger
jobs:
  - {name: campaigns_daily, kind: report, sinks: [file://./out], start: -40d, codec: snappy, currency: USD, dimensions: [day, network], metrics: [installs, cost, ecpi_all]}
  - {name: networks_total, kind: report, sinks: [file://./out], start: -40d, codec: snappy, currency: USD, dimensions: [network], metrics: [installs]}
  - {name: nightly_spend, kind: spend, source: file://./in/*.csv, rejects: file://./rejects}
`

// spent is what a night's fetch says of a day: it grows for some days, and a day that was final
// moves all the same.
func spent(day, night int) (rows int64, installs, cost string, moved bool) {
	age := night - day
	cents := 40000 + 1370*int64(day) + 217*int64(min(age, 3))
	if day == 2 && night == 12 {
		return 3, "1205", "211.120000", true
	}
	return int64(30 + day + min(age, 2)), strconv.Itoa(1200 + 5*day), fmt.Sprintf("%d.%02d0000", cents/100, cents%100),
		false
}

// writeHistory records twelve nights of ten days.
func writeHistory(t *testing.T, dir string) {
	t.Helper()
	store, err := bucket.Open(t.Context(), "file://"+dir)
	check(t, err)
	l := ledger.Open(ledger.Options{Store: store, URL: "file://./ledger"})
	defer func() { check(t, l.Close()) }()
	first := civil.Date{Year: 2009, Month: time.December, Day: 17}
	for night := 1; night <= 12; night++ {
		table, err := l.Table(t.Context(), "campaigns_daily")
		check(t, err)
		fetched := first.AddDays(night).In(time.UTC).Add(6 * time.Hour)
		for day := max(0, night-5); day < night; day++ {
			if day > 9 || night == 12 && day != 9 {
				continue
			}
			recordNight(t, table, first.AddDays(day), day, night, fetched)
		}
		if night == 12 {
			recordNight(t, table, first.AddDays(2), 2, night, fetched)
			recordEvents(t, table, first, fetched)
		}
		check(t, table.Tidy(t.Context()))
	}
}

// recordEvents records an answer that was held back and accepted, and rows that have differed on
// three days.
func recordEvents(t *testing.T, table *ledger.Table, first civil.Date, fetched time.Time) {
	t.Helper()
	e, _ := table.Record(first.AddDays(3))
	e.HeldBack = &ledger.HeldBack{Why: "rows 3 instead of 35", Run: "20091229T060000.000Z-1f2e3d4c", Since: fetched,
		Last: fetched, Days: 1, Rows: 3}
	check(t, table.Commit(t.Context(), e))
	check(t, table.Tidy(t.Context()))
	held := *e.HeldBack
	held.Accepted, e.HeldBack = &ledger.Acceptance{At: fetched.Add(time.Hour), Reason: "the app was sold",
		Person: true}, &held
	check(t, table.Commit(t.Context(), e))
	e, _ = table.Record(first.AddDays(4))
	e.Fetched, e.Same, e.Asked = fetched, 2, 2
	e.Control = &ledger.Control{State: ledger.Unreconciled,
		Differences: []ledger.Difference{{Metric: "cost", Rows: "450", Total: "500"}}}
	check(t, table.Commit(t.Context(), e))
}

func recordNight(t *testing.T, table *ledger.Table, partition civil.Date, day, night int, fetched time.Time) {
	t.Helper()
	old, known := table.Record(partition)
	e := ledger.Record{
		Partition: partition, Run: "20091229T060000.000Z-1f2e3d4c", Fetched: fetched, Since: fetched,
		State: ledger.Written, Shape: "5f1c9a7e3b2d4f60",
		Reason: "missing", Finality: "restating", Sums: map[string]string{},
	}
	var moved bool
	e.Rows, e.Sums["installs"], e.Sums["cost"], moved = spent(day, night)
	e.Hash = e.Sums["cost"]
	switch {
	case moved:
		e.Reason, e.Finality, e.Moved = "drift", "final", true
	case night-day == 5:
		e.Reason, e.Finality = "lookback", "final"
	case known:
		e.Reason = "lookback"
	}
	if old.Hash == e.Hash {
		e.Since = old.Since
	}
	check(t, table.Commit(t.Context(), e))
}

// What people see of numbers that moved: of each table, and of each period.
func TestHistoryText(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(historyConfig), 0o600))
	for i, s := range []struct {
		name, args string
		code       int
		before     func()
	}{
		{"changes-none", "changes", 0, nil},
		{"history-none", "history campaigns_daily", 0, nil},
		{"changes", "changes", 0, func() { writeHistory(t, filepath.Join(dir, "ledger")) }},
		{"changes-week", "changes campaigns_daily --since 7d --limit 8", 0, nil},
		{"changes-minutes", "changes campaigns_daily --since 30m", 0, nil},
		{"history", "history campaigns_daily --from 2009-12-19 --to 2009-12-21", 0, nil},
		{"history-metric", "history campaigns_daily --metric cost --from 2009-12-19 --to 2009-12-19", 0, nil},
	} {
		if s.before != nil {
			s.before()
		}
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(10*365*24*time.Hour + 7*time.Hour + time.Duration(i)*time.Minute)
				if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
					t.Errorf("exit code %d, want %d: %s%s", code, s.code, &out, &err)
				}
			})
			golden(t, s.name, "$ reportferry "+wrapped(s.args)+steady(err.String()+out.String()))
		})
	}
}

// What programs read, and what people are told who ask for what isn't there.
func TestHistoryForPrograms(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(historyConfig), 0o600))
	writeHistory(t, filepath.Join(dir, "ledger"))
	for _, s := range []struct {
		args  string
		code  int
		lines int
		want  string
	}{
		{"changes --since 2009-12-29 --format json", 0, 7,
			`"metric":"cost","was":"433.91","is":"211.12","delta":"-222.79","reason":"drift","finality":"final","size":-0.4996`},
		{"changes --since 2009-12-29 --limit 1 --log-format json", 0, 7,
			`{"job":"campaigns_daily","table":"campaigns_daily","partition":"2009-12-19","seq":6,"before":"2009-12-24T06:00:00Z"`},
		{"changes --since 2009-12-29 --format csv", 0, 8, "cost,433.91,211.12,-222.79,-0.49966246599429,final,drift"},
		{"changes --since 2009-12-29 --format csv", 0, 8, ",accepted,,,,0,,the app was sold\n"},
		{"changes --since 2009-12-30 --format csv", 0, 1, "reason"},
		{"history campaigns_daily --from 2009-12-20 --to 2009-12-20 --format json", 0, 3,
			`"events":[{"what":"held back","at":"2009-12-29T06:00:00Z","run":"20091229T060000.000Z-1f2e3d4c","why":"rows 3 instead of 35"},{"what":"accepted"`},
		{"history campaigns_daily --from 2009-12-21 --to 2009-12-21 --format csv", 0, 11,
			"differs, standing\",\"cost 500 by the service's total, 450 in the rows"},
		{"history campaigns_daily --from 2009-12-21 --to 2009-12-21 --metric cost --format csv", 0, 4,
			"cost,461.31,2.17"},
		{"history campaigns_daily --from 2009-12-26 --metric cost --format json", 0, 3, `"sums":{"cost":"529.810000"}`},
		{"history campaigns_daily --from 2009-12-26 --format csv", 0, 10, "missing,written,restating,installs,1245,\n"},
		{"history campaigns_daily --to 2009-12-17 --metric rows --format csv", 0, 4,
			"lookback,written,final,rows,32,\n"},
		{"history campaigns_daily --metric instals", 2, 1,
			"--metric instals: the ledger has no sum of it, because the job has no such metric, or it doesn't add " +
				"up; did you mean installs?"},
		{"history campaigns_daily --metric ecpi_all", 2, 1, "it doesn't add up; it has cost, installs, rows"},
		{"history campaigns", 2, 1, `no job "campaigns" in the config; it has campaigns_daily`},
		{"history nightly_spend", 2, 1, "its kind, spend, fills no table"},
		{"history campaigns_daily --from x", 2, 1, `--from "x": want a date`},
		{"history campaigns_daily --from 2009-12-20 --to 2009-12-19", 2, 1, "lies before"},
		{"changes campaigns", 2, 1, "no job"},
		{"changes --since lately", 2, 1, "want a time such as 24h or 7d, or a date"},
		{"changes --format xml", 2, 1, "want text, json or csv"},
	} {
		var out bytes.Buffer
		code := execute(t.Context(), strings.Fields(s.args), &out, &out)
		if n := strings.Count(out.String(), "\n"); code != s.code || n != s.lines ||
			!strings.Contains(out.String(), s.want) {
			t.Errorf("%s: exit code %d, %d lines:\n%s", s.args, code, n, &out)
		}
	}
}

// A name in the ledger that a terminal would obey is shown escaped, and a line end in it forges no
// line.
func TestHostileHistory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(historyConfig), 0o600))
	store, err := bucket.Open(t.Context(), "file://"+filepath.Join(dir, "ledger"))
	check(t, err)
	l := ledger.Open(ledger.Options{Store: store, URL: "file://./ledger"})
	defer func() { check(t, l.Close()) }()
	table, err := l.Table(t.Context(), "campaigns_daily")
	check(t, err)
	for n := range 2 {
		check(t, table.Commit(t.Context(), ledger.Record{
			Partition: civil.Date{Year: 2026, Month: 1, Day: 1}, Fetched: time.Now(), State: ledger.Written, Rows: 1,
			Hash:   fmt.Sprint(n),
			Reason: "look\x1b[2Jback\nforged: line", Sums: map[string]string{"cost\x1b[2J\u202e\n": fmt.Sprint(n + 1)},
		}))
	}
	for args, lines := range map[string]int{
		"changes campaigns_daily": 3, "changes campaigns_daily --format json": 1, "history campaigns_daily": 4,
		"history campaigns_daily --format json": 2,
	} {
		var out bytes.Buffer
		code := execute(t.Context(), strings.Fields(args), &out, &out)
		if n := strings.Count(out.String(), "\n"); code != 0 || n != lines ||
			strings.ContainsAny(out.String(), "\x1b\u202e") || !strings.Contains(out.String(), "look") {
			t.Errorf("%s: exit code %d, %d lines: %q", args, code, n, out.String())
		}
	}
}
