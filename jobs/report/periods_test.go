package report_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Tables of every period: each partition that is written equals the service's own answer for its
// days, and a table without a date holds what the service says of all days from start to yesterday.
func TestEveryPeriodEqualsTheTruth(t *testing.T) {
	slow.Test(t)
	for _, c := range []struct {
		dimensions []string
		period     refresh.Period
		page       int
		start      string
		partitions []string // first and last, and how many
		n          int
	}{
		{[]string{"hour", "app_token"}, refresh.Day, 3, "2000-03-20", []string{"2000-03-20", "2000-04-09"}, 21},
		{[]string{"week", "app_token", "device_type"}, refresh.Week, 2, "2000-02-15",
			[]string{"2000-02-13", "2000-04-02"}, 8},
		{[]string{"app_token", "month"}, refresh.Month, 2, "2000-01-31", []string{"2000-01-01", "2000-03-01"}, 3},
		{[]string{"quarter", "country"}, refresh.Quarter, 1, "1999-11-11", []string{"1999-10-01", "2000-01-01"}, 2},
		{[]string{"year", "partner_name"}, refresh.Year, 1, "1999-11-11", []string{"1999-01-01", "1999-01-01"}, 1},
		{[]string{"year", "month", "store_type"}, refresh.Month, 1, "2000-02-01", []string{"2000-02-01", "2000-03-01"},
			2},
		{[]string{"network", "campaign"}, refresh.Whole, 1, "2000-03-01", []string{"all", "all"}, 1},
	} {
		t.Run(strings.Join(c.dimensions, ","), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 5, Apps: 2, Days: 200, Rate: -1})
				defer r.close()
				time.Sleep(100*24*time.Hour + 6*time.Hour) // 2000-04-10 06:00
				start, err := civil.ParseDate(c.start)
				check(t, err)
				r.from(start)
				r.options.Events = nil
				r.options.Query.Dimensions = c.dimensions
				r.options.Query.Metrics = []string{"installs", "cost", "ctr"}
				r.options.Rules.Period, r.options.Rules.Page = c.period, c.page
				if res := r.ok(); res.Outcome.Written != c.n {
					t.Errorf("written %d partitions, want %d", res.Outcome.Written, c.n)
				}
				paths, err := filepath.Glob(filepath.Join(r.out, "installs/dt=*/part-0.parquet"))
				check(t, err)
				if len(paths) != c.n {
					t.Fatalf("%d parts, want %d", len(paths), c.n)
				}
				cells := 0
				for i, path := range paths {
					name := strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "dt=")
					if i == 0 && name != c.partitions[0] || i == len(paths)-1 && name != c.partitions[1] {
						t.Errorf("part %d is %s, want them from %s to %s", i, name, c.partitions[0], c.partitions[1])
					}
					first, last := start, civil.Date{Year: 2000, Month: 4, Day: 9}
					if c.period != refresh.Whole {
						first, err = civil.ParseDate(name)
						check(t, err)
						last = c.period.Next(first).AddDays(-1)
					}
					header, rows := r.truthOf(first, last)
					cells += sameRows(t, first, readParquet(t, path), header, rows)
				}
				if cells < 10 {
					t.Errorf("only %d cells to compare", cells)
				}
			})
		})
	}
}
