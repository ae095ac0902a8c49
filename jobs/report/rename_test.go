package report_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

// renames are of a count, of money that adds up, of a ratio, and of a text.
var renames = map[string]string{"cost": "spend", "ecpi_all": "Price", "clicks": "taps"}

// renaming is a table with metrics of each sort, final after three days.
func renaming(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 12})
	r.options.Events = []report.Selector{{Slug: "purchase", Metrics: []string{"events"}}}
	r.options.Query.Dimensions = []string{"day", "app_token", "network", "campaign"}
	r.options.Query.Metrics = []string{"installs", "clicks", "cost", "ecpi_all", "retention_rate_d1"}
	schedule, err := refresh.ParseSchedule("0 6 * * *", "UTC")
	check(t, err)
	r.options.Rules.Schedule = schedule
	r.options.FinalAfter, r.options.Drift = 3, report.Drift{Days: 90}
	r.options.Stamps = []table.Stamp{table.LoadedAt}
	time.Sleep(7 * time.Hour)
	r.from(civil.DateOf(time.Now()).AddDays(-6))
	return r
}

// cells are those of all files, row by row, by the day and the column.
func (r *rig) cells(names map[string]string) map[string][]string {
	r.t.Helper()
	all := map[string][]string{}
	for day, path := range r.files() {
		read := readParquet(r.t, path)
		slices.SortFunc(read.rows, slices.Compare)
		for i, name := range read.names {
			if to := names[name]; to != "" {
				name = to
			}
			for _, row := range read.rows {
				if name != "_loaded_at" {
					all[day.String()+" "+name] = append(all[day.String()+" "+name], row[i])
				}
			}
		}
	}
	return all
}

func same(t *testing.T, what string, got, want map[string][]string) {
	t.Helper()
	if len(want) == 0 || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: the columns are\n%v\nwant\n%v", what, slices.Sorted(maps.Keys(got)),
			slices.Sorted(maps.Keys(want)))
	}
}

// A table with other names has the same numbers, and they agree with the service's totals;
// dimensions too, and its date.
func TestRenamedFromTheStart(t *testing.T) {
	fill := func(rename map[string]string) (got map[string][]string, schema *sinks.Schema) {
		synctest.Test(t, func(t *testing.T) {
			r := renaming(t)
			defer r.close()
			r.options.Rename = rename
			sink := watch(r.sink)
			r.options.Targets = []ledger.Target{{Name: "out", Sink: sink}}
			r.ok()
			for day, e := range r.records() {
				if e.Control == nil || e.Control.State != ledger.Reconciled || e.Sums["spend"] == "" && rename != nil {
					t.Errorf("%s: %+v %v", day, e.Control, e.Sums)
				}
				schema = sink.puts[day][0].Schema
			}
			got = r.cells(nil)
		})
		return got, schema
	}
	usual, plain := fill(nil)
	rename := maps.Clone(renames)
	rename["day"], rename["network"] = "date", "channel"
	got, schema := fill(rename)
	want := map[string][]string{}
	for name, column := range usual {
		day, name, _ := strings.Cut(name, " ")
		if to := rename[name]; to != "" {
			name = to
		}
		want[day+" "+name] = column
	}
	same(t, "renamed", got, want)
	if schema.On != "date" || !slices.Equal(schema.ClusterBy, []string{"app_token", "channel", "campaign"}) {
		t.Errorf("by %s, clustered by %v", schema.On, schema.ClusterBy)
	}
	for i, c := range schema.Columns {
		was := plain.Columns[i]
		if to := rename[was.Name]; to != "" && (c.Source != was.Name || c.Name != to) || to == "" && c.Source != "" {
			t.Errorf("column %s was %s, and its source is %q", c.Name, was.Name, c.Source)
		}
		if c.Text() != was.Text() || c.Type != was.Type {
			t.Errorf("column %s is %s: %s; want %s: %s", c.Name, c.Type, c.Text(), was.Type, was.Text())
		}
	}
}

