package report_test

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/slow"
)

// byHand groups a UTC hour report by labels that Go's own zones give, in the days from..to.
func byHand(t *testing.T, s *emulator.Server, zone *time.Location, from, to string,
	label func(time.Time) string) (order []string, sums map[string]int64) {
	t.Helper()
	day := func(text string, shift int) string {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at.AddDate(0, 0, shift).Format(time.DateOnly)
	}
	sums = map[string]int64{}
	for _, r := range emutest.Report(t, s, "hour", "installs", "date_period="+day(from, -2)+":"+day(to, 2)).Rows {
		at, err := time.Parse("2006-01-02T15:04:05", r[0])
		if err != nil {
			t.Fatal(err)
		}
		local := at.In(zone)
		if d := local.Format(time.DateOnly); d < from || d > to {
			continue
		}
		name := label(local)
		if _, ok := sums[name]; !ok {
			order = append(order, name)
		}
		sums[name] += emutest.Exact(t, r[1])
	}
	return order, sums
}

func TestZonesOfEveryKind(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	autumn := func() time.Time { return time.Date(2025, 11, 20, 12, 0, 0, 0, time.UTC) }
	s := emutest.Open(t, emulator.Options{Now: autumn, Days: 40, Apps: 4})
	for _, name := range []string{"Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe",
		"Asia/Kolkata", "Asia/Kathmandu",
		"Pacific/Chatham", "Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for dim, form := range map[string]string{"day": "2006-01-02", "month": "2006-01", "year": "2006"} {
			order, want := byHand(t, s, zone, "2025-10-20", "2025-11-10",
				func(at time.Time) string { return at.Format(form) })
			a := emutest.Report(t, s, dim, "installs", "date_period=2025-10-20:2025-11-10&timezone_id="+name)
			got := a.Column(t, "installs")
			if len(got) != len(want) || len(order) < 1 {
				t.Fatalf("%s in %s: %d rows, want %d", dim, name, len(got), len(want))
			}
			for label, n := range got {
				if emutest.Exact(t, n) != want[label] {
					t.Errorf("%s %s in %s: %s installs, want %d", dim, label, name, n, want[label]/facts.Million)
				}
			}
		}
		// Hours are told apart by UTC's: the sums of equal labels are those by hand, and there is
		// one row for each hour.
		hours := 0
		_, want := byHand(t, s, zone, "2025-10-25", "2025-11-03",
			func(at time.Time) string { hours++; return at.Format("2006-01-02T15:00:00") })
		a := emutest.Report(t, s, "hour", "installs", "date_period=2025-10-25:2025-11-03&timezone_id="+name)
		got := map[string]int64{}
		for i, r := range a.Rows {
			got[r[0]] += emutest.Exact(t, r[1])
			if i > 0 && a.Rows[i-1][0] > r[0] {
				t.Errorf("%s: hour %s comes after %s", name, r[0], a.Rows[i-1][0])
			}
		}
		if len(a.Rows) != hours || len(got) != len(want) {
			t.Errorf("%s: %d rows of %d hours, want %d of %d", name, len(a.Rows), len(got), hours, len(want))
		}
		for label, n := range want {
			if got[label] != n {
				t.Errorf("hour %s in %s: %d installs, want %d", label, name, got[label], n)
			}
		}
	}
}

