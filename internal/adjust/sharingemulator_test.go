package adjust

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// The emulator, written from the document alone, takes what this client sends, and both agree on
// every fault: what comes last holds, however often it came.
func TestSharingEmulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emutest.With(emulator.Options{Apps: 3, Days: 9, Readings: []string{
			"sharing-form=anywhere", "sharing-partner=any", "sharing-partly=error", "sharing-refusal=400"}}))
		if err != nil {
			t.Fatal(err)
		}
		c, _ := openSharing(t, play(shared200), func(o *Options) { o.HTTP, o.Rate = s.Client(), 1000 })
		app := s.Apps()[0].Token
		for i, f := range []struct {
			fault emulator.Fault
			times int // that the first record arrives
		}{
			{emulator.Fault{Kind: emulator.FaultSlow, Delay: 20 * time.Second}, 1},
			{emulator.Fault{Kind: emulator.FaultSlow, Delay: time.Minute}, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 429}, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 9}, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 503, Times: 3}, 1},
			{emulator.Fault{Kind: emulator.FaultStatus, Status: 500}, 1},
			{emulator.Fault{Kind: emulator.FaultReset}, 1},
			{emulator.Fault{Kind: emulator.FaultHTML}, 1},
			{emulator.Fault{Kind: emulator.FaultLost}, 2},
			{emulator.Fault{Kind: emulator.FaultLost, Status: 502}, 2},
			{emulator.Fault{Kind: emulator.FaultCut}, 2},
			{emulator.Fault{Kind: emulator.FaultEmpty}, 1},
		} {
			s.SetFaults([]emulator.Fault{f.fault})
			device := fmt.Sprintf("38400000-8cf0-11bd-b23e-%012d", i)
			send := func(r Sharing) error {
				r.AppToken, r.GPSAdID = app, device
				return share(t.Context(), c, r)
			}
			if err := send(Sharing{Choice: "disable"}); err != nil {
				t.Errorf("%s: %v", f.fault.String(), err)
			}
			if got := s.SharingOf(app, "gps_adid", device); got.Arrivals != f.times || got.Sharing != "disable" {
				t.Errorf("%s: %d times, %q", f.fault.String(), got.Arrivals, got.Sharing)
			}
			if err := send(Sharing{Choice: "enable", Partners: `{"all":{"session":false,"install":true}}`,
				Options: `{"google_dma":{"eea":"1","ad_user_data":"0"}}`}); err != nil {
				t.Error(err)
			}
			got := s.SharingOf(app, "gps_adid", device)
			if got.Sharing != "enable" || got.Partners["facebook"]["session"] || !got.Partners["facebook"]["install"] ||
				got.Options["google_dma"]["eea"] != "1" {
				t.Errorf("%s: %+v", f.fault.String(), got)
			}
		}
		if books := s.Sharing(); books.Overlaps != 0 ||
			books.Statuses[http.StatusOK]+books.Statuses[http.StatusNoContent] != 27 {
			t.Errorf("%+v", books)
		}
		s.SetFaults(nil)
		partly := Sharing{AppToken: app, IDFA: idfa,
			Partners: `{"facebook":{"install":false},"nobody":{"install":false}}`}
		var p *PartialError
		if err := share(t.Context(), c, partly); !errors.As(err, &p) || !errors.Is(err, ErrPartly) ||
			!strings.Contains(p.Words, "Unknown partner: nobody") {
			t.Errorf("%v", err)
		}
		if s.SharingOf(app, "idfa", idfa).Partners["facebook"]["install"] {
			t.Error("the valid part isn't applied")
		}
		for words, r := range map[string]Sharing{
			"App not found":                       {AppToken: "nobody", IDFA: idfa, Choice: "enable"},
			"Missing parameter: idfa or gps_adid": {AppToken: app, Choice: "enable"},
			"Invalid parameter: idfa":             {AppToken: app, IDFA: "a\r\nX-Evil: 1", Choice: "enable"},
			"Invalid partner_sharing_settings":    {AppToken: app, IDFA: idfa, Partners: `{"facebook":`},
			"Missing parameter: sharing, partner": {AppToken: app, IDFA: idfa},
		} {
			var e *Error
			if err := share(t.Context(), c, r); !errors.Is(err, ErrRejected) || !errors.As(err, &e) ||
				e.Attempts != 1 || !strings.Contains(e.Message, words) {
				t.Errorf("%s: %v", words, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // the emulator's log rests half a millisecond more
	})
	synctest.Test(t, func(t *testing.T) { // an app's own token
		s, err := emulator.New(emutest.With(emulator.Options{Apps: 1, Days: 9,
			SharingTokens: map[string]string{secretToken: ""}}))
		if err != nil {
			t.Fatal(err)
		}
		for _, keys := range []*fixed{{tokens: []string{secretToken}}, {tokens: []string{"old", secretToken}},
			{tokens: []string{"wrong"}}, nil} {
			c, _ := openSharing(t, play(shared200), func(o *Options) {
				o.HTTP, o.SharingAuth = s.Client(), RecordAuth{}
				if keys != nil {
					o.SharingAuth.Key = keys
				}
			})
			err := share(t.Context(), c, Sharing{AppToken: s.Apps()[0].Token, IDFA: idfa, Choice: "enable"})
			if known := keys != nil && keys.tokens[0] == secretToken; (err == nil) != known || !known &&
				!errors.Is(err, ErrAuth) {
				t.Errorf("%v: %v", keys, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // the emulator's log rests half a millisecond more
	})
}

// BenchmarkShareThirdPartyEmulator is BenchmarkShareThirdParty with the emulator for a receiver.
func BenchmarkShareThirdPartyEmulator(b *testing.B) {
	s, at := loopback(b, emulator.Options{})
	c, err := New(Options{S2SURL: at, Options: transport.Options{Rate: 1e6, InFlight: 64}})
	if err != nil {
		b.Fatal(err)
	}
	app := s.Apps()[0].Token
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := share(b.Context(), c, Sharing{AppToken: app,
					GPSAdID:  fmt.Sprintf("38400000-8cf0-11bd-b23e-%012x", n),
					Partners: `{"all":{"all":false},"facebook":{"install":true}}`}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.StopTimer()
	if got := s.Sharing().Statuses[http.StatusOK]; got != b.N {
		b.Errorf("%d records arrived, want %d", got, b.N)
	}
}
