package text

import (
	"fmt"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
)

// enoughUnits is how many units must be done before their rate is used to estimate the rest.
const enoughUnits = 3

// A jobBar is the bar of one job, with what it shows.
type jobBar struct {
	unit  string       // the word for one unit, such as window
	waits requestWaits // nil: what requests wait for is unknown
	began time.Time
	bar   *mpb.Bar

	mu          sync.Mutex // never held during a call of bar, because its goroutine locks mu to draw
	done, total int        // units
	rows        int64      // that the units have brought so far
	ended       time.Time  // when the last unit was done; zero: the job goes on
}

// step adds the units and rows of a step to the job, and moves its bar.
func (j *jobBar) step(s ProgressStep) {
	j.mu.Lock()
	j.total = max(j.total, s.Units)
	j.done += s.Done
	j.rows += s.Rows
	if j.ended = (time.Time{}); j.done >= j.total {
		j.ended = time.Now()
	}
	total := j.total
	j.mu.Unlock()
	j.bar.SetTotal(int64(total), false)
	j.bar.IncrBy(s.Done)
}

// end stops the clock of the job.
func (j *jobBar) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended.IsZero() {
		j.ended = time.Now()
	}
}

// text returns what is shown right of the bar. It is 51 columns wide, so that the line fits into
// 80.
func (j *jobBar) text(now time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	unit := j.unit
	if j.total != 1 {
		unit += "s"
	}
	last, when := Count(j.rows)+" rows", ""
	if j.ended.IsZero() {
		what, longest := longestWait(j.waits)
		if what != "" {
			last = what
		}
		when = "ETA " + j.timeLeft(now, longest)
	} else {
		when = "in " + shortDuration(j.ended.Sub(j.began).Round(time.Second))
	}
	return fmt.Sprintf("%-15s %-10s %-24s", fmt.Sprintf("%d/%d %s", j.done, j.total, unit), when,
		runewidth.Truncate(last, 24, "…"))
}

// timeLeft returns how long the remaining units take at the rate so far, or the known wait if that
// is longer. It returns a dash while too few units are done.
func (j *jobBar) timeLeft(now time.Time, wait time.Duration) string {
	if j.done < enoughUnits {
		return "–"
	}
	rest := time.Duration(float64(now.Sub(j.began)) / float64(j.done) * float64(j.total-j.done))
	return shortDuration(max(rest, wait))
}

// shortDuration returns a duration in at most six columns. It is rounded up to a second; of a
// longer one, the smaller units are cut off.
func shortDuration(d time.Duration) string {
	switch s := int64((d + time.Second - 1) / time.Second); {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 60*60:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 100*60*60:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd", s/86400)
	}
}

// wholeSeconds returns a wait in whole seconds, rounded up.
func wholeSeconds(d time.Duration) string { return fmt.Sprintf("%d s", (d+time.Second-1)/time.Second) }
