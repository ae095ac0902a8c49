package refresh

import (
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/zone"
)

func date(text string) civil.Date {
	d, err := civil.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

func TestPeriod(t *testing.T) {
	for _, c := range []struct {
		period            Period
		day, start, after string
	}{
		{Day, "2026-02-28", "2026-02-28", "2026-03-01"},
		{Week, "2021-05-15", "2021-05-09", "2021-05-16"}, // the week that the service's documentation shows
		{Week, "1969-12-31", "1969-12-28", "1970-01-04"},
		{Month, "2024-02-29", "2024-02-01", "2024-03-01"},
		{Month, "2025-12-31", "2025-12-01", "2026-01-01"},
		{Month, "1969-12-31", "1969-12-01", "1970-01-01"},
		{Month, "2023-02-28", "2023-02-01", "2023-03-01"},
		{Day, "2024-02-28", "2024-02-28", "2024-02-29"},
		{Day, "2023-12-31", "2023-12-31", "2024-01-01"},
		{Week, "2024-03-02", "2024-02-25", "2024-03-03"}, // over the leap day
		{Week, "2026-01-01", "2025-12-28", "2026-01-04"}, // over the year's end
		{Quarter, "2024-02-29", "2024-01-01", "2024-04-01"},
		{Quarter, "2025-12-31", "2025-10-01", "2026-01-01"},
		{Quarter, "1969-12-31", "1969-10-01", "1970-01-01"},
		{Year, "2024-12-31", "2024-01-01", "2025-01-01"},
		{Year, "1969-01-01", "1969-01-01", "1970-01-01"},
		{Whole, "2026-01-31", "0001-01-01", "9999-12-31"},
	} {
		if got := c.period.Start(date(c.day)); got != date(c.start) {
			t.Errorf("%v that holds %s starts on %s, want %s", c.period, c.day, got, c.start)
		}
		if got := c.period.Next(date(c.day)); got != date(c.after) {
			t.Errorf("%v after %s is %s, want %s", c.period, c.day, got, c.after)
		}
	}
}

func TestPeriodIndexProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Period(rapid.IntRange(0, int(Year)).Draw(t, "period"))
		d := origin.AddDays(rapid.IntRange(-40000, 40000).Draw(t, "day"))
		start, next := p.Start(d), p.Next(d)
		if start.After(d) || !next.After(d) {
			t.Fatalf("%v: %s is not in [%s, %s)", p, d, start, next)
		}
		if p.Index(start) != p.Index(d) || p.Index(next) != p.Index(d)+1 || p.Index(next.AddDays(-1)) != p.Index(d) {
			t.Fatalf("%v: the index of %s is %d, of its start %d, of the next %d", p, d, p.Index(d), p.Index(start),
				p.Index(next))
		}
		if p == Week && start.In(time.UTC).Weekday() != time.Sunday {
			t.Fatalf("week of %s starts on a %s", d, start.In(time.UTC).Weekday())
		}
	})
}

// A day begins with the first moment that clocks show it, also where midnight is left out or comes
// twice.
func TestDayStart(t *testing.T) {
	for _, c := range []struct{ zone, day, want string }{
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z"}, // 23 hours long
		{"Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00Z"},
		{"Europe/Berlin", "2026-10-26", "2026-10-25T23:00:00Z"},  // after one of 25
		{"Africa/Cairo", "2025-04-25", "2025-04-24T22:00:00Z"},   // there is no midnight: 01:00
		{"America/Havana", "2025-11-02", "2025-11-02T04:00:00Z"}, // midnight comes twice
		{"Asia/Amman", "2021-10-29", "2021-10-28T21:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"},
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z"}, // a day that was left out
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"},
		{"UTC", "2024-02-29", "2024-02-29T00:00:00Z"},
	} {
		loc, err := time.LoadLocation(c.zone)
		check(t, err)
		if got := zone.Start(date(c.day), loc).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%s begins in %s at %s, want %s", c.day, c.zone, got, c.want)
		}
		for d := date("2010-01-01"); d.Before(date("2027-01-01")); d = d.AddDays(1) {
			start := zone.Start(d, loc)
			if before := civil.DateOf(start.Add(-time.Nanosecond)); !before.Before(d) || civil.DateOf(start).Before(d) {
				t.Fatalf("%s begins in %s at %s: the moment before is of %s", d, c.zone, start, before)
			}
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
