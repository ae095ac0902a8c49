package report_test

import (
	"bytes"
	"log/slog"
	"maps"
	"math/big"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
)

// Zones of every kind: clocks that change by an hour or by half of one, at midnight or at night,
// north and south of the equator, whose offsets aren't of full hours, or that never change.
var zones = []string{
	"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut", "America/St_Johns",
	"Pacific/Chatham",
	"America/Santiago", "Africa/Cairo", "Asia/Kolkata",
}

// changes are the days of a year on which the clocks of a zone change, by the days that the
// emulator has rows of.
func changes(t *testing.T, loc *time.Location, year int) (days []civil.Date) {
	t.Helper()
	at := time.Date(year, 1, 1, 0, 0, 0, 0, loc)
	for {
		_, next := at.ZoneBounds()
		if next.IsZero() || next.Year() > year {
			return days
		}
		days = append(days, civil.DateOf(next))
		at = next
	}
}

// A table in a zone by name is what the service's own days, weeks and hours in that zone are,
// although a service that takes no names is asked by offsets alone. The truth is the emulator's,
// which knows the zones by rules of its own.
func TestDaysOfAZoneByName(t *testing.T) {
	for _, name := range zones {
		t.Run(name, func(t *testing.T) {
			loc, err := time.LoadLocation(name)
			check(t, err)
			days := append(changes(t, loc, 2026), civil.Date{Year: 2026, Month: 7, Day: 4})
			for i, day := range days {
				if i > 0 && name != "Europe/Berlin" && name != "Australia/Lord_Howe" {
					slow.Test(t)
				}
				for _, by := range []string{"hour", "day", "week"} {
					t.Run(by+" "+day.String(), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { sameInZone(t, loc, by, day) })
					})
				}
			}
		})
	}
}

// zoned is a rig whose days are those of a zone by name, and whose service takes none, some days
// after one.
func zoned(t *testing.T, loc *time.Location, day civil.Date, o emulator.Options) *rig {
	time.Sleep(time.Until(day.AddDays(12).In(loc).Add(6 * time.Hour)))
	o.Seed, o.Apps, o.Days, o.Rate, o.Readings = 3, 2, 40, -1, []string{"zone-names=ignored"}
	o.Readings = append(documented(), o.Readings...)
	r := newRig(t, o)
	r.options.Rules.Location, r.options.Rules.Lookback = loc, 0
	r.options.Query.UTCOffset, r.options.Query.Zone = "", loc
	r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "app_token", "network"},
		[]string{"installs", "clicks", "cost"}
	r.options.Events = nil
	r.from(day)
	return r
}

// sameInZone fills the days around one, and compares them with the same service that takes zones by
// name.
func sameInZone(t *testing.T, loc *time.Location, by string, day civil.Date) {
	r := zoned(t, loc, day, emulator.Options{})
	defer r.close()
	r.options.Query.Dimensions[0] = by
	if by == "week" {
		r.options.Rules.Period = refresh.Week
	}
	r.from(day.AddDays(-9))
	r.ok()
	named := newRig(t, emulator.Options{Seed: 3, Apps: 2, Days: 40, Rate: -1, Readings: alone("zone-names=taken")})
	defer named.close()
	named.options = r.options
	cells := 0
	for d := r.options.Rules.Period.Start(day.AddDays(-9)); d.Before(day.AddDays(4)); d = r.options.Rules.Period.Next(
		d) {
		header, rows := named.truthOf(d, r.options.Rules.Period.Next(d).AddDays(-1))
		cells += sameRows(t, d, readParquet(t, filepath.Join(r.out, "installs/dt="+d.String()+"/part-0.parquet")),
			header, oncePerHour(rows, len(r.options.Query.Dimensions)))
		if e := r.records()[d]; e.Control == nil || e.Control.State != "reconciled" {
			t.Errorf("%s is %+v", d, e.Control)
		}
	}
	if cells < 100 {
		t.Errorf("only %d cells to compare", cells)
	}
}

