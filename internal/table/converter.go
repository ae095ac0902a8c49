package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/parquet"
	"github.com/reportferry/reportferry/internal/table/keys"
)

// A Converter turns the rows of one table, which come as CSV answers or as typed rows, into one
// part per partition.
//
//	New ── Read, Rows (any number of times) ── Finish: the parts
//	            └─ after an error: Abort, and from the start again
//
// It is used by one goroutine at a time; converters that share a budget may work at once.
type Converter struct {
	columns       []Column
	headerColumns []Column     // the columns, and one for each source that is ignored
	route         int          // the index of the column that names a row's partition, or NoRoute
	seed          uint64       // the hash of a row before its first cell
	scratch       keys.Scratch // memory for finding repeated keys at the end of a partition
	keyColumn     int          // what lastDimension returns: behind this column, a row's hash is that of its key
	budget        *Budget
	dir           string // see Options, as the next two
	hold          int
	metadata      map[string]string
	run           string    // for stamped columns, like loaded
	loaded        time.Time // see Loaded
	writer        *parquet.Writer

	partitions []*partition  // in the order of Options.Partitions
	byDay      map[int64]int // the index of each partition, by its first day in days since 1970-01-01
	pool       *parquet.Pool // memory for rows; nil while the converter has no seat of the budget
	failed     error         // the error that ended the attempt; nil before, and after Abort
	finished   bool

	csv     csvRows // the CSV answer that is being read
	mending Mending
	extra   []string // columns of an answer that weren't asked for
	strict  bool     // whether extra columns are an error

	blocks  int     // the number of blocks taken so far
	days    []int64 // by row of a block: the first day of its partition
	targets []int32 // by row of a block: its partition
	batch   batch   // the current batch of the block
	counts  []int32 // by partition: its rows in the batch
	room    []int32 // by partition: rows until its page is full
}

// New checks the options and returns a converter, which takes no memory before its first row.
func New(o Options) (*Converter, error) {
	c, err := newConverter(o)
	if err != nil {
		return nil, fmt.Errorf("convert a table: %w", err)
	}
	return c, nil
}

func newConverter(o Options) (*Converter, error) {
	if err := checkColumns(o.Columns, o.Route); err != nil {
		return nil, err
	}
	if len(o.Partitions) == 0 {
		return nil, errors.New("no partition is expected")
	}
	if o.Route == NoRoute && len(o.Partitions) > 1 {
		return nil, errors.New("several partitions are expected, and no column names a row's")
	}
	// The caller may change its options afterwards.
	o.Columns, o.Metadata = slices.Clone(o.Columns), maps.Clone(o.Metadata)
	writer, err := parquet.NewWriter(fileColumns(o.Columns), o.Codec, o.Pages)
	if err != nil {
		return nil, err
	}
	if o.Budget == nil {
		o.Budget = NewBudget(DefaultBudget)
	}
	c := &Converter{
		columns: o.Columns, headerColumns: slices.Clone(o.Columns), route: o.Route, seed: seed(o.Columns),
		keyColumn: lastDimension(o.Columns), budget: o.Budget,
		writer: writer, dir: o.Dir, hold: o.Hold, metadata: o.Metadata, run: o.Run,
		byDay: map[int64]int{}, mending: o.Mending, strict: o.Strict,
	}
	for _, source := range o.Ignored {
		c.headerColumns = append(c.headerColumns, Column{Source: source})
	}
	// The partitions, each found by its first day.
	for i, date := range o.Partitions {
		day, ok := daysOfDate(date)
		if !ok {
			return nil, fmt.Errorf("partition %s isn't a date", date)
		}
		if _, twice := c.byDay[day]; twice {
			return nil, fmt.Errorf("partition %s is named twice", date)
		}
		c.byDay[day] = i
		c.partitions = append(c.partitions, c.newPartition(date))
	}
	return c, nil
}