func TestDaysWhenTheClockChanges(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: func() time.Time {
		return time.Date(2025, 10, 28, 12, 0, 0, 0,
			time.UTC)
	}, Days: 20})
	const day = "date_period=2025-10-26:2025-10-26&timezone_id=Europe/Berlin"
	utc := emutest.Report(t, s, "hour", "installs", "date_period=2025-10-25:2025-10-26").Column(t, "installs")
	var twice []string
	a := emutest.Report(t, s, "hour", "installs", day)
	for _, r := range a.Rows {
		if r[0] == "2025-10-26T02:00:00" {
			twice = append(twice, r[1])
		}
	}
	if want := []string{utc["2025-10-26T00:00:00"], utc["2025-10-26T01:00:00"]}; len(a.Rows) != 25 ||
		!slices.Equal(twice, want) {
		t.Errorf("%d rows, 02:00 has %q, want 25 and %q", len(a.Rows), twice, want)
	}
	if backwards := emutest.Report(t, s, "hour", "installs", day+"&sort=-hour"); backwards.Rows[21][0] !=
		"2025-10-26T02:00:00" || backwards.Rows[21][1] != twice[0] {
		t.Errorf("backwards, the hours of one label are %q", backwards.Rows[21:23])
	}
	if two := emutest.Report(t, s, "hour", "installs", day+"&hour__ends_with=T02:00:00"); len(two.Rows) != 2 {
		t.Errorf("a filter on the label keeps %q", two.Rows)
	}
	spring := emutest.Open(t, emulator.Options{Now: func() time.Time {
		return time.Date(2026, 3, 31, 12, 0, 0, 0,
			time.UTC)
	}, Days: 10})
	a = emutest.Report(t, spring, "hour", "installs", "date_period=2026-03-29:2026-03-29&timezone_id=Europe/Berlin")
	if len(a.Rows) != 23 || slices.ContainsFunc(a.Rows, func(r []string) bool {
		return strings.Contains(r[0],
			"T02:")
	}) {
		t.Errorf("the day of 23 hours has %d rows", len(a.Rows))
	}
	// An hour of the comparison period's repeated two goes to both of this period's rows once, and
	// doubles none.
	plain := emutest.Report(t, s, "hour", "installs", "date_period=2025-10-27:2025-10-27&timezone_id=Europe/Berlin")
	compared := emutest.Report(t, s, "hour", "installs",
		"date_period=2025-10-27:2025-10-27&timezone_id=Europe/Berlin&period_over_period=previous_day")
	if len(plain.Rows) != len(compared.Rows) {
		t.Errorf("a comparison with a day of 25 hours has %d rows, want %d", len(compared.Rows), len(plain.Rows))
	}
	var sum int64
	for _, n := range twice {
		sum += emutest.Exact(t, n)
	}
	if got := emutest.Exact(t, compared.Rows[2][2]); got != sum {
		t.Errorf("the comparison of 02:00 is %d, want both hours' %d", got, sum)
	}
}

func TestZoneParameters(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	same := func(a, b string) bool {
		x, y := emutest.Report(t, s, "hour,network", "installs", a), emutest.Report(t, s, "hour,network", "installs", b)
		return len(x.Rows) > 0 && slices.EqualFunc(x.Rows, y.Rows, slices.Equal)
	}
	for _, c := range [][2]string{
		{"timezone_id=Asia/Kolkata", "utc_offset=%2B05:30"},
		{"timezone_id=8", "utc_offset=+05:30"}, // the "+" arrives as a blank
		{"timezone_id=1", "utc_offset=-00:00"},
		{"timezone_id=UTC", ""},
		{"timezone_id=Asia/Tokyo&utc_offset=-03:00", "timezone_id=10"},
		{"timezone_id=Europe/Berlin", "timezone_id=6"},
		{"timezone_id=America/Phoenix&", "utc_offset=-07:00"},
	} {
		if !same(week+"&"+c[0], week+"&"+c[1]) {
			t.Errorf("%s and %s differ", c[0], c[1])
		}
	}
	if same(week+"&timezone_id=Asia/Tokyo", week) {
		t.Error("timezone_id changes nothing")
	}
	if half := emutest.Report(t, s, "hour", "installs", week+"&timezone_id=Asia/Kolkata"); half.Rows[0][0] !=
		"2026-03-01T00:00:00" {
		t.Errorf("the first hour in Kolkata reads %q", half.Rows[0])
	}
	for i, name := range report.ZoneNumbers {
		if _, err := time.LoadLocation(name); err != nil || i > 0 && name == "" {
			t.Errorf("zone %d: %v", i, err)
		}
	}
	for zone, today := range map[string]string{"Pacific/Kiritimati": "2026-03-15", "Asia/Tokyo": "2026-03-14",
		"Pacific/Pago_Pago": "2026-03-14"} {
		a := emutest.Report(t, s, "day", "clicks", "date_period=-2d:-0d&timezone_id="+zone)
		if last := a.Rows[len(a.Rows)-1][0]; last != today {
			t.Errorf("today in %s is %s, want %s", zone, last, today)
		}
		var users float64
		days := emutest.Report(t, s, "day", "daus", "date_period=-3d:-1d&timezone_id="+zone).Rows
		for _, r := range days {
			users += emutest.Double(t, r[1])
		}
		if mean := emutest.Double(t, emutest.Report(t, s, "currency", "daus",
			"date_period=-3d:-1d&timezone_id="+zone).Rows[0][1]); math.Abs(mean-users/3) > 1e-6 {
			t.Errorf("daus of three days in %s: %v, of each day %q", zone, mean, days)
		}
		compared := emutest.Report(t, s, "day", "clicks", "date_period=today&period_over_period=-2d&timezone_id="+zone)
		if got, want := compared.Rows[0][2], a.Rows[0][1]; got != want {
			t.Errorf("two days ago in %s there were %s clicks, want %s", zone, got, want)
		}
	}
}

