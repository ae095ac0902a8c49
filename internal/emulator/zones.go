package emulator

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	_ "time/tzdata" // a zone is known where the system has no zone files, as in a bare container
)

// zoneNumbers are the digits that timezone_id takes. Only that 1 is a value is documented; the table is a guess.
var zoneNumbers = []string{1: "UTC", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "Europe/London", "Europe/Berlin",
	"Europe/Istanbul", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney"}

// readZone reads timezone_id and utc_offset; the first goes before the second, and only it knows daylight saving time.
func readZone(v url.Values) (*time.Location, *serviceError) {
	minutes, err := parseOffset(v.Get("utc_offset"))
	if err != nil {
		return nil, badRequest("%v", err)
	}
	id := v.Get("timezone_id")
	if id == "" {
		return time.FixedZone("", minutes*60), nil
	}
	name := id
	var n int
	if _, err := fmt.Sscanf(id+"\n", "%d\n", &n); err == nil && n > 0 && n < len(zoneNumbers) {
		name = zoneNumbers[n]
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, badRequest("timezone_id: %q is neither an IANA zone such as Europe/Berlin nor a number from 1 to %d", id, len(zoneNumbers)-1)
	}
	return zone, nil
}

// parseOffset reads [+-]HH:MM as minutes. A "+" that was sent unescaped arrives as a blank.
func parseOffset(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	t, err := time.Parse("-07:00", strings.Replace(s, " ", "+", 1))
	if err != nil {
		return 0, fmt.Errorf("utc_offset: %q is not of the form +HH:MM", s)
	}
	_, east := t.Zone()
	if east < -14*3600 || east > 14*3600 {
		return 0, fmt.Errorf("utc_offset: %q is farther than 14 hours from UTC", s)
	}
	return east / 60, nil
}

// offsetAt is the seconds that the zone is east of UTC at an hour since 1970-01-01 UTC.
func offsetAt(zone *time.Location, hour int) int {
	_, east := time.Unix(int64(hour)*3600, 0).In(zone).Zone()
	return east
}

func localDay(zone *time.Location, hour int) int {
	return floorDiv(hour*3600+offsetAt(zone, hour), daySeconds)
}

// firstHour is the first UTC hour that begins on the zone's day or later.
func firstHour(zone *time.Location, day int) int {
	hour := day*24 - 16 // no zone is farther east
	for localDay(zone, hour) < day {
		hour++
	}
	return hour
}

// localSeconds is SQL for the local time of fact f, in seconds since 1970-01-01, right for the hours given. The zone's
// changes of the clock are written into it, because SQLite knows no zones.
func localSeconds(zone *time.Location, hours hourRange) string {
	var cases strings.Builder
	hour := hours.first
	for {
		_, end := time.Unix(int64(hour)*3600, 0).In(zone).ZoneBounds()
		next := -floorDiv(-int(end.Unix()), 3600) // the first hour that begins after the change
		if end.IsZero() || next > hours.last {
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

// sign is +n or -n.
func sign(n int) string { return fmt.Sprintf("%+d", n) }
