package jobs

import (
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"
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
		p := Period(rapid.IntRange(0, int(Month)).Draw(t, "period"))
		d := origin.AddDays(rapid.IntRange(-40000, 40000).Draw(t, "day"))
		start, next := p.Start(d), p.Next(d)
		if start.After(d) || !next.After(d) {
			t.Fatalf("%v: %s is not in [%s, %s)", p, d, start, next)
		}
		if p.Index(start) != p.Index(d) || p.Index(next) != p.Index(d)+1 || p.Index(next.AddDays(-1)) != p.Index(d) {
			t.Fatalf("%v: the index of %s is %d, of its start %d, of the next %d", p, d, p.Index(d), p.Index(start), p.Index(next))
		}
		if p == Week && start.In(time.UTC).Weekday() != time.Sunday {
			t.Fatalf("week of %s starts on a %s", d, start.In(time.UTC).Weekday())
		}
	})
}
