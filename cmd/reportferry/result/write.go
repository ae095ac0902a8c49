package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// readTime is how long the ledger may take to say what a run has left, which may have been stopped.
const readTime = 5 * time.Second

// An Output is where --result goes. A nil one is none.
type Output struct {
	path  string // - is out
	form  string
	out   io.Writer
	began time.Time
	run   *Run
}

// Open checks the flags of a command. A file's folder must be there, because a run that nobody learns of isn't worth beginning.
func Open(p *wire.Program, out io.Writer) (*Output, error) {
	if p.ResultForm != "json" && p.ResultForm != "kestra" {
		return nil, exit.Usage(fmt.Errorf("--result-format %q: want json or kestra", p.ResultForm))
	}
	if p.Result == "" && p.ResultForm == "json" {
		return nil, nil
	}
	o := &Output{path: p.Result, form: p.ResultForm, out: out, began: p.Began}
	if o.path == "" {
		o.path = "-" // Kestra reads standard output
	}
	if o.path == "-" {
		return o, nil
	}
	dir := filepath.Dir(o.path)
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return nil, exit.Usage(fmt.Errorf("--result %s: the folder %s isn't there; make it first", o.path, dir))
	}
	return o, nil
}

// Alone tells whether standard output is the result's, so that everything else goes elsewhere.
func (o *Output) Alone() bool { return o != nil && o.path == "-" && o.form == "json" }

// Listener takes what became of a run.
func (o *Output) Listener() wire.Listener {
	return wire.Listener{Ended: func(ctx context.Context, s *wire.Session, list []jobs.Job, plans []jobs.Planned, r ledger.Run) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
		defer cancel()
		run, err := Of(ctx, s, list, plans, r)
		o.run = &run
		return err
	}}
}

// Close writes the result, of a run that was never begun too. It gives the error that ends the process: err, or that of writing when
// all else was well.
func (o *Output) Close(err error) error {
	if o == nil {
		return err
	}
	if o.run == nil {
		none := None(o.began, err)
		o.run = &none
	}
	o.run.Exit = exit.CodeOf(err) // the end of the run may have failed after its own record was written
	o.run.Outcome = wording.Meaning(o.run.Exit)
	text, failed := o.text()
	if failed == nil {
		failed = o.put(text)
	}
	if failed != nil {
		failed = fmt.Errorf("--result %s: %w", o.path, failed)
	}
	if err == nil && failed != nil {
		return &exit.Error{Code: jobs.ExitFailed, Err: failed}
	}
	return errors.Join(err, failed)
}

func (o *Output) text() ([]byte, error) {
	if o.form == "kestra" {
		return kestra(*o.run)
	}
	text, err := json.Marshal(o.run)
	return append(text, '\n'), err
}

// put writes a file whole or not at all, so that who waits for it never reads a half of it.
func (o *Output) put(text []byte) error {
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
