package table

import (
	"context"
	"errors"
	"io"
)

// Cells reads one complete CSV answer with its header. It calls use with the cells of each row that
// belongs to a partition of the options, as texts in the order of the columns. It cuts the answer
// as a converter does, and parses no value but the date. A column without a source has blank cells.
// The slice is used again for the next row.
func Cells(ctx context.Context, r io.Reader, o Options, use func(cells []string) error) error {
	c, err := New(o)
	if err != nil {
		return err
	}
	a := &c.csv
	a.columns, a.route, a.byDay, a.times = c.columns, c.route, c.byDay, make([]timeCache, len(c.columns))
	cells := make([]string, len(c.columns))
	_, err = a.eachBlock(ctx, r, c.headerColumns, func(*block) error { return a.each(cells, use) })
	return err
}

// each calls use with the rows of the current block.
func (a *csvRows) each(cells []string, use func([]string) error) error {
	days := make([]int64, a.block.rows)
	if a.route != NoRoute && !a.periods(days) {
		return errors.New("a row's date can't be read")
	}
	for row, day := range days {
		if _, wanted := a.byDay[day]; !wanted && a.route != NoRoute {
			continue
		}
		for i := range cells {
			cells[i] = ""
			if at := a.places[i]; at >= 0 {
				cells[i] = string(a.block.text(row, at))
			}
		}
		if err := use(cells); err != nil {
			return err
		}
	}
	return nil
}
