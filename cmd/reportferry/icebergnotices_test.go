//go:build servers && iceberg

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// What somebody else did to the table, and a ledger that is lost, are noticed: rows of another
// meaning are refused, those of the same are fetched again, and a table that was dropped or rolled
// back comes back.
func TestIcebergNotices(t *testing.T) {
	server := sinktest.StartCatalog(t)
	s := startService(t, "--days", "30", "--apps", "2")
	other := s.restated(t, "11", "--days", "30", "--apps", "2")
	today := civil.DateOf(time.Now().UTC())
	first, last := today.AddDays(-3), today.AddDays(-1)
	want := s.truth(t, first, last)
	l := newLake(t, server, server.URI, s, 3, living)
	l.settle(t, "run")
	l.holds(t, want)
	check(t, l.catalog.DropTable(t.Context(), table.Identifier{l.namespace, "installs"}))
	l.settle(t, "run", "--now")
	l.holds(t, want)

	before := l.snapshots(t)
	l.allNumbers(t)
	l.edit(t, s.url, other.url)
	l.settle(t, "run", "--force")
	l.holds(t, other.truth(t, first, last))
	of, err := l.table(t.Context())
	check(t, err)
	tx := of.NewTransaction()
	check(t, tx.RollbackToSnapshot(before[len(before)-1].SnapshotID))
	_, err = tx.Commit(t.Context())
	check(t, err)
	l.holds(t, want)
	if out := l.settle(t, "run", "--now"); !strings.Contains(unfolded(out), "written 3") {
		t.Errorf("after the table was rolled back: %s", out)
	}
	l.holds(t, other.truth(t, first, last))
	l.edit(t, other.url, s.url)
	l.settle(t, "run", "--force")

	lost := func(config ...string) (string, int) {
		t.Helper()
		check(t, os.RemoveAll(filepath.Join(l.dir, "ledger")))
		l.edit(t, config[0], config[1])
		return l.run("run")
	}
	out, code := lost("currency: USD", "currency: EUR")
	if code != 2 || !strings.Contains(unfolded(out),
		"already holds partitions of this table (3) that this ledger didn't put there") ||
		!strings.Contains(unfolded(out), "drop the table") {
		t.Errorf("rows in another currency: exit code %d: %s", code, out)
	}
	golden(t, "iceberg-fingerprint", strings.ReplaceAll(refusedLine(out), l.namespace, "NAMESPACE"))
	l.holds(t, want)
	if out, code := l.run("run", "--rebaseline"); code != 0 { // a person has asked for it
		t.Errorf("exit code %d: %s", code, out)
	}
	if rows, err := l.rows(t.Context()); err != nil || len(rows) != len(want) ||
		slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%d rows, want %d of another currency: %v", len(rows), len(want), err)
	}
	if out, code := lost("currency: EUR", "currency: USD"); code != 2 {
		t.Errorf("exit code %d: %s", code, out)
	}
	l.settle(t, "run", "--rebaseline")
	l.holds(t, want)
	if out, code := lost("currency: USD", "currency: USD"); code != 0 ||
		!strings.Contains(unfolded(out), "If the old ledger was lost, all is well") {
		t.Errorf("after a lost ledger: exit code %d: %s", code, out)
	}
	l.holds(t, want)
	l.edit(t, "[installs, clicks, cost, all_revenue, ecpi_all]",
		"[installs, clicks, cost, all_revenue, ecpi_all, sessions]")
	l.settle(t, "run", "--now")
	l.holds(t, want)
}
