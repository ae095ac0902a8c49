package refresh_test

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// What differs from the totals is asked for again after 1, 2, 4 and 7 days, also when it is as old
// as it needs to be, eight times in all, and no more when three answers have said the same.
func TestDoubtfulPartitionsAreAskedForAgain(t *testing.T) {
	day := civil.Date{Year: 2026, Month: 1, Day: 10}
	fetched := time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC)
	rules := refresh.Rules{Period: refresh.Day, Page: 7, Start: day, Through: day, Lookback: 7, Location: time.UTC}
	for _, c := range []struct {
		asked, same, due int // due: days after the fetch; 0: never
	}{{0, 0, 1}, {1, 0, 2}, {1, 1, 2}, {2, 0, 4}, {3, 0, 7}, {7, 1, 7}, {8, 0, 0}, {2, 2, 0}} {
		e := ledger.Record{
			Partition: day, Seq: 1, Fetched: fetched, State: ledger.Written, Rows: 5, Asked: c.asked, Same: c.same,
			Control: &ledger.Control{State: ledger.Unreconciled},
		}
		first := 0
		for days := 1; days < 30 && first == 0; days++ {
			w := refresh.Plan(fetched.AddDate(0, 0, days), rules, ledger.Records{day: e})
			if len(w) == 1 && w[0].Due[0].Reason == refresh.Doubtful {
				first = days
			}
		}
		if first != c.due {
			t.Errorf("asked %d, the same %d: due after %d days, want %d", c.asked, c.same, first, c.due)
		}
	}
}

// A period without rows is suspected when those on each side of it all have some, as far as they
// are recorded, up to 14.
func TestSuspected(t *testing.T) {
	first := civil.Date{Year: 2026, Month: 1, Day: 1}
	for _, c := range []struct{ days, want string }{
		{"rrr-rrr", "3"}, {"-rrr", ""}, {"rrr-", ""}, {"r--r", ""}, {"r-r-r", ""}, {"rr-r.r", "2"}, {"r.-rr", ""},
		{"rrrrrrrrrrrrrrr-rrrrrrrrrrrrrrr", "15"}, {"-rrrrrrrrrrrrrr-rrrrrrrrrrrrrr-", "15"},
		{"-rrrrrrrrrrrrr-rrrrrrrrrrrrrr-", ""},
	} {
		done := ledger.Records{}
		for i, state := range c.days {
			day := first.AddDays(i)
			switch state {
			case 'r':
				done[day] = ledger.Record{Partition: day, State: ledger.Written, Rows: 3}
			case '-':
				done[day] = ledger.Record{Partition: day, State: ledger.Empty}
			}
		}
		got := ""
		for day := range refresh.Suspected(refresh.Day, done) {
			got += fmt.Sprint(day.DaysSince(first))
		}
		if got != c.want {
			t.Errorf("%s: suspected %s, want %s", c.days, got, c.want)
		}
	}
}
