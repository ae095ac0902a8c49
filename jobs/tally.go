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

// A FileError says which of a unit's files failed, or wasn't begun. A unit joins those of its files.
type FileError struct {
	File string
	Err  error
}

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// byFile gives the errors of a unit by its files, or else its one error under the unit's own name.
func byFile(unit string, err error) []*FileError {
	if err == nil {
		return nil
	}
	var one *FileError
	joined, several := err.(interface{ Unwrap() []error }) //nolint:errorlint // what was joined is wanted, not what is below
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

// A tally is a result that several goroutines add to.
type tally struct {
	*ledger.Result
	mu      sync.Mutex
	start   time.Time
	planned int                // windows, with those that came to light later
	deny    context.CancelFunc // ends the job: going on would only repeat the refusal
	over    bool               // deny was called
}

// expect counts windows that the job has to do, and gives how many those are by now.
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
	return t.over
}

func (t *tally) add(o ledger.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Outcome.Add(o)
	t.Took = time.Since(t.start)
}

// note keeps how long a unit took, and whether it ended well. One that another run holds wasn't begun.
func (t task) note(begun time.Time, out ledger.Outcome, err error) {
	var held *ledger.HeldError
	if errors.As(err, &held) {
		return
	}
	n := ledger.TimingOf(terminal.Line(t.unit.Name), begun, time.Since(begun), out)
	n.Stopped = err != nil && t.ctx.Err() != nil
	n.Failed = err != nil && !n.Stopped
	t.res.mu.Lock()
	defer t.res.mu.Unlock()
	t.res.Timings = append(t.res.Timings, n)
}

// end ends the step of a unit, and counts what it brought. One that another run holds wasn't begun, and is no failure.
func (t task) end(ctx context.Context, about step.Step, out ledger.Outcome, err error) {
	var held *ledger.HeldError
	if errors.As(err, &held) {
		about.Set(attribute.Bool("reportferry.held", true))
		err = nil
	}
	step.Count(ctx, step.Rows, out.Rows)
	step.Count(ctx, step.Bytes, out.CSVBytes, attribute.String("direction", "in"))
	step.Count(ctx, step.Bytes, out.ParquetBytes, attribute.String("direction", "out"))
	about.Set(attribute.String("reportferry.unit", t.unit.Name), attribute.Int("reportferry.partitions", len(t.unit.Due)), attribute.Int64("reportferry.rows", out.Rows),
		attribute.Int("reportferry.failed", out.Failed), attribute.Int("reportferry.unreconciled", out.Unreconciled))
	about.End(err)
}

// end ends the step of a job when its last unit was over, though others may have gone on.
func (t *tally) end(about step.Step, job Job) {
	about.Set(attribute.String("job.name", job.Name), attribute.Int("reportferry.windows", t.Outcome.Windows), attribute.Int64("reportferry.rows", t.Outcome.Rows),
		attribute.Int("reportferry.failed", t.Outcome.Failed), attribute.Int("reportferry.left", t.Left), attribute.Bool("reportferry.stopped", t.Stopped))
	about.EndAt(t.start.Add(t.Took), errors.Join(t.Errs...))
}

// stop counts a unit that wasn't begun, or not finished, because the run was stopped. A job that was denied leaves
// nothing to count: the refusal has been noted.
func (t *tally) stop(windows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.Left += windows
		t.Stopped = true
	}
}

// leave counts a unit that there was no time for, and tells whether it is the first.
func (t *tally) leave(windows int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.Left == 0
	t.Left += windows
	return first
}

// fail notes that a unit failed, or the plan when there is no unit. An error that ends the job is noted once: for the
// others that met it at the same time the answer is false.
func (t *tally) fail(unit string, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := Denied(err) || errors.Is(err, ErrStop)
	if over && t.over {
		return false
	}
	t.Errs = append(t.Errs, err)
	t.Failures = append(t.Failures, ledger.Failure{Unit: terminal.Line(unit), Error: cut(terminal.Text(err.Error()))})
	if over {
		t.over = true
		t.deny()
	}
	return true
}

// cut bounds an error text that is kept: a service may answer with a page of HTML, for hundreds of units.
func cut(text string) string {
	const longest = 500
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
