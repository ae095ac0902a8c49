package kinds

import (
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config/strict/stricttest"
)

func TestStartOn(t *testing.T) {
	today := civil.Date{Year: 2026, Month: 3, Day: 1}
	if got := (Start{DaysAgo: 2}).On(today); got != (civil.Date{Year: 2026, Month: 2, Day: 27}) {
		t.Errorf("two days before %s: %s", today, got)
	}
	fixed := Start{Date: civil.Date{Year: 2025, Month: 12, Day: 24}}
	if got := fixed.On(today); got != fixed.Date {
		t.Errorf("got %s, want %s", got, fixed.Date)
	}
}

func TestColumn(t *testing.T) {
	for _, c := range []struct {
		as, metric, want string
	}{{"", "events", "buy_events"}, {"", "self", "buy"}, {"p", "revenue", "p_revenue"}, {"p", "self", "p"}} {
		if got := (EventSelector{Slug: "buy", As: c.as}).column(c.metric); got != c.want {
			t.Errorf("as %q, metric %q: %s, want %s", c.as, c.metric, got, c.want)
		}
	}
}

// A lookback is spelled as the file has it.
func TestLookbackSpelled(t *testing.T) {
	for want, l := range map[string]lookback{
		"auto": {auto: true}, "probe": {auto: true, probe: true}, "3": {days: 3}, "0": {},
	} {
		if l.String() != want {
			t.Errorf("%+v is spelled %s", l, l)
		}
	}
}

// The examples of an event's keys are values that they take.
func TestExamples(t *testing.T) { stricttest.Examples(t, selectorObject(new(EventSelector)), nil) }
