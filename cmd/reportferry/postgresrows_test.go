//go:build servers

package main

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// Rows that others have deleted are found by the next run and by check, and fetched again.
func TestPostgresIsAsked(t *testing.T) {
	server := sinktest.StartPostgres(t)
	s := startService(t, "--days", "30", "--apps", "2")
	today := civil.DateOf(time.Now().UTC())
	want := s.truth(t, today.AddDays(-7), today.AddDays(-1))
	for name, settings := range map[string]string{"a table": asked, "a table of partitions": swapped} {
		t.Run(name, func(t *testing.T) {
			w := newShelf(t, server, server.Addr, s, 7, living, settings)
			if out, code := w.run("run"); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			for _, c := range []struct{ sql, fetched, says string }{
				{"", "", "7 partitions, whose rows are as many as recorded"},
				{"DELETE FROM " + w.schema + ".installs WHERE day = '" + today.AddDays(-3).String() + "'", "written 1",
					"1 not as recorded, of 7 partitions"},
				{"TRUNCATE " + w.schema + ".installs", "written 7", "7 not as recorded, of 7 partitions"},
				{"DROP TABLE " + w.schema + ".installs", "written 7", "is missing"},
			} {
				if c.sql != "" {
					_, err := w.pool.Exec(t.Context(), c.sql)
					check(t, err)
				}
				out, code := w.run("check")
				if !strings.Contains(unfolded(out), c.says) || (code == 0) != (c.sql == "") ||
					(c.sql == "") != strings.Contains(unfolded(out), "All of it works.") {
					t.Errorf("%s: check ends with %d, want %q: %s", c.sql, code, c.says, out)
				}
				if out, code := w.run("run", "--now"); code != 0 || !strings.Contains(unfolded(out), c.fetched) {
					t.Errorf("%s: exit code %d, want %q: %s", c.sql, code, c.fetched, out)
				}
				w.holds(t, want)
			}
		})
	}
}
