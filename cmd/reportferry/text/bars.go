package text

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// requestWaits reports what requests wait for at the moment: the longest wait for the limiter, and
// the longest back-off with its reason.
type requestWaits interface {
	Now() (limiter, backoff time.Duration, why string)
}

// Bars are the bars of one run. They may be moved by several goroutines.
type Bars struct {
	all *mpb.Progress

	mu   sync.Mutex // guards jobs; drawing never locks it
	jobs map[string]*jobBar
}

// NewBars returns bars that are drawn on a terminal; more are options for tests.
func NewBars(w io.Writer, more ...mpb.ContainerOption) *Bars {
	return &Bars{all: mpb.New(append([]mpb.ContainerOption{mpb.WithOutput(w), mpb.WithWidth(32)}, more...)...),
		jobs: map[string]*jobBar{}}
}

// Write writes lines above the bars.
func (b *Bars) Write(p []byte) (int, error) { return b.all.Write(p) }

// A ProgressStep is progress of a job: Done further units are over, of the Units that are known by
// now, and they brought Rows rows.
type ProgressStep struct {
	Job, Unit   string // Unit is the word for one unit, such as window
	Done, Units int
	Rows        int64
	Waits       requestWaits // nil: what requests wait for is unknown
}

// Show moves the bar of a job. It adds the bar at the first step that has units.
func (b *Bars) Show(s ProgressStep) {
	b.mu.Lock()
	j := b.jobs[s.Job]
	if j == nil && s.Units > 0 {
		j = &jobBar{unit: s.Unit, waits: s.Waits, began: time.Now()}
		// The total is 0 here, because mpb would take a bar with a total for complete before
		// further units become known.
		j.bar = b.all.AddBar(0,
			mpb.PrependDecorators(decor.Name(runewidth.Truncate(s.Job, 18, "…"), decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return j.text(time.Now()) })))
		b.jobs[s.Job] = j
	}
	b.mu.Unlock()
	if j != nil {
		j.step(s)
	}
}

// Close stops the bars and leaves them on the terminal as they are.
func (b *Bars) Close() {
	b.mu.Lock()
	for _, j := range b.jobs {
		j.end()
		j.bar.Abort(false)
	}
	b.mu.Unlock()
	b.all.Wait()
}

// longestWait returns the longest wait, and words for it if it is at least half a second.
func longestWait(w requestWaits) (text string, longest time.Duration) {
	if w == nil {
		return "", 0
	}
	limiter, backoff, why := w.Now()
	longest = max(limiter, backoff)
	switch {
	case backoff >= time.Second/2:
		return fmt.Sprintf("back-off %s: %s", wholeSeconds(backoff), why), longest
	case limiter >= time.Second/2:
		return "limiter " + wholeSeconds(limiter), longest
	}
	return "", longest
}
