package jobs

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/terminal"
)

// A Result is what came of one job.
type Result struct {
	Job      string        `json:"job"`
	Table    string        `json:"table"`
	Outcome  Outcome       `json:"outcome"`
	Left     int           `json:"left,omitempty"`    // units for the next run: the deadline was near, or the run was stopped
	Stopped  bool          `json:"stopped,omitempty"` // before the job was over, or begun
	Rest     Rest          `json:"rest,omitzero"`
	Took     time.Duration `json:"took_ns"`
	Errs     []error       `json:"-"`
	Failures []Failure     `json:"failures,omitempty"`
}

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

// A Failure is what the ledger keeps of an error.
type Failure struct {
	Unit  string `json:"unit,omitempty"` // which failed, or which file; empty: the job couldn't be planned
	Error string `json:"error"`          // its first 500 bytes, as a terminal may show them
}

// Succeeded tells whether the job did all that was due and was its own to do.
func (r Result) Succeeded() bool {
	got := r.Outcome.Held == 0 || r.Outcome.Held < r.Outcome.Windows
	return len(r.Failures) == 0 && len(r.Errs) == 0 && r.Left == 0 && !r.Stopped && r.Outcome.Waiting == 0 && got
}

// A tally is a result that several goroutines add to.
type tally struct {
	*Result
	mu    sync.Mutex
	start time.Time
	deny  context.CancelFunc // ends the job: going on would only repeat the refusal
	over  bool               // deny was called
}

// ended tells whether the job goes no further.
func (t *tally) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

func (t *tally) add(o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Outcome.Add(o)
	t.Took = time.Since(t.start)
}

// stop counts a unit that wasn't begun, or not finished, because the run was stopped. Of a job that was denied, the refusal
// says enough.
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

// fail notes that a unit failed, or, without one, the plan. What ends the job is noted once, and false is given when that
// has been done: other units may have met the same at the same time.
func (t *tally) fail(unit string, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := Denied(err) || errors.Is(err, ErrStop)
	if over && t.over {
		return false
	}
	t.Errs = append(t.Errs, err)
	t.Failures = append(t.Failures, Failure{Unit: terminal.Line(unit), Error: cut(terminal.Text(err.Error()))})
	if over {
		t.over = true
		t.deny()
	}
	return true
}

// cut bounds a text that is kept: a service may answer with a page of HTML, for hundreds of units.
func cut(text string) string {
	const longest = 500
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
