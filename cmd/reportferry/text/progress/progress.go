// Package progress draws a bar for each job of a run on a terminal. Without it, somebody who waits
// would see that something is done, but neither how long the rest takes nor what the run is waiting
// for.
//
//	campaigns_daily [==>---] 12/40 windows   ETA 1m30s  back-off 12 s: 429
//
// The last column shows what the job waits for or, when it waits for nothing, how many rows it has
// fetched.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Waits reports what requests wait for at the moment: the longest wait for the limiter, and the
// longest back-off with its reason.
type Waits interface {
	Now() (limiter, backoff time.Duration, why string)
}

// Bars are the bars of one run. They may be moved by several goroutines.
type Bars struct {
	all *mpb.Progress

	mu   sync.Mutex // guards jobs; drawing never locks it
	jobs map[string]*job
}

// New returns bars that are drawn on a terminal; more are options for tests.
func New(w io.Writer, more ...mpb.ContainerOption) *Bars {
	return &Bars{all: mpb.New(append([]mpb.ContainerOption{mpb.WithOutput(w), mpb.WithWidth(32)}, more...)...),
		jobs: map[string]*job{}}
}

// Write writes lines above the bars.
func (b *Bars) Write(p []byte) (int, error) { return b.all.Write(p) }

// A Step is progress of a job: Done further units are over, of the Units that are known by now, and
// they brought Rows rows.
type Step struct {
	Job, Unit   string // Unit is the word for one unit, such as window
	Done, Units int
	Rows        int64
	Waits       Waits // nil: what requests wait for is unknown
}

// Show moves the bar of a job. It adds the bar at the first step that has units.
func (b *Bars) Show(s Step) {
	b.mu.Lock()
	j := b.jobs[s.Job]
	if j == nil && s.Units > 0 {
		j = &job{unit: s.Unit, waits: s.Waits, began: time.Now()}
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

// waiting returns the longest wait, and words for it if it is at least half a second.
func waiting(w Waits) (text string, longest time.Duration) {
	if w == nil {
		return "", 0
	}
	limiter, backoff, why := w.Now()
	longest = max(limiter, backoff)
	switch {
	case backoff >= time.Second/2:
		return fmt.Sprintf("back-off %s: %s", seconds(backoff), why), longest
	case limiter >= time.Second/2:
		return "limiter " + seconds(limiter), longest
	}
	return "", longest
}
