package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

var began = time.Date(2026, 1, 12, 4, 30, 0, 0, time.UTC)

// A bar begins where its unit did, is as long as that took, and is parted by what the time went
// into.
func TestBars(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		name string
		unit ledger.Timing
		want string
	}{
		{"parted", ledger.Timing{Begun: began.Add(10 * s), Took: 50 * s, Limiter: 5 * s, Backoff: 10 * s,
			Convert: 5 * s, Put: 10 * s},
			"limiter 10+5 backoff 15+10 fetch 25+20 convert 45+5 put 50+10"},
		{"only fetching", ledger.Timing{Begun: began, Took: 100 * s}, "fetch 0+100"},
		{"two requests waited at once", ledger.Timing{Begun: began, Took: 30 * s, Limiter: 60 * s, Put: 15 * s},
			"limiter 0+24 put 24+6"},
		{"short, at the end", ledger.Timing{Begun: began.Add(100 * s), Took: time.Millisecond}, "fetch 99.7+0.3"},
		{"by a clock that was set", ledger.Timing{Begun: began.Add(-5 * s), Took: 200 * s}, "fetch 0+100"},
		{"no time at all", ledger.Timing{Begun: began}, ""},
	} {
		b := Bars(began, 100*s, []ledger.Timing{c.unit})[0]
		got := ""
		for _, p := range b.Parts {
			if got != "" {
				got += " "
			}
			got += fmt.Sprintf("%s %.4g+%.4g", p.Class, p.At, p.Long)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAxis(t *testing.T) {
	for took, want := range map[time.Duration]string{
		0:                      "0s",
		700 * time.Millisecond: "0s 200ms 400ms 600ms",
		42 * time.Second:       "0s 10s 20s 30s 40s",
		time.Hour:              "0s 15m0s 30m0s 45m0s 1h0m0s",
		400 * time.Hour:        "0s 80h0m0s 160h0m0s 240h0m0s 320h0m0s",
	} {
		got := ""
		for i, m := range Axis(took) {
			if i > 0 {
				got += " "
			}
			got += m.Time.Truncate(time.Millisecond).String()
			if m.At < 0 || m.At > 100 {
				t.Errorf("%v: a mark is at %v", took, m.At)
			}
		}
		if got != want {
			t.Errorf("%v: %s, want %s", took, got, want)
		}
	}
}
