package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Converter reads CSV answers and writes one part per partition. It is used by one goroutine at a time; converters that
// share a budget may work at once.
type Converter struct {
	columns []Column
	route   int
	seed    uint64 // of a row's hash
	encoder *encoder
	memory  memory

	partitions []*partition  // in the order of Options.Partitions
	byDay      map[int64]int // index of a partition by its first day, in days since 1970-01-01
	open       bool
	failed     error

	scanner scanner
	places  []int       // by column: its cell in a row, -1 for one that wasn't asked for
	times   []timeCache // by column
	routing timeCache

	target []int32  // by row of a block: its partition
	counts []int    // by partition: rows of the block
	next   []int    // by partition: its next place in order
	order  []int32  // the rows of the block, partition by partition
	hashes []uint64 // by row of a batch
}

// New begins the conversion of answers for one table and a set of partitions. Finish or Abort ends it. While eight
// converters of the budget are open, New waits for one of them to end, or for the context.
func New(ctx context.Context, o Options) (*Converter, error) {
	c, err := newConverter(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("convert a table: %w", err)
	}
	return c, nil
}

func newConverter(ctx context.Context, o Options) (*Converter, error) {
	if err := checkColumns(o.Columns, o.Route); err != nil {
		return nil, err
	}
	if len(o.Partitions) == 0 {
		return nil, errors.New("no partition is expected")
	}
	if o.Route == NoRoute && len(o.Partitions) > 1 {
		return nil, errors.New("several partitions are expected, and no column names a row's")
	}
	o.Columns, o.Metadata = slices.Clone(o.Columns), maps.Clone(o.Metadata)
	encoder, err := newEncoder(o)
	if err != nil {
		return nil, err
	}
	if o.Budget == nil {
		o.Budget = NewBudget(DefaultBudget)
	}
	c := &Converter{
		columns: o.Columns, route: o.Route, seed: seed(o.Columns), encoder: encoder,
		byDay: map[int64]int{}, open: true,
		times: make([]timeCache, len(o.Columns)), counts: make([]int, len(o.Partitions)),
	}
	for i, date := range o.Partitions {
		day, ok := daysOfDate(date)
		if !ok {
			return nil, fmt.Errorf("partition %s is no date", date)
		}
		if _, twice := c.byDay[day]; twice {
			return nil, fmt.Errorf("partition %s is named twice", date)
		}
		c.byDay[day] = i
		c.partitions = append(c.partitions, &partition{date: date, tally: make([]tally, len(o.Columns))})
	}
	if err := o.Budget.enter(ctx); err != nil {
		return nil, err
	}
	c.memory = newMemory(o.Budget, o.Columns, len(o.Partitions))
	c.hashes = make([]uint64, c.memory.layout.rows)
	return c, nil
}

func checkColumns(columns []Column, route int) error {
	names := map[string]bool{}
	for _, c := range columns {
		switch {
		case c.Name == "":
			return errors.New("a column has no name")
		case names[c.Name]:
			return fmt.Errorf("column %s is named twice", c.Name)
		case c.Dimension && c.Source == "":
			return fmt.Errorf("dimension %s has no source: it would be NULL everywhere", c.Name)
		}
		names[c.Name] = true
	}
	if route == NoRoute {
		return nil
	}
	if route < 0 || route >= len(columns) || !columns[route].Type.IsTime() || columns[route].Source == "" {
		return errors.New("the column that names a row's partition must be a date or an hour that is asked for")
	}
	return nil
}

// Read takes one complete CSV answer with its header, and may be called again for an answer with other rows. After an
// error, which is a HeaderError, a CellError, ErrEmpty or of the reader, the context or the disk, only Abort is allowed.
func (c *Converter) Read(ctx context.Context, r io.Reader) error {
	if err := c.usable(); err != nil {
		return err
	}
	if err := c.read(ctx, r); err != nil {
		c.failed = err
		return fmt.Errorf("decode a CSV answer: %w", err)
	}
	return nil
}

func (c *Converter) usable() error {
	switch {
	case c.failed != nil:
		return fmt.Errorf("use a converter after its error: %w", c.failed)
	case !c.open:
		return errors.New("use a converter after its end")
	}
	return nil
}

func (c *Converter) read(ctx context.Context, r io.Reader) error {
	c.scanner = scanner{ctx: ctx, r: r, buffer: c.scanner.buffer, block: c.scanner.block}
	header, err := c.scanner.header()
	if err != nil {
		return err
	}
	if c.places, err = matchHeader(header, c.columns); err != nil {
		return err
	}
	for {
		b, broken := c.scanner.next(len(header))
		if b != nil {
			if err := c.take(b); err != nil {
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

// Finish ends the files and gives one part per expected partition, in the order of Options.Partitions, also of those
// without rows. The files then belong to the caller. After an error they are gone.
func (c *Converter) Finish() ([]Part, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	parts := make([]Part, 0, len(c.partitions))
	for _, p := range c.partitions {
		part, err := c.finish(p)
		if err != nil {
			c.failed = err
			c.Abort()
			return nil, fmt.Errorf("write the part of %s: %w", p.date, err)
		}
		parts = append(parts, part)
	}
	c.end()
	return parts, nil
}

func (c *Converter) finish(p *partition) (Part, error) {
	if err := c.flush(p); err != nil {
		return Part{}, err
	}
	if p.file == nil {
		var err error
		if p.file, err = c.encoder.create(c.label(p)); err != nil {
			return Part{}, err
		}
	}
	return p.part(c.columns, c.encoder)
}

// label names a partition in the file's name and metadata.
func (c *Converter) label(p *partition) string {
	if c.route == NoRoute {
		return "all"
	}
	return p.date.String()
}

// Abort closes and removes every file. It does nothing after Finish, and when it is repeated.
func (c *Converter) Abort() {
	if !c.open {
		return
	}
	for _, p := range c.partitions {
		p.discard()
	}
	c.end()
}

func (c *Converter) end() {
	c.open = false
	c.memory.release()
	c.scanner, c.encoder, c.partitions = scanner{}, nil, nil
}
