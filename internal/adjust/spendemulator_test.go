package adjust

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// The emulator, written from the document alone, takes what this client sends, and both agree on
// every fault.
func TestSpendEmulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emutest.With(emulator.Options{Apps: 3, Days: 9,
			Partners: map[string]string{secretToken: "", "unity-key": "Unity Ads"},
			Readings: []string{"spend-auth=bearer", "spend-duplicate=replaces"}})) // jobs/spend has the others
		if err != nil {
			t.Fatal(err)
		}
		open := func(key string) *Client {
			c, _ := openSpend(t, play(words200), func(o *Options) {
				o.HTTP, o.SpendAuth.Key, o.Rate = s.Client(), &fixed{tokens: []string{key}}, 1000
			})
			return c
		}
		c := open(secretToken)
		var list []emulator.Engagement
		for e := range s.Engagements(time.Now().AddDate(0, 0, -3), time.Now(), 20) {
			list = append(list, e)
		}
		taken, sent := 0, 0
		arrived := func() (n int) { // and were taken, whatever they were answered
			for status, times := range s.Spend().Statuses {
				if status < 300 {
					n += times
				}
			}
			return n
		}
		for i, f := range []struct {
			fault   emulator.Fault
			unknown bool
			times   int // that the record arrives, by the time the client returns
		}{
			{emulator.Fault{Kind: emulator.FaultSlow, Delay: 20 * time.Second}, false, 1},
			{emulator.Fault{Kind: emulator.FaultSlow, Delay: time.Minute}, true, 0},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 429}, false, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 9}, false, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 429, Times: 5}, false, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 503, Times: 3}, false, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 500}, true, 0},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 504}, true, 0},
			{emulator.Fault{Kind: emulator.FaultReset}, true, 0},
			{emulator.Fault{Kind: emulator.FaultHTML}, true, 0},
			{emulator.Fault{Kind: emulator.FaultLost}, true, 1},
			{emulator.Fault{Kind: emulator.FaultLost, Status: 502}, true, 1},
			{emulator.Fault{Kind: emulator.FaultCut}, true, 1},
			{emulator.Fault{Kind: emulator.FaultEmpty}, false, 1},
		} {
			s.SetFaults([]emulator.Fault{f.fault})
			rec := Spend{Type: "cpc", Currency: "eur", Amount: fmt.Sprintf("%d.00001", i), CostID: list[i].CostID,
				Tag: "t&t"}
			before := arrived()
			err := submit(t.Context(), c, rec)
			if errors.Is(err, ErrUnknown) != f.unknown || err != nil != f.unknown {
				t.Errorf("%s: %v", f.fault.String(), err)
			}
			if got := arrived() - before; got != f.times {
				t.Errorf("%s: arrived %d times, want %d", f.fault.String(), got, f.times)
			}
			taken++
			sent += f.times
			if f.unknown { // sent again, it is the same spend
				if err := submit(t.Context(), c, rec); err != nil {
					t.Error(err)
				}
				sent++
			}
		}
		books := s.Spend()
		if books.Records != taken || books.Duplicates != sent-taken || books.Replaced != 0 ||
			books.States["matched"] != taken {
			t.Errorf("%d records sent %d times: %+v", taken, sent, books)
		}
		for name, rec := range map[string]Spend{
			"a type": {Type: "cpa", Currency: "usd", Amount: "1", CostID: "nobodys-cost-id", Tag: "t"},
			"an ID":  {Type: "cpc", Currency: "usd", Amount: "1", CostID: "short", Tag: "t"},
		} {
			var e *Error
			if err := submit(t.Context(), c, rec); !errors.Is(err, ErrRejected) || !errors.As(err, &e) ||
				e.Status != 400 && e.Status != 422 || e.Attempts != 1 {
				t.Errorf("%s: %v", name, err)
			}
		}
		foreign := list[0]
		for _, e := range list {
			if e.Network != "Unity Ads" {
				foreign = e
			}
		}
		for key, id := range map[string]string{"wrong": foreign.CostID, "unity-key": foreign.CostID} {
			if err := submit(t.Context(), open(key), Spend{"cpc", "usd", "1", id, "t"}); !errors.Is(err, ErrAuth) {
				t.Errorf("%s: %v", key, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
