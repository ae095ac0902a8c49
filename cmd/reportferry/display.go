package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A display shows a run while it goes on: bars on a terminal, plain lines elsewhere, JSON for
// machines.
type display struct {
	log  *slog.Logger
	out  io.Writer // receives the closing table
	err  io.Writer // receives progress
	json bool      // write records of the log, and nothing for people
	mute bool      // --quiet: show neither progress nor successes

	// configFlag is appended to suggested commands, such as " --config FILE"; empty for the
	// default.
	configFlag string

	// units has the word for each job's units, such as file. Jobs without an entry have windows of
	// partitions.
	units map[string]string
	waits func(job string) *adjust.Waits // returns what a job's requests wait for now; nil if the job sends none

	accounts map[string]string // the account of each job that has one, by the job's name

	mu   sync.Mutex
	bars *text.Bars // nil where no bars are drawn
	jobs map[string]*jobProgress
}

// A jobProgress sums the outcomes of one job's finished units.
type jobProgress struct {
	done int // windows or other units that are over
	sum  ledger.Outcome
}

// newDisplay returns a display that shows a run as bars on a terminal, as plain lines, or, with
// --log-format json, in the log alone.
func newDisplay(p *wire.Program, stdout, stderr io.Writer) *display {
	d := &display{out: stdout, err: stderr, json: p.JSON(), mute: p.Quiet, configFlag: p.Again(),
		jobs: map[string]*jobProgress{}}
	defer func() { wire.Standard(d.log) }() // execute restores the logger
	if d.json {
		d.log = p.Logger(stdout)
		return d
	}
	if kind, _ := p.LookupEnv("TERM"); terminal.Draws(stderr) && kind != "dumb" && !p.NoProgress && !p.Quiet {
		d.bars = text.NewBars(terminal.Raw(stderr))
		d.err = terminal.NewWriter(d.bars) // a line of the log must not cut through a bar
	}
	d.log = p.Logger(d.err)
	return d
}

// A stampedWriter puts the time and the end of the run's ID before each line, for a process that
// does many runs.
type stampedWriter struct {
	to io.Writer

	mu      sync.Mutex
	run     string // ID of the run that the next lines are about
	midLine bool   // the last write ended in the middle of a line
}

// Stamp returns the text to put before a line.
func (s *stampedWriter) Stamp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stamp()
}

// stamp is Stamp for callers that hold the lock.
func (s *stampedWriter) stamp() string {
	return time.Now().Format(time.TimeOnly) + " " + s.run[strings.LastIndexByte(s.run, '-')+1:] + " "
}

// Write implements io.Writer, with the stamp before each line that begins in p.
func (s *stampedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		if !s.midLine {
			b.WriteString(s.stamp())
		}
		b.WriteString(line)
		s.midLine = !strings.HasSuffix(line, "\n")
	}
	_, err := io.WriteString(s.to, b.String())
	return len(p), err
}

// beginRun sets the run whose ID stands before the next lines, in a log of many runs, and says that
// it begins.
func (d *display) beginRun(run string) {
	for _, w := range []io.Writer{d.out, d.err} {
		if s, is := w.(*stampedWriter); is {
			s.mu.Lock()
			s.run = run
			s.mu.Unlock()
		}
	}
	if _, is := d.err.(*stampedWriter); is && !d.mute && !d.json {
		fmt.Fprintf(d.err, "run %s begins\n", run)
	}
}

// messages returns the writer for what jobs say to people besides the log.
func (d *display) messages() io.Writer {
	if d.mute {
		return io.Discard
	}
	return d.err
}

// progress shows that a job was planned or that a unit is over. The runner calls it from several
// goroutines.
func (d *display) progress(p jobs.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.jobs[p.Job]
	if j == nil {
		j = &jobProgress{}
		d.jobs[p.Job] = j
	}
	if p.Result != nil {
		j.done += p.Result.Windows
		j.sum.Add(*p.Result)
	}
	switch {
	case d.json:
		d.logProgress(p, j)
	case d.mute:
	case d.bars != nil:
		d.bar(p)
	case p.Result != nil:
		d.line(p, j)
	}
}

// logProgress logs what bars and lines show to people.
func (d *display) logProgress(p jobs.Progress, j *jobProgress) {
	if p.Result == nil {
		d.log.Info("planned", "job", p.Job, "windows", p.Units)
		return
	}
	d.log.Info("window over", "job", p.Job, "window", p.Unit, "rows", p.Result.Rows, "written", p.Result.Written,
		"unchanged", p.Result.Unchanged, "empty", p.Result.Empty, "failed", p.Result.Failed, "held_back",
		p.Result.HeldBack+p.Result.StillHeld, "unreconciled", p.Result.Unreconciled, "compared", p.Result.Compared,
		"moved", p.Result.Moved+p.Result.Drifted, "done", j.done, "of", p.Units)
}

// line writes one line for people about a unit that is over.
func (d *display) line(p jobs.Progress, j *jobProgress) {
	unit := p.Unit
	if d.units[p.Job] == "" {
		unit = "window " + unit
	}
	fmt.Fprintf(d.err, "%s  %s  %d/%d  %s\n", p.Job, terminal.Line(unit), j.done, p.Units, lineOf(*p.Result, p.Err))
}

// lineOf sums up the outcome of one unit in half a line.
func lineOf(o ledger.Outcome, err error) string {
	if o.Held > 0 {
		return "held by another run"
	}
	var parts []string
	for _, c := range []struct {
		label string
		n     int
	}{{"written", o.Written}, {"unchanged", o.Unchanged}, {"not moved", o.Probed}, {"empty", o.Empty}, {"kept", o.Kept},
		{"failed", o.Failed}, {"held back", o.HeldBack + o.StillHeld}, {"differing", o.Unreconciled},
		{"moved though final", o.Moved}, {"compared", o.Compared}, {"moved, and left", o.Drifted},
		{"not compared", o.Unseen}, {"rows not taken", int(o.NotTaken())}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", c.label, c.n))
		}
	}
	switch {
	case len(parts) == 0 && errors.Is(err, context.Canceled):
		return "stopped"
	case len(parts) == 0 && err != nil:
		return "failed"
	case o.Waiting > 0 && len(parts) == 0:
		return "waiting, due " + see.DueAt(o.Due)
	case len(parts) == 0:
		return "done by another run"
	}
	if o.Compared+o.Unseen > 0 {
		return strings.Join(parts, ", ") // a comparison fetches no rows
	}
	return strings.Join(parts, ", ") + ", rows " + text.Count(o.Rows)
}

// bar moves the bar of a job.
func (d *display) bar(p jobs.Progress) {
	step := text.ProgressStep{Job: p.Job, Unit: cmp.Or(d.units[p.Job], "window"), Units: p.Units}
	if p.Result != nil {
		step.Done, step.Rows = p.Result.Windows, p.Result.Rows
	}
	if w := d.waits(p.Job); w != nil {
		step.Waits = w
	}
	d.bars.Show(step)
}