// checkColumns returns an error if the columns or the index route don't fit together.
func checkColumns(columns []Column, route int) error {
	names := map[string]bool{}
	for _, c := range columns {
		switch {
		case c.Name == "":
			return errors.New("a column has no name")
		case names[c.Name]:
			return fmt.Errorf("column %s is named twice", c.Name)
		case c.Stamp != "" && (c.Source != "" || c.Dimension || c != Stamped(c.Stamp)):
			return fmt.Errorf("column %s isn't what its stamp %s makes it", c.Name, c.Stamp)
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

// attempt calls use, which converts rows, after it has taken memory of the budget. While as many
// other converters hold rows as may do so at once, it waits for one of them to end, or for the end
// of the context. After an error it removes the files and gives the memory back.
func (c *Converter) attempt(ctx context.Context, what string, use func() error) error {
	if err := c.usable(); err != nil {
		return err
	}
	err := errUnstamped
	if c.stamped() {
		err = c.takeSeat(ctx)
	}
	if err == nil {
		err = use()
	}
	if err != nil {
		c.drop()
		c.failed = err
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// usable returns an error if the converter has failed or is finished.
func (c *Converter) usable() error {
	switch {
	case c.failed != nil:
		return fmt.Errorf("use a converter after its error: %w", c.failed)
	case c.finished:
		return errors.New("use a converter after its end")
	}
	return nil
}

// takeSeat takes a seat of the budget, and the memory that comes with it. The converter keeps both
// until giveBack.
func (c *Converter) takeSeat(ctx context.Context) error {
	if c.pool != nil {
		return nil
	}
	if err := c.budget.enter(ctx); err != nil {
		return err
	}
	// Each partition has a chunk, which may be half empty. Together they are to take half of the
	// share at most.
	c.pool = parquet.NewPool(fileColumns(c.columns), c.budget.weight()/2/int64(len(c.partitions)), c.dir)
	return nil
}

// Finish completes the files and returns one part for each expected partition, in the order of
// Options.Partitions. A partition without rows has a part without rows. The files then belong to
// the caller. After an error they are removed.
func (c *Converter) Finish() ([]Part, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	parts := make([]Part, 0, len(c.partitions))
	for _, p := range c.partitions {
		part, err := c.finish(p)
		if err != nil {
			c.drop()
			c.failed = err
			return nil, fmt.Errorf("write the part of %s: %w", p.date, err)
		}
		parts = append(parts, part)
	}
	c.finished = true
	c.giveBack()
	return parts, nil
}

// finish completes the file of a partition and returns its part.
func (c *Converter) finish(p *partition) (Part, error) {
	if err := c.flush(p); err != nil {
		return Part{}, err
	}
	if err := c.begin(p); err != nil {
		return Part{}, err
	}
	part, err := p.part(c.columns, &c.scratch)
	for _, name := range c.extra {
		if part.Rows > 0 {
			part.Altered = append(part.Altered, Alteration{Column: strings.Trim(shorten([]byte(name)), `"`),
				What: unasked, Cells: part.Rows, Row: 1})
		}
	}
	return part, err
}

// Abort drops all rows: their files are removed, and their memory is given back. The converter is
// then like a new one, so that an answer that broke half way can be read again from its start.
// After Finish, Abort does nothing.
func (c *Converter) Abort() {
	if c.finished {
		return
	}
	c.drop()
	c.failed = nil
}

// drop removes all rows and their files, and gives the memory back.
func (c *Converter) drop() {
	for i, p := range c.partitions {
		p.discard()
		c.partitions[i] = c.newPartition(p.date)
	}
	c.giveBack()
}

// giveBack gives the seat and the memory back.
func (c *Converter) giveBack() {
	if c.pool != nil {
		c.pool.Close()
		c.budget.leave()
	}
	c.pool, c.csv, c.batch, c.blocks, c.extra = nil, csvRows{}, batch{}, 0, nil
}
