package adjust

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An answer whose Date is far from this machine's clock is refused before it is read; one that is
// somewhat off is a warning.
func TestClock(t *testing.T) {
	dated := func(ahead time.Duration) reply {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			csv(w, r)
		}
	}
	for name, c := range map[string]struct {
		first   reply
		warns   bool
		refuses string
	}{
		"right":          {dated(0), false, ""},
		"a little off":   {dated(-4 * time.Minute), false, ""},
		"minutes behind": {dated(20 * time.Minute), true, ""},
		"minutes ahead":  {dated(-20 * time.Minute), true, ""},
		"20 days behind": {dated(20 * 24 * time.Hour), false, "this machine's 2000-01-01T00:00:00Z, 480h0m0s behind"},
		"1000 days ahead": {dated(-1000 * 24 * time.Hour), false,
			"this machine's 2000-01-01T00:00:00Z, 24000h0m0s ahead"},
		"no date that is one": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", "yesterday")
			csv(w, r)
		}, false, ""},
		"an old copy of a cache": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(-2*time.Hour).UTC().Format(http.TimeFormat))
			w.Header().Set("Age", "7200")
			csv(w, r)
		}, false, ""},
		"a day on the way": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
			rest(r, 4*time.Minute)
			csv(w, r)
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(c.first)
				var log strings.Builder
				cl, _ := open(t, s, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				for range 2 {
					_, _, err := fetch(t.Context(), cl, query())
					if c.refuses == "" && err != nil {
						t.Error(err)
					}
					if c.refuses != "" && (!errors.Is(err, ErrClock) || !strings.Contains(err.Error(), c.refuses)) {
						t.Errorf("got %v, want an error with %q", err, c.refuses)
					}
				}
				if c.refuses != "" && len(s.when()) != 2 {
					t.Errorf("%d requests, want one for each report: no retries", len(s.when()))
				}
				if n := strings.Count(log.String(), "clock"); n > 0 != c.warns || n > 1 {
					t.Errorf("%d warnings: %s", n, log.String())
				}
			})
		})
	}
}

// A record that was taken is taken, whatever the clock: it is a warning, once for all of them.
func TestClockOfRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := play(page(200, "text/plain", "OK", "Date", time.Now().AddDate(0, 0, 20).UTC().Format(http.TimeFormat)))
		client, _ := openSpend(t, s, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		for range 3 {
			if err := submit(t.Context(), client, record()); err != nil {
				t.Error(err)
			}
		}
		if n := strings.Count(log.String(), "480h0m0s behind"); n != 1 {
			t.Errorf("%d warnings: %s", n, log.String())
		}
	})
}
