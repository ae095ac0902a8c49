package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/wording"
)

// A ResultOutput is the listener that writes the result of a run to the place that --result names.
type ResultOutput struct {
	wire.NoListener
	path  string    // "-" stands for out
	form  string    // json or kestra
	out   io.Writer // standard output
	began time.Time // start of the process
	run   *Result   // nil until a run has ended
}

// OpenResult returns the output that a command's flags ask for, or nil when they ask for none. The
// folder of a result file must exist, because a run whose result can't be read isn't worth
// beginning.
func OpenResult(p *wire.Program, out io.Writer) (*ResultOutput, error) {
	if p.ResultForm != "json" && p.ResultForm != "kestra" {
		return nil, text.UsageError(fmt.Errorf("--result-format %q: want json or kestra", p.ResultForm))
	}
	if p.Result == "" && p.ResultForm == "json" {
		return nil, nil
	}
	o := &ResultOutput{path: p.Result, form: p.ResultForm, out: out, began: p.Began}
	if o.path == "" {
		o.path = "-" // Kestra reads standard output
	}
	if o.path == "-" {
		return o, nil
	}
	dir := filepath.Dir(o.path)
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return nil, text.UsageError(fmt.Errorf("--result %s: the folder %s isn't there; make it first", o.path, dir))
	}
	return o, nil
}

// Alone reports whether standard output is reserved for the result, so that everything else is
// printed elsewhere.
func (o *ResultOutput) Alone() bool { return o != nil && o.path == "-" && o.form == "json" }

// Ended keeps what became of a run until Closed writes it.
func (o *ResultOutput) Ended(ctx context.Context, s *wire.RunInfo) error {
	run, err := resultOf(ctx, s)
	o.run = &run
	return err
}

// Closed writes the result, also when no run was begun.
func (o *ResultOutput) Closed(_ context.Context, code int, err error) error {
	if o.run == nil {
		none := noResult(o.began, err)
		o.run = &none
	}
	o.run.Exit = code // the end of the run may have failed after its own record was written
	o.run.Outcome = wording.Meaning(o.run.Exit)
	text, err := o.text()
	if err == nil {
		err = o.put(text)
	}
	if err != nil {
		return fmt.Errorf("--result %s: %w", o.path, err)
	}
	return nil
}

// text returns the result in the form that was asked for.
func (o *ResultOutput) text() ([]byte, error) {
	if o.form == "kestra" {
		return kestraLines(*o.run)
	}
	text, err := json.Marshal(o.run)
	return append(text, '\n'), err
}

// put writes the text to standard output, or to the file: whole or not at all, so that a program
// that waits for the file never reads half of it.
func (o *ResultOutput) put(text []byte) error {
	if o.path == "-" {
		_, err := o.out.Write(text)
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(o.path), "."+filepath.Base(o.path)+"-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close()) //nolint:gosec // it is for others to read
	if err == nil {
		err = os.Rename(temp.Name(), o.path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
