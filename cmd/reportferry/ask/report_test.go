package ask

import (
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
)

// A report in a zone by name is asked for by the offset of its days, and is none where that changes
// in them.
func TestReportInAZone(t *testing.T) {
	now := time.Date(2026, 11, 25, 23, 30, 0, 0, time.UTC) // the 26th in Berlin
	for _, c := range []struct{ period, zone, days, offset, id, wrong string }{
		{"-2d:-1d", "Europe/Berlin", "2026-11-24:2026-11-25", "+01:00", "", ""},
		{"2026-07-01:-130d", "Europe/Berlin", "2026-07-01:2026-07-19", "+02:00", "", ""},
		{"today", "Europe/Berlin", "2026-11-26:2026-11-26", "+01:00", "", ""},
		{"yesterday", "America/New_York", "2026-11-24:2026-11-24", "-05:00", "", ""},
		{"last_week", "5", "last_week", "", "5", ""},
		{"last_week", "", "last_week", "", "", ""},
		{"last_week", "Europe/Berlin", "", "", "",
			"--date-period last_week: with the zone Europe/Berlin want FROM:TO as dates or -7d, because its offset " +
				"depends on the days"},
		{"2026-10-01:2026-10-40", "Europe/Berlin", "", "", "",
			"--date-period 2026-10-01:2026-10-40: with the zone Europe/Berlin want FROM:TO as dates or -7d, because " +
				"its offset depends on the days"},
		{"2026-10-24:2026-10-26", "Europe/Berlin", "", "", "",
			"--timezone-id Europe/Berlin: its clocks change in 2026-10-24 to 2026-10-26, and one report has one " +
				"offset; " +
				"ask for the days before and after 2026-10-25 by themselves, or let run --to keep them as a table, " +
				"which adds that day up"},
		{"2026-03-08:2026-03-08", "America/Havana", "", "", "",
			"--timezone-id America/Havana: its clocks change in 2026-03-08 to 2026-03-08, and one report has one " +
				"offset; " +
				"ask for the days before and after 2026-03-08 by themselves, or let run --to keep them as a table, " +
				"which adds that day up"},
		{"today", "Berlin", "", "", "",
			"--timezone-id Berlin: want a zone such as Europe/Berlin, or the service's number of one"},
	} {
		q := adjust.ReportQuery{DatePeriod: c.period, TimezoneID: c.zone}
		err := resolveZone(&q, now)
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s in %s: %v\nwant %s", c.period, c.zone, err, c.wrong)
			}
		} else if err != nil || q.DatePeriod != c.days || q.UTCOffset != c.offset || q.TimezoneID != c.id {
			t.Errorf("%s in %s: %s, %q, %q, %v", c.period, c.zone, q.DatePeriod, q.UTCOffset, q.TimezoneID, err)
		}
	}
}
