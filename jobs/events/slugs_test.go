package events_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/slugs"
)

func (r *rig) changes() (texts []string) {
	r.t.Helper()
	found, err := slugs.Open(r.ledger, r.options.Job, r.options.Table).Last(r.t.Context())
	check(r.t, err)
	for _, c := range found.Changes {
		texts = append(texts, c.String())
	}
	return texts
}

// Somebody renames and archives events in the dashboard: the next snapshot notes it, with the days
// between which it happened, also when a night failed meanwhile.
func TestChangedSlugsAreNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "event-slugs=underscores")
		defer r.close()
		r.options.Rules.IgnoreSchedule = true
		for day, change := range []func() error{
			nil,
			func() error { return r.server.RenameEvent("purchase", "Purchase made") },
			func() error { return r.server.RenameEvent("tutorial_complete", "") },
			func() error { return r.server.RenameEvent("purchase_made", "Order") },
			nil,
		} {
			if change != nil {
				check(t, change())
			}
			whole := r.sink
			if day == 2 {
				r.sink = full{whole}
			}
			if res := r.run(); len(res.Errs) > 0 != (day == 2) {
				t.Fatalf("day %d: %v", day, res.Errs)
			}
			r.sink = whole
			time.Sleep(24 * time.Hour)
		}
		want := []string{
			"purchase became purchase_made between 2000-01-01 and 2000-01-02",
			"tutorial_complete vanished between 2000-01-02 and 2000-01-03", // seen, though the snapshot couldn't be put
			"purchase_made became order between 2000-01-03 and 2000-01-04",
		}
		if got := r.changes(); !slices.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	})
}

// A snapshot that was cut after its changes were noted is taken again on the day, and they aren't
// noted twice.
func TestACutSnapshotNotesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.options.Rules.IgnoreSchedule = true
		if res := r.run(); len(res.Errs) > 0 {
			t.Fatal(res.Errs)
		}
		time.Sleep(24 * time.Hour)
		check(t, r.server.RenameEvent("purchase", "Order"))
		whole := r.sink
		r.sink = full{whole}
		_ = r.run() // fails
		r.sink = whole
		for range 3 {
			time.Sleep(time.Minute)
			r.options.Rules.IgnoreLedger = true
			if res := r.run(); len(res.Errs) > 0 || res.Outcome.Windows != 1 {
				t.Fatalf("%+v %v", res.Outcome, res.Errs)
			}
		}
		if got, want := r.changes(),
			[]string{"purchase became order between 2000-01-01 and 2000-01-02"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Other apps or another search aren't changes of slugs, and neither is an account without events.
func TestOtherQuestionsAreNoChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.options.Rules.IgnoreSchedule, r.options.Rebaseline = true, true
		for _, search := range []string{"level", "", "no event has this name", ""} {
			r.options.Search = search
			res := r.run()
			if none := search == "no event has this name"; none != (res.Outcome.Empty == 1) || len(res.Errs) > 0 {
				t.Fatalf("search %q: %+v %v", search, res.Outcome, res.Errs)
			}
			time.Sleep(24 * time.Hour)
		}
		if got := r.changes(); len(got) > 0 {
			t.Errorf("changes: %v", got)
		}
	})
}

// A damaged record of slugs is an error that names it, and the snapshot is published all the same:
// it can't be taken on another day.
func TestDamagedSlugs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.options.Rules.IgnoreSchedule = true
		foreign := ledger.NewDocument[map[string]string](r.ledger, "tables/account_events/notes.json", "")
		check(t, foreign.Change(t.Context(), ledger.Change[map[string]string]{Apply: func(c *map[string]string) error {
			*c = map[string]string{"content": "of another program"}
			return nil
		}}))
		res := r.run()
		var damaged *ledger.DamagedError
		if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(),
			"mem://ledger/tables/account_events/notes.json is damaged") || !errors.As(res.Errs[0], &damaged) {
			t.Errorf("%v", res.Errs)
		}
		if res.Outcome.Written != 1 || len(r.snapshot("2000-01-01")) < 20 {
			t.Errorf("%+v", res.Outcome)
		}
	})
}
