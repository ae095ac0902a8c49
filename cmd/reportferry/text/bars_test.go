package text

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
)

// fixedWaits are those of a test.
type fixedWaits struct {
	limiter, backoff time.Duration
	why              string
}

func (w *fixedWaits) Now() (limiter, backoff time.Duration, why string) {
	return w.limiter, w.backoff, w.why
}

// What stands beside a bar, as a job goes on: nothing is promised before enough is known, and no
// end before a wait is over.
func TestBarText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fixedWaits{}
		b := NewBars(io.Discard, mpb.WithManualRefresh(make(chan any)))
		defer b.Close()
		step := func(done, units int) {
			b.Show(ProgressStep{Job: "daily", Unit: "window", Done: done, Units: units, Rows: int64(done) * 1000,
				Waits: w})
		}
		step(0, 0)
		if b.jobs["daily"] != nil {
			t.Error("a bar of nothing")
		}
		for i, s := range []struct {
			after       time.Duration
			done, units int
			now         fixedWaits
			want        string
		}{
			{0, 0, 40, fixedWaits{}, "0/40 windows    ETA –      0 rows"},
			{10 * time.Second, 2, 40, fixedWaits{limiter: 3100 * time.Millisecond},
				"2/40 windows    ETA –      limiter 4 s"},
			{10 * time.Second, 2, 40, fixedWaits{limiter: 400 * time.Millisecond},
				"4/40 windows    ETA 3m00s  4,000 rows"},
			{20 * time.Second, 0, 40, fixedWaits{limiter: time.Second, backoff: 12 * time.Second, why: "429"},
				"4/40 windows    ETA 6m00s  back-off 12 s: 429"},
			{0, 36, 41, fixedWaits{backoff: 59 * time.Second, why: "no answer"},
				"40/41 windows   ETA 59s    back-off 59 s: no answer"},
			{20 * time.Second, 1, 41, fixedWaits{backoff: time.Second, why: "502"},
				"41/41 windows   in 1m00s   41,000 rows"},
			{time.Hour, 0, 43, fixedWaits{}, "41/43 windows   ETA 2m59s  41,000 rows"}, // two came to light
			{0, 2, 43, fixedWaits{}, "43/43 windows   in 1h01m   43,000 rows"},
		} {
			time.Sleep(s.after)
			*w = s.now
			step(s.done, s.units)
			got := b.jobs["daily"].text(time.Now())
			if strings.TrimRight(got, " ") != s.want || utf8.RuneCountInString(got) != 51 {
				t.Errorf("%d: %q, want %q", i, got, s.want)
			}
		}
	})
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Millisecond: "1s", 59*time.Second + 1: "1m00s", 61 * time.Minute: "1h01m",
		99 * time.Hour: "99h00m", 1000 * time.Hour: "41d",
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// Many steps at once, while bars are drawn as fast as can be, neither block each other nor get
// lost; without colour.
func TestManyBarsAtOnce(t *testing.T) {
	var out bytes.Buffer
	b := NewBars(&out, mpb.WithAutoRefresh(), mpb.WithWidth(80), mpb.WithRefreshRate(time.Millisecond))
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 1000 {
				b.Show(ProgressStep{Job: fmt.Sprint("a_job_with_a_long_name_", n%4), Unit: "file", Done: 1, Units: 2000,
					Rows: 500})
			}
		})
	}
	all.Go(func() { fmt.Fprintln(b, "12:00:00 warn a line") })
	all.Wait()
	b.Close()
	text := out.String()
	if n := strings.Count(text, "2000/2000 files"); n < 4 || strings.Count(text, "12:00:00 warn a line\n") != 1 {
		t.Errorf("ends with %s", text[max(0, len(text)-600):])
	}
	if regexp.MustCompile(`\x1b\[[0-9;]*m`).MatchString(text) {
		t.Error("colours")
	}
	for line := range strings.Lines(text) {
		if plain := regexp.MustCompile(`\x1b\[[0-9]*[A-Z]`).ReplaceAllString(line,
			""); utf8.RuneCountInString(plain) > 81 {
			t.Errorf("%q is wider than a terminal", plain)
		}
	}
}