// The metrics of a table that is there get other names: its partitions are rewritten of their own
// rows, without a request, and what the ledger knows of them stays; or they are fetched where no
// sink gives rows back.
func TestRenamedLater(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := renaming(t)
			defer r.close()
			r.ok()
			before, records := r.cells(renames), r.records()
			var log bytes.Buffer
			r.options.Rename, r.options.Log = renames, slog.New(slog.NewTextHandler(&log, nil))
			if silent {
				r.options.Targets = []ledger.Target{{Name: "out", Sink: putter{r.sink}}}
			}
			r.comparable(2) // by the old names as well
			if res := r.ok(); res.Outcome.Requests > 0 != silent || res.Outcome.Written != 6 || res.Outcome.Moved > 0 ||
				res.Rest.Lacking.Partitions > 0 {
				t.Errorf("silent %v: the run has %+v", silent, res.Outcome)
			}
			same(t, "renamed", r.cells(nil), before)
			for day, was := range records {
				for name, to := range renames {
					move(was.Sums, name, to)
					move(was.Control.Totals, name, to)
				}
				now := r.record(day)
				if !maps.Equal(now.Sums, was.Sums) || now.Control.State != was.Control.State ||
					!maps.Equal(now.Control.Totals, was.Control.Totals) {
					t.Errorf("%s: the record has %v and %+v, want %v and %+v", day, now.Sums, now.Control, was.Sums,
						was.Control)
				}
			}
			if res := r.ok(); res.Outcome.Windows > 0 && res.Outcome.Compared == 0 ||
				strings.Contains(log.String(), "ends with") {
				t.Errorf("the next run has %+v: %s", res.Outcome, log.String())
			}
			time.Sleep(20 * 24 * time.Hour) // all is final
			r.comparable(3)
			r.options.Rename = nil
			r.options.Drop = []string{"installs"} // and two changes at a time
			r.options.Query.Metrics = slices.DeleteFunc(r.options.Query.Metrics,
				func(m string) bool { return m == "installs" })
			r.ok()
			for day := range records {
				if names := readParquet(t, r.files()[day]).names; !slices.Contains(names, "cost") ||
					slices.Contains(names, "spend") || slices.Contains(names, "installs") {
					t.Errorf("%s has %v", day, names)
				}
			}
		})
	}
}

// compared holds final partitions against the service, and counts the totals.
func (r *rig) compared() (list []report.Comparison, totals int) {
	r.t.Helper()
	client, err := adjust.New(r.client)
	check(r.t, err)
	o := r.options
	o.Client, o.Ledger, o.SpoolDir, o.Run = client, r.ledger, r.spool, "check"
	kind, err := report.New(o)
	check(r.t, err)
	list, totals, err = kind.Compare(r.t.Context(), time.Now(), 6, rand.New(rand.NewPCG(1, 2)))
	check(r.t, err)
	return list, totals
}

// comparable wants totals of at least so many partitions to be those of today, and rows to be.
func (r *rig) comparable(least int) {
	r.t.Helper()
	list, totals := r.compared()
	for _, c := range list {
		if c.Err != nil || !c.Same {
			r.t.Errorf("compared with today: %+v", c)
		}
	}
	if totals < least {
		r.t.Errorf("the totals of %d partitions are compared, want %d", totals, least)
	}
}

func move(m map[string]string, from, to string) {
	if text, has := m[from]; has {
		delete(m, from)
		m[to] = text
	}
}

// A number that moved is seen by the totals under the new name, while the partition still has the
// old one.
func TestRenamedMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := renaming(t)
		defer r.close()
		r.ok()
		r.options.Rename = renames
		day := civil.DateOf(time.Now()).AddDays(-6)
		check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: day.String(), Metric: "clicks", Delta: 7}))
		list, _ := r.compared()
		if len(list) == 0 || list[0].Partition != day || !strings.HasPrefix(list[0].Totals, "taps ") {
			t.Errorf("compared with today: %+v", list)
		}
	})
}

// A dimension's other name, and a name that had another metric's numbers, would put two meanings
// beside each other: that takes a rebaseline.
func TestRenamedMeaningIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := renaming(t)
		defer r.close()
		r.ok()
		for want, rename := range map[string]map[string]string{
			`name of network was "" and is now "channel"`: {"network": "channel"},
			"column clicks was of clicks and is now of installs; column installs was of installs and is now of " +
				"clicks": {"installs": "clicks", "clicks": "installs"},
		} {
			r.options.Rename = rename
			res := r.run(t.Context())
			err := errors.Join(res.Errs...)
			if !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), want) || res.Outcome.Requests > 0 {
				t.Errorf("%v: %v, %+v", rename, err, res.Outcome)
			}
		}
		r.options.Rename = map[string]string{"installs": "clicks", "clicks": "installs", "network": "channel"}
		r.options.Rebaseline = true
		r.ok()
		r.options.Rebaseline = false
		r.equalsTruthAs(map[string]string{"installs": "clicks", "clicks": "installs"})
	})
}

// equalsTruthAs holds the numbers of renamed columns against the service.
func (r *rig) equalsTruthAs(names map[string]string) {
	r.t.Helper()
	for day, path := range r.files() {
		header, rows := r.truthOf(day, day)
		read, sums := readParquet(r.t, path), map[string]int{}
		for source, to := range names {
			at, in := slices.Index(read.names, to), slices.Index(header, source)
			for i := range rows {
				want, err := strconv.Atoi(rows[i][in])
				check(r.t, err)
				got, err := strconv.Atoi(read.rows[i][at])
				check(r.t, err)
				sums[source] += want - got
			}
			if sums[source] != 0 {
				r.t.Errorf("%s: %s is off by %d", day, source, sums[source])
			}
		}
	}
}
