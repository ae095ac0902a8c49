package jobs

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A FileError says which of a unit's files failed, or wasn't begun. A unit's error joins those of
// its files.
type FileError struct {
	File string
	Err  error
}

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// byFile returns the errors of a unit by its files, or its one error under the unit's own name.
func byFile(unit string, err error) []*FileError {
	if err == nil {
		return nil
	}
	var one *FileError
	joined, several := err.(interface{ Unwrap() []error }) //nolint:errorlint // joined errors, not those below
	switch {
	case !errors.As(err, &one):
		return []*FileError{{unit, err}}
	case !several:
		return []*FileError{one}
	}
	var list []*FileError
	for _, e := range joined.Unwrap() {
		list = append(list, byFile(unit, e)...)
	}
	return list
}

// A tally is a job's result that several goroutines add to.
type tally struct {
	*ledger.Result
	mu      sync.Mutex
	start   time.Time
	begun   bool // one of its units was begun
	planned int  // windows, with those that came to light later
	// Cancels the job's context, when going on would only repeat a refusal.
	endJob   context.CancelFunc
	jobEnded bool // endJob was called
}

// beginUnit returns the time at which a unit begins. The time that a job takes is counted from its
// first unit on.
func (t *tally) beginUnit() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if !t.begun {
		t.begun, t.start = true, now
	}
	return now
}

// expect adds windows that the job has to do, and returns how many there are by now.
func (t *tally) expect(windows int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.planned += windows
	return t.planned
}

// ended tells whether the job goes no further.
func (t *tally) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobEnded
}

// add adds what came of a unit, and sets the time that the job has taken so far.
func (t *tally) add(o ledger.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Outcome.Add(o)
	t.Took = time.Since(t.start)
}

// note keeps how long a unit took, and whether it ended well.
func (t *tally) note(unit string, begun time.Time, out ledger.Outcome, err error, stopped bool) {
	n := ledger.TimingOf(terminal.Line(unit), begun, time.Since(begun), out)
	n.Stopped = err != nil && stopped
	n.Failed = err != nil && !n.Stopped
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Timings = append(t.Timings, n)
}

// end ends the step of a job at the time when its last unit was over, though other jobs may have
// gone on.
func (t *tally) end(about step.Step, job Job) {
	about.Set(attribute.String("job.name", job.Name), attribute.Int("reportferry.windows", t.Outcome.Windows),
		attribute.Int64("reportferry.rows", t.Outcome.Rows),
		attribute.Int("reportferry.failed", t.Outcome.Failed), attribute.Int("reportferry.left", t.Left),
		attribute.Bool("reportferry.stopped", t.Stopped))
	about.EndAt(t.start.Add(t.Took), errors.Join(t.Errs...))
}

// stop counts the windows of a unit that wasn't begun, or not finished, because the run was
// stopped. A job that was denied leaves nothing to count: the refusal has been noted.
func (t *tally) stop(windows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.jobEnded {
		t.Left += windows
		t.Stopped = true
	}
}

// leave counts the windows of a unit that there was no time for, and tells whether it is the first
// such unit.
func (t *tally) leave(windows int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.Left == 0
	t.Left += windows
	return first
}

// fail notes that a unit failed or, with an empty name, the plan or the end of the job. An error
// that ends the job is noted once: for other units that met it at the same time fail returns false.
func (t *tally) fail(unit string, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := Denied(err) || errors.Is(err, ErrStop)
	if over && t.jobEnded {
		return false
	}
	t.Errs = append(t.Errs, err)
	t.Failures = append(t.Failures, ledger.Failure{Unit: terminal.Line(unit), Error: cut(terminal.Text(err.Error()))})
	if over {
		t.jobEnded = true
		t.endJob()
	}
	return true
}

// cut bounds an error text that is kept: a service may answer with a page of HTML, for hundreds of
// units.
func cut(text string) string {
	const longest = 500
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