func TestTodayBeginsWithinAnHourOfUTC(t *testing.T) {
	t.Parallel()
	for at, today := range map[time.Duration]string{6*time.Hour + 29*time.Minute: "2026-03-14",
		6*time.Hour + 30*time.Minute: "2026-03-15"} {
		s := emutest.Open(t, emulator.Options{Now: func() time.Time { return emutest.Noon.Add(at) }, Apps: 2})
		a := emutest.Report(t, s, "day", "clicks", "date_period=today&timezone_id=Asia/Kolkata")
		if len(a.Rows) != 1 || a.Rows[0][0] != today {
			t.Errorf("at %v UTC today in Kolkata is %q, want %s", emutest.Noon.Add(at).Format(time.TimeOnly), a.Rows,
				today)
		}
	}
}

func TestTheWholeOfTheDataIsServed(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Days: 3})
	for _, period := range []string{"1000-01-01:9999-12-31", "-2d:-0d"} {
		a := emutest.Report(t, s, "hour", "clicks", "date_period="+period)
		if first, last := a.Rows[0][0], a.Rows[len(a.Rows)-1][0]; len(a.Rows) != 72 || first != "2026-03-12T00:00:00" ||
			last != "2026-03-14T23:00:00" {
			t.Errorf("%s: %d hours, from %s to %s", period, len(a.Rows), first, last)
		}
	}
}

// The numbers of zones end where the list does.
func TestNumbersOfZones(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 3})
	const query = "csv_report?dimensions=day&metrics=installs&date_period=-1d:-1d&timezone_id="
	last := len(report.ZoneNumbers) - 1
	for number, status := range map[int]int{-1: 400, 0: 400, 1: 200, last: 200, last + 1: 400} {
		emutest.Get(t, s, query+strconv.Itoa(number), status)
	}
	for number, zone := range map[int]string{1: "UTC", 3: "America/New_York", 6: "Europe/Berlin"} {
		if a, b := emutest.Get(t, s, query+strconv.Itoa(number), 200),
			emutest.Get(t, s, query+url.QueryEscape(zone), 200); a != b {
			t.Errorf("zone %d isn't %s", number, zone)
		}
	}
}

// An address that the service hasn't is no report.
func TestWhatIsNotServed(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2})
	for _, path := range []string{"pivot_reports", "json_report", "control-center/report"} {
		emutest.Get(t, s, path, 404)
	}
}
