package metrics

import (
	"fmt"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// offsetAt returns how many seconds the zone is east of UTC at an hour since 1970-01-01 UTC.
func offsetAt(zone *time.Location, hour int) int {
	_, east := time.Unix(int64(hour)*3600, 0).In(zone).Zone()
	return east
}

// localDay returns the zone's day at an hour since 1970-01-01 UTC.
func localDay(zone *time.Location, hour int) int {
	return facts.FloorDiv(hour*3600+offsetAt(zone, hour), facts.DaySeconds)
}

// firstHour returns the first UTC hour that begins on the zone's day or later.
func firstHour(zone *time.Location, day int) int {
	hour := day*24 - 16 // no zone is farther east
	for localDay(zone, hour) < day {
		hour++
	}
	return hour
}

// localSeconds returns SQL for the local time of fact f, in seconds since 1970-01-01, right for the
// hours given. The zone's changes of the clock are written into it, because SQLite knows no zones.
func localSeconds(zone *time.Location, hours Hours) string {
	var cases strings.Builder
	hour := hours.First
	for {
		_, end := time.Unix(int64(hour)*3600, 0).In(zone).ZoneBounds()
		next := -facts.FloorDiv(-int(end.Unix()), 3600) // the first hour that begins after the change
		if end.IsZero() || next > hours.Last {
			break
		}
		fmt.Fprintf(&cases, "WHEN f.ts<%d THEN %d ", next, offsetAt(zone, hour))
		hour = next
	}
	last := offsetAt(zone, hour)
	if cases.Len() == 0 {
		return "(f.ts*3600" + sign(last) + ")"
	}
	return fmt.Sprintf("(f.ts*3600+CASE %sELSE %d END)", cases.String(), last)
}

// sign returns +n or -n.
func sign(n int) string { return fmt.Sprintf("%+d", n) }
