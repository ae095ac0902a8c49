package report_test

import (
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// diff compares two contents of a day.
func (r *rig) diff(c report.Comparing) (report.Diff, error) {
	r.t.Helper()
	o := r.options
	client, err := adjust.New(r.client)
	check(r.t, err)
	o.Client, o.Ledger, o.SpoolDir, o.Run = client, r.ledger, r.spool, "diff"
	kind, err := report.New(o)
	check(r.t, err)
	before := len(r.server.Requests())
	d, err := kind.Diff(r.t.Context(), time.Now(), c)
	if len(r.server.Requests()) != before {
		r.t.Error("the service was asked")
	}
	return d, err
}

// numbersOf are the rows of a day's file, by their dimensions: each metric as an exact number.
func (r *rig) numbersOf(day civil.Date) map[string]map[string]string {
	r.t.Helper()
	out := map[string]map[string]string{}
	read := readParquet(r.t, r.files()[day])
	wide := len(r.options.Query.Dimensions)
	for _, row := range read.rows {
		numbers := map[string]string{}
		for i, name := range read.names[wide:] {
			numbers[name] = plain(row[wide+i])
		}
		out[strings.Join(row[:wide], "|")] = numbers
	}
	return out
}

func plain(text string) string {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return strings.TrimSuffix(text, "NULL")
	}
	return n.RatString()
}

// What the difference says, done to what the day was, gives what it is; and by network it adds up
// to how the sums moved.
func TestDiff(t *testing.T) {
	for name, pieces := range map[string]bool{"windows": false, "app by app": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := emulator.Options{Seed: 21, Apps: 4, Rate: -1}
				if pieces {
					o.MaxPairs = 1
				}
				o.Readings = append(documented(), o.Readings...)
				r := newRig(t, o)
				defer r.close()
				var tokens []string
				for _, app := range r.server.Apps() {
					tokens = append(tokens, app.Token)
				}
				r.options.Query.Filters = map[string][]string{"app_token__in": tokens}
				keeping(r, memblob.OpenBucket(nil), true)
				day := civil.DateOf(time.Now()).AddDays(-1)
				r.from(day)
				r.ok()
				was, before := r.numbersOf(day), r.records()[day]
				if d, err := r.diff(report.Comparing{Partition: day}); err != nil || !d.Only {
					t.Errorf("%+v, %v", d, err)
				}
				time.Sleep(24 * time.Hour)
				r.ok()
				is, after := r.numbersOf(day), r.records()[day]
				d, err := r.diff(report.Comparing{Partition: day})
				check(t, err)
				if d.Was.Seq != before.Seq || d.Is.Seq != after.Seq || d.Same == 0 || len(d.Rows) == 0 ||
					len(d.Left) > 0 {
					t.Errorf("%d of %d and %d of %d: %d rows, %d the same, without %v", d.Was.Seq, before.Seq, d.Is.Seq,
						after.Seq, len(d.Rows), d.Same, d.Left)
				}
				for _, row := range d.Rows {
					key := strings.Join(row.Key, "|")
					if row.Change == report.Vanished {
						delete(was, key)
						continue
					}
					if row.Change == report.Appeared {
						was[key] = map[string]string{}
					}
					for _, n := range row.Numbers {
						if n.Was != "" && was[key][n.Metric] != plain(rounded(n.Was, was[key][n.Metric])) {
							t.Errorf("%s %s was %s, and %s is said", key, n.Metric, was[key][n.Metric], n.Was)
						}
						was[key][n.Metric] = plain(rounded(n.Is, is[key][n.Metric]))
					}
				}
				if !maps.EqualFunc(was, is, maps.Equal) {
					t.Error("what it was, with the difference, isn't what it is")
				}
				grouped, err := r.diff(report.Comparing{Partition: day, By: []string{"network"}, Seq: before.Seq})
				check(t, err)
				delta := new(big.Rat)
				for _, row := range grouped.Rows {
					for _, n := range row.Numbers {
						if n.Metric == "network_cost" {
							moved, ok := new(big.Rat).SetString(n.Delta)
							if !ok {
								t.Fatalf("%+v", n)
							}
							delta.Add(delta, moved)
						}
					}
				}
				a, _ := new(big.Rat).SetString(before.Sums["network_cost"])
				b, _ := new(big.Rat).SetString(after.Sums["network_cost"])
				if b.Sub(b, a); b.Cmp(delta) != 0 || b.Sign() == 0 || !slices.Contains(grouped.Left, "ecpi_all") ||
					slices.Contains(grouped.Left, "installs") {
					t.Errorf("network_cost moved by %s, by network %s; without %v", b.FloatString(6),
						delta.FloatString(6), grouped.Left)
				}
				if d, err = r.diff(report.Comparing{Partition: day, On: civil.DateOf(before.Fetched)}); err != nil ||
					d.Was.Seq != before.Seq {
					t.Errorf("%d, %v", d.Was.Seq, err)
				}
				for _, wrong := range []report.Comparing{{Partition: day, Seq: 77}, {Partition: day.AddDays(-40)},
					{Partition: day, On: day.AddDays(-9)}, {Partition: day, By: []string{"nets"}}} {
					if _, err := r.diff(wrong); !errors.Is(err, ledger.ErrRefused) {
						t.Errorf("%+v: %v", wrong, err)
					}
				}
			})
		})
	}
}

// rounded writes an exact number with as many decimals as a table's cell has, if that one is a
// decimal.
func rounded(number, like string) string {
	n, ok := new(big.Rat).SetString(number)
	cell, both := new(big.Rat).SetString(like)
	if !ok || !both {
		return number
	}
	if apart := new(big.Rat).Sub(n, cell); apart.Abs(apart).Cmp(big.NewRat(1, 1_000_000)) < 0 {
		return like
	}
	return number
}
