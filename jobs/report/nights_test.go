package report_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"github.com/robfig/cron/v3"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// nightly makes a rig whose job runs on a schedule, over the service's 14 days of restated spend.
func nightly(t *testing.T, expr, zone string) (*rig, cron.Schedule) {
	t.Helper()
	r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1})
	schedule, err := refresh.ParseSchedule(expr, zone)
	check(t, err)
	r.options.Rules.Schedule = schedule
	r.options.Rules.Lookback = 15
	r.options.Query.Dimensions = []string{"day", "app_token", "network", "campaign"}
	r.client.Attempts = 3
	return r, schedule
}

// sleepTo waits for the schedule's next tick.
func sleepTo(s cron.Schedule) { time.Sleep(time.Until(s.Next(time.Now()))) }

// badNight lets one run fail, in one of the ways nights fail.
func badNight(r *rig, dice *rand.Rand) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	sink := watch(r.sink)
	o := r.options
	o.Targets = []ledger.Target{{Name: "out", Sink: sink}}
	left := dice.IntN(12)
	switch dice.IntN(4) {
	case 0: // the service is down, at once or after a while
		r.server.SetFaults([]emulator.Fault{{Nth: 1 + dice.IntN(3), Every: 1, Kind: emulator.FaultStatus, Status: 503}})
	case 1: // answers break off
		r.server.SetFaults([]emulator.Fault{{Nth: 1, Every: 1, Kind: emulator.FaultCut,
			AfterBytes: int64(dice.IntN(9000))}})
	case 2: // the bucket is full
		sink.fail = func(sinks.Part) error {
			if left--; left < 0 {
				return errors.New("no space left")
			}
			return nil
		}
	case 3: // the process is stopped
		sink.fail = func(sinks.Part) error {
			if left--; left < 0 {
				cancel()
				return ctx.Err()
			}
			return nil
		}
	}
	r.runAs(ctx, o)
	r.server.SetFaults(nil)
}

// Forty nights, one in three of which fails: the first one that doesn't makes all good,
// restatements included.
func TestFaultyNightsHeal(t *testing.T) {
	nights, seeds := 40, max(1, uint64(*seeds)/8)
	if testing.Short() { // the race detector slows SQLite down twenty times
		nights, seeds = 10, 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, schedule := nightly(t, "30 2 * * *", "UTC")
				defer r.close()
				first := civil.DateOf(time.Now()).AddDays(-3)
				r.from(first)
				dice := rand.New(rand.NewPCG(seed, 9))
				bad := 0
				for range nights {
					sleepTo(schedule)
					if dice.IntN(3) == 0 {
						bad++
						badNight(r, dice)
					} else {
						r.run(t.Context())
					}
				}
				sleepTo(schedule)
				res := r.ok()
				t.Logf("%d of %d nights failed; the last one wrote %d partitions", bad, nights, res.Outcome.Written)
				r.equalsTruth(first, nights+3)
			})
		})
	}
}

// A week without a run is caught up by one run; what was last fetched too young is fetched once
// more.
func TestAMissedWeek(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		r, schedule := nightly(t, "30 2 * * *", "UTC")
		defer r.close()
		first := civil.DateOf(time.Now())
		r.from(first)
		for range 5 {
			sleepTo(schedule)
			r.ok()
		}
		time.Sleep(30 * 24 * time.Hour)
		res := r.ok()
		r.equalsTruth(first, 34)
		if res.Outcome.Written+res.Outcome.Unchanged != 34 {
			t.Errorf("one run after a month: %+v, want all 34 days of it", res.Outcome)
		}
		sleepTo(schedule)
		if res = r.ok(); res.Outcome.Written+res.Outcome.Unchanged != 16 {
			t.Errorf("the night after: %+v, want the 15 days of the lookback and the new one", res.Outcome)
		}
	})
}

// The zone of the schedule has nights with a gap and nights with an hour twice: no day is lost or
// doubled.
func TestClockChangeNights(t *testing.T) {
	slow.Test(t)
	for _, c := range []struct {
		name string
		from time.Time // some days before the change, in Berlin
		runs int       // ticks in the ten days after
	}{
		{"spring", time.Date(2000, 3, 22, 12, 0, 0, 0, time.UTC), 9},
		{"autumn", time.Date(2000, 10, 25, 12, 0, 0, 0, time.UTC), 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, schedule := nightly(t, "30 2 * * *", "Europe/Berlin")
				defer r.close()
				r.options.Rules.Lookback = 2
				time.Sleep(time.Until(c.from))
				first := civil.DateOf(c.from)
				r.from(first)
				runs := 0
				for {
					sleepTo(schedule)
					if time.Since(c.from) > 10*24*time.Hour {
						break
					}
					runs++
					r.ok()
				}
				if runs != c.runs {
					t.Errorf("%d ticks in ten days, want %d", runs, c.runs)
				}
				r.ok() // late on the tenth night
				r.options.Rules.Lookback = 30
				r.options.Rules.IgnoreSchedule = true
				r.ok()
				r.equalsTruth(first, 11)
			})
		})
	}
}
