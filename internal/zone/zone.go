// Package zone says by which offsets from UTC the days of a zone are asked for. Without it, a day
// in a zone by name would be left to a parameter that the service isn't known to take, and would
// silently be a day of UTC.
//
//	2026-10-23 to 2026-10-27 in Europe/Berlin, whose clocks go back on the 25th:
//
//	|-- 23rd, 24th: +02:00 --|-- 25th: +02:00, hours 00 to 02 --|-- 25th: +01:00, hours 02 to 23 --|-- 26th, 27th: +01:00 --|
//
// A day without a change of clocks is one of a fixed offset. The others are asked for hour by hour,
// once by each of their offsets, and only the hours in which that offset held are taken. Where
// clocks go back, one hour is taken with both offsets.
//
// Rules of zones are those that the program was built with (package time/tzdata), or the system's,
// which take precedence.
package zone

import (
	"time"
	_ "time/tzdata" // so that a zone is known where the system has no zone files, as in a bare container

	"cloud.google.com/go/civil"
)

// HourForm is how the first moment of an hour is written, without its offset.
const HourForm = "2006-01-02T15"

// A Piece is contiguous days that are asked for with one offset.
type Piece struct {
	From, Until civil.Date // half open: [From, Until)
	Offset      string     // from UTC, such as +02:00

	// First and Last are the hours of a day on which clocks change that belong to the piece, both
	// included, in HourForm. They are empty for days with all their hours.
	First, Last string
}

// Pieces cuts the days [from, until) of a zone by its changes of clocks, in the order of time. The
// service counts by hours of UTC: where a change isn't at a full one, the hour in which it lies
// belongs to the piece in which it begins.
func Pieces(loc *time.Location, from, until civil.Date) (list []Piece) {
	for d := from; d.Before(until); d = d.AddDays(1) {
		begin, end := Start(d, loc), Start(d.AddDays(1), loc)
		if offset := offsetAt(begin); end.Sub(begin) == 24*time.Hour && offset == offsetAt(end.Add(-time.Second)) {
			if last := len(list) - 1; last >= 0 && list[last].Offset == offset && list[last].First == "" {
				list[last].Until = d.AddDays(1)
			} else {
				list = append(list, Piece{From: d, Until: d.AddDays(1), Offset: offset})
			}
			continue
		}
		for begin.Before(end) {
			until := heldUntil(begin, end)
			first, last := fullHour(begin), fullHour(until).Add(-time.Hour)
			if !last.Before(first) {
				_, seconds := begin.Zone()
				held := time.FixedZone("", seconds)
				list = append(list, Piece{
					From: d, Until: d.AddDays(1), Offset: offsetAt(begin), First: first.In(held).Format(HourForm),
					Last: last.In(held).Format(HourForm),
				})
			}
			begin = until
		}
	}
	return list
}

// Longest returns the offset that holds for the longest part of the days [from, until); of two that
// hold equally long it is the earlier one.
func Longest(loc *time.Location, from, until civil.Date) string {
	held, most := map[string]time.Duration{}, ""
	for begin, end := Start(from, loc), Start(until, loc); begin.Before(end); {
		until, offset := heldUntil(begin, end), offsetAt(begin)
		if held[offset] += until.Sub(begin); held[offset] > held[most] {
			most = offset
		}
		begin = until
	}
	return most
}

// heldUntil returns the moment, at most end, until which the offset of t holds.
func heldUntil(t, end time.Time) time.Time {
	if _, change := t.ZoneBounds(); !change.IsZero() && change.Before(end) {
		return change
	}
	return end
}

// fullHour returns the first full hour of UTC that isn't before t.
func fullHour(t time.Time) time.Time { return t.Add(time.Hour - time.Nanosecond).Truncate(time.Hour) }

// offsetAt returns the offset from UTC that holds at t, such as +02:00.
func offsetAt(t time.Time) string { return t.Format("-07:00") }

// Start returns the first moment of a day. Where clocks go forward at midnight, that moment isn't
// 00:00, and time.Date may take 00:00 for an hour of the day before. Where they go back at
// midnight, 00:00 comes twice, and the first one counts.
func Start(d civil.Date, loc *time.Location) time.Time {
	t := d.In(loc)
	since, until := t.ZoneBounds()
	if civil.DateOf(t).Before(d) {
		return until
	}
	if before := since.Add(-time.Second); !since.IsZero() && civil.DateOf(before) == d {
		_, offset := before.Zone()
		return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.FixedZone("", offset)).In(loc)
	}
	return t
}