// A day on which clocks change is made again of what was kept of it, which is the sum of its
// pieces, and a week of it is asked for in parts where the service is too slow for it.
func TestPiecesOfAChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	autumn := civil.Date{Year: 2026, Month: 10, Day: 25}
	synctest.Test(t, func(t *testing.T) {
		r := zoned(t, berlin, autumn, emulator.Options{MaxPairs: 8}) // four days of two apps
		defer r.close()
		b := memblob.OpenBucket(nil)
		defer func() { check(t, b.Close()) }()
		keeping(r, b, true)
		r.options.Query.Dimensions[0], r.options.Rules.Period, r.options.Rules.Through = "week", refresh.Week, autumn
		r.ok()
		before := r.rowsOf()
		var asked []string
		for _, q := range r.server.Requests() {
			v, err := url.ParseQuery(q.Query)
			check(t, err)
			if v.Get("dimensions") != "app_token" && v.Get("date_period") != "" &&
				strings.Contains(v.Get("dimensions"), "network") {
				asked = append(asked, v.Get("dimensions")+" "+v.Get("date_period")+" "+v.Get("utc_offset")+v.Get(
					"timezone_id"))
			}
		}
		if want := []string{
			"hour,app_token,network 2026-10-25:2026-10-25 +02:00",
			"hour,app_token,network 2026-10-25:2026-10-25 +01:00",
			"day,app_token,network 2026-10-26:2026-10-31 +01:00", "day,app_token,network 2026-10-26:2026-10-31 +01:00",
			// tried again once
			"day,app_token,network 2026-10-26:2026-10-28 +01:00", "day,app_token,network 2026-10-29:2026-10-31 +01:00",
		}; !slices.Equal(asked, want) {
			t.Errorf("the service was asked for\n%q, want\n%q", asked, want)
		}
		r.lose()
		if r.replayed(report.Replay{}); len(before) != 1 || !maps.Equal(r.rowsOf(), before) {
			t.Errorf("made again: %q, want %q", r.rowsOf(), before)
		}
	})
}

// Where a metric doesn't add up over hours, a day on which clocks change is asked for with the
// offset that holds longest, which its record and the log say. The other days are as ever.
func TestDayOfTheLongestOffset(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	autumn := civil.Date{Year: 2026, Month: 10, Day: 25}
	for name, metric := range map[string]string{"a ratio": "ecpi_all", "users": "daus", "a filter": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := zoned(t, berlin, autumn, emulator.Options{})
				defer r.close()
				var log bytes.Buffer
				r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
				if metric != "" {
					r.options.Query.Metrics = append(r.options.Query.Metrics, metric)
				} else {
					r.options.Query.Filters = map[string][]string{"installs__gt": {"5"}}
				}
				r.from(autumn.AddDays(-2))
				r.ok()
				// Rows of three windows, one of them cut, and totals before, on and after that day.
				if n := len(r.server.Requests()); metric != "" && n != 7 {
					t.Errorf("%d requests, want 7", n)
				}
				const said = "the clocks of Europe/Berlin change in it, and not all of its metrics add up over " +
					"hours, so that all of it is asked for with the utc_offset +01:00"
				for i, offset := range []string{"+02:00", "+02:00", "+01:00", "+01:00"} {
					day := autumn.AddDays(i - 2)
					r.options.Query.Zone, r.options.Query.UTCOffset = nil, offset
					header, rows := r.truth(day)
					sameRows(t, day, readParquet(t, r.files()[day]), header, rows)
					c := r.records()[day].Control
					if (c.State == ledger.Reconciled) != (metric != "") || strings.Contains(c.Why, said) != (i == 2) {
						t.Errorf("%s is %+v", day, c)
					}
				}
				if n := strings.Count(log.String(), said); n != 1 {
					t.Errorf("it is said %d times: %s", n, log.String())
				}
			})
		})
	}
}

// A table without periods is the sum of its days, and none is counted twice.
func TestWholeTableInAZone(t *testing.T) {
	havana, err := time.LoadLocation("America/Havana")
	check(t, err)
	spring := civil.Date{Year: 2026, Month: 3, Day: 8}
	synctest.Test(t, func(t *testing.T) {
		r := zoned(t, havana, spring, emulator.Options{})
		defer r.close()
		r.options.Query.Dimensions, r.options.Rules.Period = []string{"app_token", "network"}, refresh.Whole
		r.from(spring.AddDays(-5))
		r.ok()
		named := newRig(t, emulator.Options{Seed: 3, Apps: 2, Days: 40, Rate: -1, Readings: alone("zone-names=taken")})
		defer named.close()
		named.options = r.options
		header, rows := named.truthOf(spring.AddDays(-5), civil.DateOf(time.Now().In(havana)).AddDays(-1))
		got := readParquet(t, filepath.Join(r.out, "installs/dt=all/part-0.parquet"))
		if n := sameRows(t, spring, got, header, rows); n < 20 {
			t.Errorf("only %d cells to compare", n)
		}
	})
}

// oncePerHour adds the rows of an hour that a zone repeats, as the service writes one for each of
// the two.
func oncePerHour(rows [][]string, dimensions int) (once [][]string) {
	for _, row := range rows {
		at := slices.IndexFunc(once, func(other []string) bool {
			return slices.Equal(other[:dimensions],
				row[:dimensions])
		})
		if at < 0 {
			once = append(once, row)
			continue
		}
		for i := dimensions; i < len(row); i++ {
			a, _ := new(big.Rat).SetString(once[at][i])
			b, _ := new(big.Rat).SetString(row[i])
			once[at][i] = a.Add(a, b).FloatString(9)
		}
	}
	return once
}
