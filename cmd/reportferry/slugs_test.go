package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/slugs"
)

const slugsConfig = `
service: embedded
ledger: file://./ledger
spool_dir: spool
jobs:
  - name: sales
    kind: report
    sinks: [file://./out]
    start: -2d
    codec: snappy
    currency: USD
    dimensions: [day]
    metrics: [installs]
    events: [{slug: buy, metrics: [events]}]
  - {name: account_events, kind: events, sinks: [file://./out], codec: snappy}
`

// writeSlugs notes snapshots of the nights before, as an events job would, without the last one,
// which is the service's own.
func writeSlugs(t *testing.T, dir, job string) {
	t.Helper()
	store, err := bucket.Open(t.Context(), "file://"+dir)
	check(t, err)
	l := ledger.Open(ledger.Options{Store: store, URL: "file://./ledger"})
	defer func() { check(t, errors.Join(l.Close())) }()
	day := civil.Date{Year: 2009, Month: time.December, Day: 26}
	event := func(slug, name string, owners ...slugs.Owner) slugs.Event {
		return slugs.Event{Label: slugs.Label{Slug: slug, Name: name}, Owners: owners}
	}
	a1, a2, b1, b2 := slugs.Owner{App: "a", Token: "a1"}, slugs.Owner{App: "a", Token: "a2"},
		slugs.Owner{App: "b", Token: "b1"}, slugs.Owner{App: "b", Token: "b2"}
	for i, list := range [][]slugs.Event{
		{event("buy", "Buy", a1, b1), event("level_up", "Level up", a2, b2)},
		{event("buy", "Buy", a1, b1), event("level_up", "Level \x1b[31mup", a2, b2),
			event("first_open", "First open", slugs.Owner{App: "b", Token: "b3"})},
		{event("purchase_completed_in_app", "Purchase completed in app", a1, b1),
			event("level_up", "Level \x1b[31mup", a2)},
	} {
		on := day.AddDays(i)
		_, err := slugs.Open(l, job, job).Note(t.Context(), slugs.Snapshot{
			Events: list, Question: "test", Day: on, Seen: on.In(time.UTC).Add(6 * time.Hour),
			Run: "20091229T060000.000Z-1f2e3d4c",
		})
		check(t, err)
	}
}

// What people see of event slugs that changed.
func TestSlugsText(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(slugsConfig), 0o600))
	for _, s := range []struct {
		name, args string
		before     func()
	}{
		{"slugs-none", "changes", nil},
		{"slugs-changes", "changes --since 7d", func() {
			writeSlugs(t, filepath.Join(dir, "ledger"),
				"account_events")
		}},
		{"slugs-limit", "changes account_events --since 7d --limit 1", nil},
	} {
		if s.before != nil {
			s.before()
		}
		t.Run(s.name, func(t *testing.T) {
			code, text := inTheMorning(t, s.args)
			if code != 0 {
				t.Errorf("exit code %d: %s", code, text)
			}
			golden(t, s.name, "$ reportferry "+wrapped(s.args)+text)
		})
	}
}

// inTheMorning executes a command on a morning of 2009.
func inTheMorning(t *testing.T, args string) (code int, text string) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour)
		code = execute(t.Context(), strings.Fields(args), &out, &out)
	})
	return code, out.String()
}

// A slug that was renamed is said in the plan before the run, in check, and in the run that fails
// for it; programs read of it too.
func TestSlugsAreForetold(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(slugsConfig), 0o600))
	writeSlugs(t, filepath.Join(dir, "ledger"), "account_events")
	const became = "the job account_events has seen that buy became purchase_completed_in_app between 2009-12-27 " +
		"and 2009-12-28"
	for _, s := range []struct {
		args string
		code int
		want string
	}{
		{"plan sales", 0, "slug buy: " + became + ": the next run will fail; change the selector, or set " +
			"on_missing_event: null job=sales"},
		{"check sales", 1, "sales: failed: resolve events: slug buy matches no event"},
		{"check sales", 1, "; " + became + "\n"},
		{"run sales", 1, "error       resolve events: slug buy matches no event"},
		{"run sales", 1, "; " + became + "\n"},
		{"changes account_events --since 2009-12-28 --format json", 0,
			`{"job":"account_events","table":"account_events","kind":"renamed","was":{"slug":"buy","name":"Buy"},` +
				`"now":{"slug":"purchase_completed_in_app","name":"Purchase completed in app"},"in":[{"app":"a","token":"a1"},{"app":"b","token":"b1"}],` +
				`"after":"2009-12-27","day":"2009-12-28","seen":"2009-12-28T06:00:00Z","run":"20091229T060000.000Z-1f2e3d4c"}` + "\n"},
		{"changes --since 7d --format csv", 0,
			"\naccount_events,2009-12-28,,2009-12-27,2009-12-28T06:00:00Z,20091229T060000.000Z-1f2e3d4c,event " +
				"slug,level_up,,,,,vanished\n"},
	} {
		if code, text := inTheMorning(t, s.args); code != s.code ||
			!strings.Contains(unfolded(text), unfolded(s.want)) || strings.Contains(text, "\x1b") &&
			!strings.HasSuffix(s.args, "csv") {
			t.Errorf("%s: exit code %d, want %d and %s: %s", s.args, code, s.code, s.want, text)
		}
	}
}

// What the events of one account were says nothing of another account's.
func TestSlugsOfOneAccount(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	text := strings.ReplaceAll(slugsConfig, "sinks: ", "accounts: all, sinks: ")
	text = strings.ReplaceAll(text, "    accounts: all, ", "    accounts: all\n    ")
	check(t, os.WriteFile("reportferry.yml", []byte("accounts: {one: {}, other: {}}\n"+text), 0o600))
	writeSlugs(t, filepath.Join(dir, "ledger"), "account_events_one")
	for job, told := range map[string]bool{"sales_one": true, "sales_other": false} {
		code, text := inTheMorning(t, "plan "+job)
		if code != 0 || strings.Contains(text, "account_events_one has seen that buy became") != told {
			t.Errorf("%s: exit code %d: %s", job, code, text)
		}
	}
}
