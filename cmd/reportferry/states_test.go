package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/state"
)

// told wants the table of partitions to be made of the newest record of every partition, whatever
// became of earlier runs.
func (p *place) messages() {
	p.t.Helper()
	url := "file://" + filepath.Join(p.dir, "ledger")
	b, err := bucket.Open(p.t.Context(), url)
	check(p.t, err)
	l := ledger.Open(ledger.Options{Store: b})
	defer l.Close() //nolint:errcheck // only read
	table, err := l.Table(p.t.Context(), "installs")
	check(p.t, err)
	states := table.Derived(state.Prefix + state.Partitions)
	rows, seqs := map[string]int64{}, map[string]int{}
	for _, e := range table.Sorted() {
		month := refresh.Month.Start(e.Partition).String()
		rows[month]++
		seqs[month] += e.Seq
	}
	for _, e := range states.Sorted() {
		month := e.Partition.String()
		if e.State != ledger.Written || e.Rows != rows[month] || e.Sums["seq"] != strconv.Itoa(seqs[month]) {
			p.t.Errorf("%s of %s: %s, %d rows, sum %s; the ledger has %d records, sum %d", state.Partitions, month,
				e.State, e.Rows, e.Sums["seq"], rows[month], seqs[month])
		}
		delete(rows, month)
	}
	if len(rows) > 0 {
		p.t.Errorf("%s tells nothing of %v", state.Partitions, rows)
	}
}

// A run that does nothing leaves the tables of states alone, and so does one with state_tables:
// false.
func TestStatesAreWrittenOnce(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--apps", "1", "--days", "20")
	p := newPlace(t, s, 9, 1, living)
	listed := func() (objects []string) {
		names, err := filepath.Glob(filepath.Join(p.dir, "out/_reportferry_partitions/*/*/*.parquet"))
		check(t, err)
		for _, name := range names {
			content, err := os.ReadFile(name)
			check(t, err)
			objects = append(objects, string(content))
		}
		return objects
	}
	p.edit(t, "ledger: ", "state_tables: false\nledger: ")
	p.untilCode(0, "run")
	if n := len(listed()); n > 0 {
		t.Fatalf("%d files of states that aren't wanted", n)
	}
	p.edit(t, "state_tables: false", "state_tables: true")
	p.untilCode(0, "run", "--force")
	p.messages()
	before := listed()
	p.untilCode(0, "run")
	p.untilCode(0, "run", "--now")
	if after := listed(); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("months of states: %q, and after two runs that did nothing %q", before, after)
	}
}

// untilCode runs the program and wants an exit code.
func (p *place) untilCode(want int, args ...string) {
	p.t.Helper()
	if out, code := p.run(args...); code != want {
		p.t.Fatalf("%v: exit code %d, want %d: %s", args, code, want, out)
	}
}
