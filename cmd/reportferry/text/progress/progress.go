// Package progress draws a bar for each job of a run on a terminal. Without it, whoever waits would
// see that something is done, and neither how long the rest takes nor what the run is waiting for.
//
//	campaigns_daily [==>---] 12/40 windows   ETA 1m30s  back-off 12 s: 429
//
// The last column is what the job waits for, and else how many rows it has got.
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

// Waits tells what requests wait for at the moment: the longest wait for the limiter, and the
// longest back-off with its reason.
type Waits interface {
	Now() (limiter, backoff time.Duration, why string)
}

// Bars are the bars of one run. They may be moved by several goroutines.
type Bars struct {
	all *mpb.Progress

	mu   sync.Mutex // drawing never takes it
	jobs map[string]*job
}

// New draws bars on a terminal; more are options for tests.
func New(w io.Writer, more ...mpb.ContainerOption) *Bars {
	return &Bars{all: mpb.New(append([]mpb.ContainerOption{mpb.WithOutput(w), mpb.WithWidth(32)}, more...)...),
		jobs: map[string]*job{}}
}

// Write writes lines above the bars.
func (b *Bars) Write(p []byte) (int, error) { return b.all.Write(p) }

// A Step is where a job stands: Done more units are over, of all that there are by now, and Rows
// came with them.
type Step struct {
	Job, Unit   string // Unit is what to call one
	Done, Units int
	Rows        int64
	Waits       Waits // nil: nothing is known of it
}

// Show moves the bar of a job, and adds it when the job has units.
func (b *Bars) Show(s Step) {
	b.mu.Lock()
	j := b.jobs[s.Job]
	if j == nil && s.Units > 0 {
		j = &job{unit: s.Unit, waits: s.Waits, began: time.Now()}
		// Of a bar that is given a total here, mpb would see the end before further units come to
		// light.
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

// Close leaves the bars as they are.
func (b *Bars) Close() {
	b.mu.Lock()
	for _, j := range b.jobs {
		j.end()
		j.bar.Abort(false)
	}
	b.mu.Unlock()
	b.all.Wait()
}

// waiting says what is waited for, of waits that are worth a word.
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
