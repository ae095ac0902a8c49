package table

import (
	"context"
	"errors"
	"io"

	"github.com/reportferry/reportferry/internal/catalog"
)

// csvRows are the rows of a CSV answer, block by block: the state of a converter while it reads CSV.
type csvRows struct {
	scanner scanner
	columns []Column
	route   int
	byDay   map[int64]int
	places  []int       // by column: its cell in a row, -1 for one that wasn't asked for
	times   []timeCache // by column
	routing timeCache
	block   *block // at work
}

// Read takes one complete CSV answer with its header, and may be called again for an answer with other rows. An error is a
// HeaderError, a CellError, ErrEmpty or of the reader, the context or the disk; it drops what earlier calls took, too, and
// Abort must come before the next one.
func (c *Converter) Read(ctx context.Context, r io.Reader) error {
	return c.attempt(ctx, "decode a CSV answer", func() error { return c.read(ctx, r) })
}

func (c *Converter) read(ctx context.Context, r io.Reader) error {
	a := &c.csv
	if a.times == nil {
		a.columns, a.route, a.byDay, a.times = c.columns, c.route, c.byDay, make([]timeCache, len(c.columns))
	}
	a.scanner = scanner{ctx: ctx, r: r, buffer: a.scanner.buffer, block: a.scanner.block}
	header, err := a.scanner.header()
	if err != nil {
		return err
	}
	if a.places, err = matchHeader(header, c.columns); err != nil {
		return err
	}
	for {
		b, broken := a.scanner.next(len(header))
		if b != nil {
			a.block = b
			if err := c.take(a, b.rows); err != nil {
				return err
			}
		}
		if errors.Is(broken, io.EOF) {
			return nil
		}
		if broken != nil {
			return broken
		}
	}
}

// periods finds the first day of every row's partition.
func (a *csvRows) periods(days []int64) bool {
	t, at := a.columns[a.route].Type, a.places[a.route]
	for row := range days {
		v, verdict := a.routing.parse(t, a.block.text(row, at))
		if verdict != fits {
			return false
		}
		days[row] = dayOf(t, v)
	}
	return true
}

func (a *csvRows) column(b *batch, i int) bool {
	at, c := a.places[i], a.columns[i]
	switch t := c.Type; {
	case at < 0:
		for k := range b.rows { // a column that wasn't asked for
			b.null(i, k)
		}
		return true
	case t.IsTime():
		return a.timesOf(b, i, at)
	case t == catalog.String:
		return a.texts(b, i, at)
	default:
		return a.numbers(b, i, at)
	}
}
