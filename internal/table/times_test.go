//go:build !fuzz

package table

import (
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/catalog"
)

func TestDaysAgainstTime(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for day.Year() < 2500 {
		text := day.Format("2006-01-02")
		got, ok := parseDay([]byte(text))
		if want := day.Unix() / 86400; !ok || got != want || dayOf(catalog.Hour, got*microsPerDay) != want ||
			dayOf(catalog.Hour, got*microsPerDay+microsPerDay-1) != want {
			t.Fatalf("%s = %d %v, want %d", text, got, ok, want)
		}
		day = day.AddDate(0, 0, 1)
	}
}

func TestTimes(t *testing.T) {
	days := func(text string) int64 {
		d, err := time.Parse("2006-01-02", text)
		if err != nil {
			t.Fatal(err)
		}
		return d.Unix() / 86400
	}
	for _, c := range []struct {
		typ  catalog.Type
		text string
		want int64
	}{
		{catalog.Day, "2024-02-29", days("2024-02-29")},
		{catalog.Week, "2025-12-29 - 2026-01-04", days("2025-12-29")},
		{catalog.Month, "2026-07", days("2026-07-01")},
		{catalog.Quarter, "Q1 2026", days("2026-01-01")},
		{catalog.Quarter, "Q4 2026", days("2026-10-01")},
		{catalog.Year, "2026", days("2026-01-01")},
		{catalog.Day, "2026-11-23T00:00:00", days("2026-11-23")},
		{catalog.Day, "2026-11-23 00:00:00", days("2026-11-23")},
		{catalog.Hour, "2026-01-31T13:00:00", days("2026-01-31")*microsPerDay + 13*3600*1_000_000},
		{catalog.Hour, "1969-12-31T23:59:59", -1_000_000},
	} {
		if got, v := parseTime(c.typ, []byte(c.text)); v != fits || got != c.want {
			t.Errorf("%s %q = %d (%d), want %d", c.typ, c.text, got, v, c.want)
		}
	}
	for typ, texts := range map[catalog.Type][]string{
		catalog.Day: {"2026-02-29", "2100-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026-01-32",
			"2026-04-31", "2026-1-1", "26-01-01", "0000-01-01", "2026/01/01", "2026-01-01 ", "2026-01-0x",
			"2026-01-01T00:00:01", "2026-01-01T13:00:00", "2026-02-30T00:00:00", "2026-01-01T00:00", "-026-01-01"},
		catalog.Week: {"2026-01-05 - 2026-01-12", "2026-01-05 - 2026-01-10", "2026-01-11 - 2026-01-05", "2026-01-05",
			"2026-01-05 – 2026-01-11", "2026-01-05-2026-01-11", "2026-02-26 - 2026-02-32"},
		catalog.Month:   {"2026-13", "2026-00", "2026-1", "202601", "2026-01-01", "2026 01", "x026-01"},
		catalog.Quarter: {"Q0 2026", "Q5 2026", "q1 2026", "Q1-2026", "2026 Q1", "Q1 026", "Q1 20x6"},
		catalog.Year:    {"26", "20261", "202x", "0000"},
		catalog.Hour: {"2026-01-31T24:00:00", "2026-01-31T13:60:00", "2026-01-31T13:00:60", "2026-01-31 13:00:00",
			"2026-01-31T13:00", "2026-01-31T13:00:00Z", "2026-02-30T13:00:00", "2026-01-31T1x:00:00"},
	} {
		for _, text := range texts {
			if got, v := parseTime(typ, []byte(text)); v != notTime {
				t.Errorf("%s %q = %d (%d), want an error", typ, text, got, v)
			}
		}
		if _, v := parseTime(typ, nil); v != blank {
			t.Errorf("a blank %s has verdict %d", typ, v)
		}
	}
}
