package spend

import (
	"context"
	"errors"
	"io"
)

// A line is what came of one row of a file.
type line struct {
	row     int64 // from 1; names and blank lines don't count
	record  Record
	refused *Refusal // not nil: there is no record
	cells   func() []string
}

// read reads a file once, row by row; l is each's for the call only. What it returns stops the file: an error of each,
// of the file's store, or of a file that can't be cut into rows.
func read(ctx context.Context, in io.Reader, c *checker, dir string, names func([]string), each func(l *line) error) error {
	r, done, err := openRows(in, c.mapping, dir)
	if err != nil {
		return err
	}
	defer done()
	names(r.header())
	var v values
	l := line{cells: r.cells}
	for {
		err := r.next(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		l.row++
		if l.refused = nil; err != nil && !errors.As(err, &l.refused) {
			return err
		}
		if l.refused == nil {
			l.record, l.refused = c.record(&v)
		}
		if err := each(&l); err != nil {
			return err
		}
		if l.row%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
