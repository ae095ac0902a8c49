package notify

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// changed is the trouble of some days whose numbers changed after they had been final, brought at a time.
func changed(brought string, first string, days int) Trouble {
	from, err := time.Parse(time.DateOnly, first)
	if err != nil {
		panic(err)
	}
	t := Trouble{Job: "daily", Reason: ChangedAfterFinal, From: first, Count: days, Past: true}
	for day := range days {
		t.Through = from.AddDate(0, 0, day).Format(time.DateOnly)
		t.Records = append(t.Records, t.Through+"@"+brought)
	}
	return t
}

// That a final number changed is told of once, and is over then: whoever hears of one day in January hears of all the others in June, and
// of the same day again when its numbers change once more. The ledger has the records for as long as nothing replaces them, and nobody
// hears of them again.
func TestNumbersThatChangedAfterFinal(t *testing.T) {
	l, at := memLedger(t), time.Date(2026, 1, 10, 6, 0, 0, 0, time.UTC)
	all, deaf := newEar("all"), newEar("deaf")
	january, june := changed("2026-01-10T06:00:00Z", "2025-11-03", 1), changed("2026-06-10T06:00:00Z", "2025-09-01", 274)
	before, behind := changed("2026-01-10T06:00:00Z", "2025-11-03", 1), changed("2026-07-01T06:00:00Z", "2026-06-02", 1)
	behind.Records, behind.Count = append(june.Records, behind.Records...), 275
	behind.From = june.From
	left := changed("2025-01-01T06:00:00Z", "2025-01-01", 3)
	left.Past = false
	for i, c := range []struct {
		what      string
		after     time.Duration
		all, deaf string
		fails     bool
		troubles  []Trouble
	}{
		{"a final day moved", 0, "opened changed_after_final 2025-11-03", "", true, []Trouble{january}},
		{"who didn't hear of it hears of it before it is over", 24 * time.Hour, "", "opened changed_after_final 2025-11-03", false, []Trouble{before}},
		{"then it is over", 24 * time.Hour, "resolved changed_after_final 2025-11-03", "resolved changed_after_final 2025-11-03", false, []Trouble{before}},
		{"weeks later the record is still there", 60 * 24 * time.Hour, "", "", false, []Trouble{before}},
		{"of a run that couldn't look at the job", 24 * time.Hour, "", "", false, nil},
		{"and the one after it", 24 * time.Hour, "", "", false, []Trouble{before}},
		{"in June 274 days move", 60 * 24 * time.Hour, "opened changed_after_final 2025-09-01 to 2026-06-01", "opened changed_after_final 2025-09-01 to 2026-06-01", false, []Trouble{june}},
		{"a task of the same run that ends later", 10 * time.Minute, "", "", false, []Trouble{june}},
		{"another day moves beside them", 24 * time.Hour, "resolved changed_after_final 2025-09-01 to 2026-06-01, opened changed_after_final 2026-06-02",
			"resolved changed_after_final 2025-09-01 to 2026-06-01, opened changed_after_final 2026-06-02", false, []Trouble{behind}},
		{"a night later", 24 * time.Hour, "resolved changed_after_final 2026-06-02", "resolved changed_after_final 2026-06-02", false, []Trouble{behind}},
		{"what moved and was left goes on", 24 * time.Hour, "opened changed_after_final 2025-01-01 to 2025-01-03", "opened changed_after_final 2025-01-01 to 2025-01-03", false, []Trouble{left, behind}},
		{"for as long as it stands", 24 * time.Hour, "", "", false, []Trouble{left, behind}},
		{"and ends with it", 24 * time.Hour, "resolved changed_after_final 2025-01-01 to 2025-01-03", "resolved changed_after_final 2025-01-01 to 2025-01-03", false, nil},
		{"nothing is left", 72 * time.Hour, "", "", false, nil},
	} {
		at = at.Add(c.after)
		deaf.fail = nil
		if c.fails {
			deaf.fail = errors.New("away")
		}
		n := News{Ledger: l, Run: fmt.Sprint("run", i), Began: at, Now: at.Add(2 * time.Minute), Jobs: []string{"daily"}, Calm: map[string]bool{"daily": true},
			Troubles: c.troubles, Receivers: []Receiver{all.Receiver, deaf.Receiver}}
		if c.what == "of a run that couldn't look at the job" {
			n.Jobs = nil
		}
		if strings.HasPrefix(c.what, "a task of the same run") {
			n.Began = at.Add(-20 * time.Minute)
		}
		if err := Tell(t.Context(), n); (err != nil) != c.fails {
			t.Fatal(err)
		}
		if a, d := all.heard(), deaf.heard(); a != c.all || d != c.deaf {
			t.Errorf("%s: heard %q and %q,\nwant %q and %q", c.what, a, d, c.all, c.deaf)
		}
	}
	if keys, err := bookOf(l).folder.Keys(t.Context(), ""); err != nil || len(keys) != 0 {
		t.Errorf("what isn't there any more is still in the ledger: %v %v", keys, err)
	}
}
