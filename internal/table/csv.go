package table

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
)

// csvRows is the source of rows that reads a CSV answer, block by block.
type csvRows struct {
	scanner scanner
	columns []Column // those of the converter, as the next two
	route   int
	byDay   map[int64]int
	places  []int       // by column: the index of its cell in a row; -1 for a column without a source
	times   []timeCache // by column
	routing timeCache   // of the column that names a row's partition
	block   *block      // the one whose rows are being converted
	mending Mending
	nuls    bool // the block has NUL characters, which are to be left out
}

// Read takes one complete CSV answer with its header. It may be called again for an answer with
// further rows. An error is a HeaderError, a CellError or ErrEmpty, or comes from the reader, the
// context or the disk. After one, all rows are dropped, also those of earlier calls, and every call
// fails until Abort.
func (c *Converter) Read(ctx context.Context, r io.Reader) error {
	return c.attempt(ctx, "decode a CSV answer", func() error { return c.read(ctx, r) })
}

func (c *Converter) read(ctx context.Context, r io.Reader) error {
	a := &c.csv
	if a.times == nil {
		a.columns, a.route, a.byDay, a.times, a.mending = c.columns, c.route, c.byDay,
			make([]timeCache, len(c.columns)), c.mending
	}
	extra, err := a.eachBlock(ctx, r, c.headerColumns, func(b *block) error {
		a.nuls = a.mending.DropNUL && bytes.IndexByte(b.data, 0) >= 0
		return c.take(a, b.rows)
	})
	if err == nil && c.strict && extra != nil {
		return &HeaderError{Extra: extra}
	}
	for _, name := range extra {
		if !slices.Contains(c.extra, name) {
			c.extra = append(c.extra, name)
		}
	}
	return err
}

// eachBlock reads an answer and calls use with each block of its rows. It returns the names of the
// columns that the answer has besides heads.
func (a *csvRows) eachBlock(ctx context.Context, r io.Reader, heads []Column, use func(*block) error) (extra []string,
	err error) {
	a.scanner = scanner{ctx: ctx, r: r, buffer: a.scanner.buffer, block: a.scanner.block}
	header, err := a.scanner.header()
	if err != nil {
		return nil, err
	}
	places, extra, err := matchHeader(asAsked(header, heads), heads)
	if err != nil {
		return nil, err
	}
	a.places = places[:len(a.columns)]
	for {
		b, broken := a.scanner.next(len(header))
		if b != nil {
			a.block = b
			if err := use(b); err != nil {
				return extra, err
			}
		}
		if errors.Is(broken, io.EOF) {
			return extra, nil
		}
		if broken != nil {
			return extra, broken
		}
	}
}

// periods implements source.
func (a *csvRows) periods(days []int64) bool {
	t, at := a.columns[a.route].Type, a.places[a.route]
	for row := range days {
		v, result := a.routing.parse(t, a.block.text(row, at))
		if result != fits {
			return false
		}
		days[row] = dayOf(t, v)
	}
	return true
}

// column implements source.
func (a *csvRows) column(b *batch, i int) bool {
	at, c := a.places[i], a.columns[i]
	switch t := c.Type; {
	case at < 0:
		for row := range b.rows { // a column that no answer has
			b.null(i, row)
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

// asAsked returns the header. A name in it that differs from a column's source in case alone is
// written like that source, because slugs don't depend on case.
func asAsked(header []string, columns []Column) []string {
	exact := map[string]bool{}
	for _, name := range header {
		exact[name] = true
	}
	sources := map[string]string{} // by folded name; empty when two are the same but for case
	for _, c := range columns {
		folded := strings.ToLower(c.Source)
		if was, twice := sources[folded]; twice && was != c.Source {
			sources[folded] = ""
			continue
		}
		sources[folded] = c.Source
	}
	names := slices.Clone(header)
	for i, name := range names {
		if source := sources[strings.ToLower(name)]; source != "" && !exact[source] {
			names[i] = source
		}
	}
	return names
}

// matchHeader finds the index of every column's cell in a row, or -1 for a column without a source.
// The header must hold the sources of the columns, each once and in any order. extra are the names
// that it has besides.
func matchHeader(header []string, columns []Column) (at []int, extra []string, _ error) {
	var wrong HeaderError
	places := make(map[string]int, len(header))
	for i, name := range header {
		if _, twice := places[name]; !twice {
			places[name] = i
		}
	}
	asked := make(map[string]bool, len(columns))
	at = make([]int, len(columns))
	for i, c := range columns {
		if at[i] = -1; c.Source == "" {
			continue
		}
		place, ok := places[c.Source]
		if at[i] = place; !ok && !asked[c.Source] {
			wrong.Missing = append(wrong.Missing, c.Source)
		}
		asked[c.Source] = true
	}
	for i, name := range header {
		switch twice := places[name] != i; {
		case !asked[name] && !slices.Contains(extra, name):
			extra = append(extra, name)
		case asked[name] && twice && !slices.Contains(wrong.Repeated, name):
			wrong.Repeated = append(wrong.Repeated, name)
		}
	}
	if len(wrong.Missing)+len(wrong.Repeated) > 0 {
		wrong.Extra = extra
		return nil, nil, &wrong
	}
	return at, extra, nil
}
