package report

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a zone is known where the system has no zone files, as in a bare container

	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// zoneNumbers has the zone of each number that timezone_id takes. Only that 1 is a value is
// documented; the table is a guess.
var zoneNumbers = []string{1: "UTC", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "Europe/London",
	"Europe/Berlin",
	"Europe/Istanbul", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney"}

// readZone reads timezone_id and utc_offset. timezone_id goes before utc_offset, and only it knows
// daylight saving time. Unless names is true, a timezone_id that isn't a number is ignored.
func readZone(v url.Values, names bool) (*time.Location, *wire.Error) {
	minutes, err := parseOffset(v.Get("utc_offset"))
	if err != nil {
		return nil, wire.BadRequest("%v", err)
	}
	id := v.Get("timezone_id")
	name := id
	n, err := strconv.Atoi(id)
	if err == nil && n > 0 && n < len(zoneNumbers) {
		name = zoneNumbers[n]
	}
	if id == "" || err != nil && !names {
		return time.FixedZone("", minutes*60), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, wire.BadRequest("timezone_id: %q is neither an IANA zone such as Europe/Berlin nor a number "+
			"from 1 to %d", id, len(zoneNumbers)-1)
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
