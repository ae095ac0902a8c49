package emulator_test

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/slow"
)

const wideQuery = "csv_report?dimensions=hour,app,campaign,country_code" +
	"&metrics=installs,cost,network_cost,roas_d7,purchase_revenue&date_period=2026-03-08:2026-03-14"

func TestAKeptFileAnswersTheSame(t *testing.T) {
	t.Parallel()
	want := emutest.Get(t, emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Seed: 5, Apps: 3, Days: 20}),
		wideQuery, 200)
	file := filepath.Join(t.TempDir(), "50% off? #1 & more.db")
	o := emulator.Options{Now: emutest.AtNoon, Seed: 5, Apps: 3, Days: 20, DB: file, Rate: -1}
	s, stop := emutest.Start(t, o)
	if got := emutest.Get(t, s, wideQuery, 200); got != want {
		t.Error("a kept file's first answer differs from a private one's")
	}
	stop()
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(file) {
		t.Errorf("a closed emulator leaves %v, %v", left, err)
	}
	// A week later, asked for fewer days: what the file has stays, and its first day too.
	later := o
	later.Now = func() time.Time { return emutest.Noon.AddDate(0, 0, 7) }
	later.Days = 2
	s, stop = emutest.Start(t, later)
	if facts := emutest.CountFacts(t, file); facts < 500 {
		t.Errorf("%d facts after opening again", facts)
	}
	const first = "csv_report?dimensions=day&metrics=installs&date_period=2026-02-01:2026-03-21"
	days := strings.Split(strings.TrimSpace(emutest.Get(t, s, first, 200)), "\n")[1:]
	if len(days) != 27 || !strings.HasPrefix(days[0], "2026-02-23,") || !strings.HasPrefix(days[26], "2026-03-21,") {
		t.Errorf("days %q", days)
	}
	stop()
	s, stop = emutest.Start(t, o)
	if got := emutest.Get(t, s, wideQuery, 200); got != want {
		t.Error("a kept file answers otherwise when opened again")
	}
	stop()
}

func TestAKeptFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "facts.db")
	o := emulator.Options{Now: emutest.AtNoon, Seed: 5, Apps: 3, DB: file}
	s, stop := emutest.Start(t, o)
	emutest.Get(t, s, wideQuery, 200)
	stop()
	foreign := filepath.Join(dir, "foreign.db")
	text := filepath.Join(dir, "notes.txt")
	older := filepath.Join(dir, "older.db")
	exec := func(path, statement string) {
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec(statement)
		}
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	exec(foreign, "CREATE TABLE recipes (name TEXT)")
	whole, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(older, whole, 0o600)
	}
	if err == nil {
		err = os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	exec(older, "UPDATE made_from SET version='0'")
	for want, o := range map[string]emulator.Options{
		"facts.db: it was made with seed 5 and 3 apps, not with seed 6 and 3 apps": {Now: emutest.AtNoon, Seed: 6,
			Apps: 3, DB: file},
		"made with seed 5 and 3 apps, not with seed 5 and 4 apps": {Now: emutest.AtNoon, Seed: 5,
			Apps: 4, DB: file},
		"made by another version":      {Now: emutest.AtNoon, Seed: 5, Apps: 3, DB: older, Hostile: true},
		"or with other names":          {Now: emutest.AtNoon, Seed: 5, Apps: 3, DB: file},
		"other tables":                 {Now: emutest.AtNoon, DB: foreign},
		"notes.txt: file is not a dat": {Now: emutest.AtNoon, DB: text},
		"unable to open database file": {Now: emutest.AtNoon, DB: filepath.Join(dir, "missing", "facts.db")},
	} {
		s, err := emulator.New(o)
		if err == nil {
			_ = s.Close()
			t.Errorf("opened, want an error with %q", want)
		} else if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(),
			"open emulator database "+o.DB) {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	again, err := os.ReadFile(file)
	if err != nil || string(again) != string(whole) {
		t.Errorf("a refused file was changed, %v", err)
	}
}

// Emulators on one file make the same facts; none may trip over the others', nor over who else
// holds the file's lock.
func TestSeveralEmulatorsOnOneFile(t *testing.T) {
	t.Parallel()
	want := emutest.Get(t, emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Seed: 9, Apps: 3}), wideQuery, 200)
	o := emutest.With(emulator.Options{Now: emutest.AtNoon, Seed: 9, Apps: 3,
		DB: filepath.Join(t.TempDir(), "facts.db"), Rate: -1})
	var wg sync.WaitGroup
	servers := make([]*emulator.Server, 6)
	for i := range servers {
		wg.Go(func() {
			var err error
			if servers[i], err = emulator.New(o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db, err := sql.Open("sqlite", o.DB)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := db.Conn(t.Context())
	if err == nil {
		_, err = lock.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if s == nil {
			continue
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		for range 2 {
			wg.Go(func() {
				if got := emutest.Ask(s, wideQuery).Body.String(); got != want {
					t.Errorf("%.200q", got)
				}
			})
		}
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := errors.Join(lock.Close(), db.Close()); err != nil {
		t.Error(err)
	}
}

// TestKilledWhileWriting runs itself as another process, which writes facts until it is killed.
func TestKilledWhileWriting(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	o := emulator.Options{Now: emutest.AtNoon, Seed: 3, Apps: 12, Days: 400, Rate: -1,
		DB: os.Getenv("REPORTFERRY_KILLED_DB")}
	if o.DB != "" {
		s, _ := emutest.Start(t, o)
		for day := 0; ; day++ { // until killed; the parent kills after seconds
			emutest.Get(t, s, "csv_report?dimensions=day&metrics=installs&date_period="+
				emutest.Noon.AddDate(0, 0, -day%400).Format("2006-01-02:2006-01-02"), 200)
		}
	}
	want := emutest.Get(t, emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Seed: 3, Apps: 12, Days: 400}),
		wideQuery, 200)
	o.DB = filepath.Join(t.TempDir(), "facts.db")
	total := 0
	for n := range 4 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledWhileWriting$")
		child.Env = append(os.Environ(), "REPORTFERRY_KILLED_DB="+o.DB)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(150+100*n) * time.Millisecond * emutest.Slowdown)
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = child.Wait() // killed
		s, stop := emutest.Start(t, o)
		var pairs, facts int
		emutest.Scan(t, o.DB, "SELECT (SELECT count(*) FROM made), (SELECT count(DISTINCT id/1000) FROM facts)", &pairs,
			&facts)
		if pairs != facts {
			t.Errorf("killed: %d pairs of day and app are noted, %d have facts", pairs, facts)
		}
		if got := emutest.Get(t, s, wideQuery, 200); got != want {
			t.Error("after a kill the answer differs")
		}
		total = pairs
		stop()
	}
	if total < 24 {
		t.Errorf("the killed processes made %d days of apps in all: the test shows little", total)
	}
}

// A report that can't be read isn't an empty one.
func TestABrokenDatabaseIsNoEmptyReport(t *testing.T) {
	t.Parallel()
	const query = "?dimensions=day,network&metrics=installs,purchase_revenue&date_period=-2d:-1d"
	for _, statement := range []string{"DROP TABLE facts", "DROP TABLE slices", "DROP TABLE app_events"} {
		o := emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 3, DB: filepath.Join(t.TempDir(), "facts.db"),
			Rate: -1}
		s := emutest.Open(t, o)
		emutest.Get(t, s, "csv_report"+query, 200)
		db, err := sql.Open("sqlite", o.DB)
		if err == nil {
			_, err = db.Exec(statement)
		}
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"csv_report", "report", "parquet_report"} {
			w := emutest.Ask(s, path+query)
			if w.Code < 500 || !strings.Contains(w.Body.String(), "service_error") {
				t.Errorf("%s after %s: %d %.200q", path, statement, w.Code, w.Body)
			}
		}
	}
}

// Facts that couldn't be kept are made again by the next report, once they can.
func TestFactsAreMadeOnceTheyCanBeKept(t *testing.T) {
	t.Parallel()
	o := emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 3, DB: filepath.Join(t.TempDir(), "facts.db"), Rate: -1}
	s := emutest.Open(t, o)
	db, err := sql.Open("sqlite", o.DB)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, step := range []struct {
		statement string
		status    int
	}{
		{"CREATE TRIGGER full BEFORE INSERT ON facts BEGIN SELECT RAISE(ABORT, 'full'); END", 500},
		{"SELECT 1", 500},
		{"DROP TRIGGER full", 200},
	} {
		if _, err := db.Exec(step.statement); err != nil {
			t.Fatal(err)
		}
		if w := emutest.Ask(s, "csv_report?dimensions=day&metrics=installs&date_period=-2d:-1d"); w.Code/100 !=
			step.status/100 {
			t.Errorf("after %s: %d %.200s", step.statement, w.Code, w.Body)
		}
	}
}

// A private emulator's folder is gone while it still runs, so that a killed one leaves nothing
// behind.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, stop := emutest.Start(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	for _, when := range []string{"while it runs", "after its end"} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v %v", when, left, err)
		}
		if when == "while it runs" {
			emutest.Get(t, s, "csv_report?dimensions=day&metrics=installs&date_period=-1d:-1d", 200)
			stop()
		}
	}
}
