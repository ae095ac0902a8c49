package zone

import (
	"reflect"
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

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// The days around changes of clocks, as they are known of each zone.
func TestPieces(t *testing.T) {
	for name, c := range map[string]struct {
		from, until string
		want        []Piece
	}{
		"Europe/Berlin": {"2026-10-23", "2026-10-28", []Piece{
			{date("2026-10-23"), date("2026-10-25"), "+02:00", "", ""},
			{date("2026-10-25"), date("2026-10-26"), "+02:00", "2026-10-25T00", "2026-10-25T02"},
			{date("2026-10-25"), date("2026-10-26"), "+01:00", "2026-10-25T02", "2026-10-25T23"},
			{date("2026-10-26"), date("2026-10-28"), "+01:00", "", ""},
		}},
		"America/New_York": {"2026-03-08", "2026-03-09", []Piece{
			{date("2026-03-08"), date("2026-03-09"), "-05:00", "2026-03-08T00", "2026-03-08T01"},
			{date("2026-03-08"), date("2026-03-09"), "-04:00", "2026-03-08T03", "2026-03-08T23"},
		}},
		"America/Havana": {"2026-03-07", "2026-03-10", []Piece{ // at midnight
			{date("2026-03-07"), date("2026-03-08"), "-05:00", "", ""},
			{date("2026-03-08"), date("2026-03-09"), "-04:00", "2026-03-08T01", "2026-03-08T23"},
			{date("2026-03-09"), date("2026-03-10"), "-04:00", "", ""},
		}},
		"Asia/Beirut": {"2026-10-24", "2026-10-26", []Piece{ // back to the day before
			{date("2026-10-24"), date("2026-10-25"), "+03:00", "2026-10-24T00", "2026-10-24T23"},
			{date("2026-10-24"), date("2026-10-25"), "+02:00", "2026-10-24T23", "2026-10-24T23"},
			{date("2026-10-25"), date("2026-10-26"), "+02:00", "", ""},
		}},
		"Australia/Lord_Howe": {"2026-10-04", "2026-10-05", []Piece{ // by half an hour
			{date("2026-10-04"), date("2026-10-05"), "+10:30", "2026-10-04T00", "2026-10-04T01"},
			{date("2026-10-04"), date("2026-10-05"), "+11:00", "2026-10-04T03", "2026-10-04T23"},
		}},
		"Pacific/Apia": {"2011-12-30", "2011-12-31", nil}, // a day that never was
		"Asia/Kolkata": {"2026-01-01", "2027-01-01", []Piece{{date("2026-01-01"), date("2027-01-01"), "+05:30", "",
			""}}},
		"Pacific/Chatham": {"2026-06-01", "2026-06-02", []Piece{{date("2026-06-01"), date("2026-06-02"), "+12:45", "",
			""}}},
	} {
		if got := Pieces(load(t, name), date(c.from), date(c.until)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
	if got := Pieces(time.UTC, date("2026-01-02"), date("2026-01-02")); got != nil {
		t.Errorf("no days: %+v", got)
	}
}

// Each hour of UTC that begins in the days asked for is in one piece, and no other is in any.
func TestEveryHourIsInOnePiece(t *testing.T) {
	names := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut",
		"America/St_Johns",
		"Pacific/Chatham", "America/Santiago", "Africa/Cairo", "Asia/Kolkata", "Africa/Casablanca", "Antarctica/Troll",
		"UTC"}
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		from := date("2024-01-01").AddDays(rapid.IntRange(0, 1400).Draw(t, "day"))
		until := from.AddDays(rapid.IntRange(0, 40).Draw(t, "days"))
		pieces := Pieces(loc, from, until)
		for hour := from.AddDays(-2).In(time.UTC); hour.Before(until.AddDays(2).In(time.UTC)); hour = hour.Add(
			time.Hour) {
			in, want := 0, 0
			for _, p := range pieces {
				offset, err := time.Parse("-07:00", p.Offset)
				if err != nil {
					t.Fatal(err)
				}
				at := hour.In(offset.Location())
				day, label := civil.DateOf(at), at.Format(HourForm)
				if !day.Before(p.From) && day.Before(p.Until) && (p.First == "" || p.First <= label &&
					label <= p.Last) {
					in++
				}
			}
			if day := civil.DateOf(hour.In(loc)); !day.Before(from) && day.Before(until) {
				want = 1
			}
			if in != want {
				t.Fatalf("%s of %s in %s until %s is in %d pieces, want %d: %+v", hour, loc, from, until, in, want,
					pieces)
			}
		}
	})
}

func TestLongest(t *testing.T) {
	berlin := load(t, "Europe/Berlin")
	for _, c := range []struct{ from, until, want string }{
		{"2026-10-25", "2026-10-26", "+01:00"}, {"2026-03-29", "2026-03-30", "+02:00"},
		{"2026-10-01", "2026-11-01", "+02:00"},
		{"2026-01-01", "2027-01-01", "+02:00"}, {"2026-07-01", "2026-07-02", "+02:00"},
	} {
		if got := Longest(berlin, date(c.from), date(c.until)); got != c.want {
			t.Errorf("%s until %s: %s, want %s", c.from, c.until, got, c.want)
		}
	}
}
