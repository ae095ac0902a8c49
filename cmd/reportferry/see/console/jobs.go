package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// JobsOf returns the jobs of the config in the form that the console takes.
func JobsOf(s *wire.Session) ([]console.Job, error) {
	list := make([]console.Job, 0, len(s.Config.Jobs))
	for _, c := range s.Config.Jobs {
		j := console.Job{Name: c.Name, Kind: c.Kind, Table: c.Table, Zone: zoneOf(c), Days: wire.Zone(c)}
		for _, rawURL := range c.Sinks {
			j.Sinks = append(j.Sinks, sinks.Redact(rawURL))
		}
		var err error
		if j.Schedule, err = refresh.ParseSchedule(c.Schedule, c.Zone); err != nil {
			return nil, err
		}
		switch {
		case c.Sinks != nil:
			j.Inspect = func(ctx context.Context, past ledger.Past) (state console.TableState, err error) {
				if state.Inspection, state.Due, err = s.Inspect(ctx, c, past); err != nil || !underWay(past) {
					return state, err
				}
				t, err := s.Ledger.Table(ctx, c.Table)
				if err == nil {
					state.Held = refresh.Hold(state.Calendar, state.Due, t.Holders())
				}
				return state, err
			}
		case c.Apps != nil:
			j.Apps = appsOf(s, c)
		case !c.AsksService():
			push := c.Pushing()
			j.Source, j.Rejects = strings.NewReplacer("%7B", "{", "%7D", "}").Replace(sinks.Redact(push.Source)),
				sinks.Redact(push.Rejects)
			j.Files = outbox.New(outbox.Options{Ledger: s.Ledger, Table: c.Table}).Files
		}
		list = append(list, j)
	}
	return list, nil
}

// zoneOf returns the zone of a job's schedule. It is nil when the job has no schedule, or a zone
// that ParseSchedule refuses.
func zoneOf(c config.Job) *time.Location {
	zone, err := time.LoadLocation(c.Zone)
	if c.Schedule == "" || err != nil {
		return nil
	}
	return zone
}

// underWay tells whether a run may be going on: it began less than 48 hours ago, and no end is
// recorded.
func underWay(past ledger.Past) bool {
	return slices.ContainsFunc(past.Runs, func(r ledger.Run) bool {
		return r.Ended == nil &&
			time.Since(r.Started) < 48*time.Hour
	})
}
