package refresh

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// ParseSchedule reads a five-field cron expression (or a descriptor such as @daily) in an IANA time zone. An empty
// expression gives nil, which fires always. The zone is for cron alone: it says when to look, never what a day is.
func ParseSchedule(expr, zone string) (cron.Schedule, error) {
	if expr == "" {
		return nil, nil
	}
	if zone == "" {
		zone = "UTC"
	}
	s, err := cron.ParseStandard("CRON_TZ=" + zone + " " + expr)
	if err != nil {
		return nil, fmt.Errorf("schedule %q in zone %s: %w", expr, zone, err)
	}
	return s, nil
}

// Fired tells whether the schedule has fired after since and not later than now.
func Fired(s cron.Schedule, since, now time.Time) bool {
	if s == nil {
		return !now.Before(since)
	}
	next := s.Next(since)
	return !next.IsZero() && !next.After(now)
}
