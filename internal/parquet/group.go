package parquet

const (
	longestGroup = 1 << 20 // rows of a row group, however much memory there is
	fewestRows   = 64      // least rows of a full page, and of a new chunk, which grows with its rows
)

// A Group gathers rows until they are written as one row group: the newest as cells in a chunk, the
// others as pages.
//
// The caller fills new rows column by column: Values or Texts returns the slice to put the cells of
// column i into, and SetNull makes one of them NULL. Writer.Commit then adds the rows to the group.
type Group struct {
	pool    *Pool
	raw     []int // the file's counters that Pool.Group was given
	chunk   *chunk
	texts   []*Texts      // by column; nil where the column isn't text
	numbers []*numberDict // by column; nil where a column of numbers has no dictionary
	sealed  [][]page      // by column: the pages that are made
	pages   arena         // the bytes of sealed
	rows    int           // all rows, including those of the chunk
	weight  int64         // the part of Weight for pages and dictionaries of numbers
	spilled bool          // some pages wait on the disk
}

// newGroup returns a group without rows and without a chunk.
func (p *Pool) newGroup() *Group {
	n := len(p.columns)
	g := &Group{pool: p, texts: make([]*Texts, n), numbers: make([]*numberDict, n), sealed: make([][]page, n)}
	for i, c := range p.columns {
		if c.Type == Text {
			g.texts[i] = &Texts{words: p.words[i]}
		} else if c.numbered() {
			g.numbers[i] = newNumberDict()
		}
	}
	return g
}

// Room returns the number of rows, at least one, that the next Commit may add.
func (g *Group) Room() int { return g.pool.rows - g.chunk.rows }

// Begin allocates the cells of so many new rows, at most Room.
func (g *Group) Begin(rows int) {
	if c := g.chunk; c.rows+rows > c.cap {
		size := c.cap
		for size < c.rows+rows {
			size *= 2
		}
		g.pool.grow(c, min(size, g.pool.rows))
	}
}

// Values returns the cells of column i, which isn't of texts, in the new rows. They may hold old
// values: the caller must set each cell that it commits, if only by SetNull.
func (g *Group) Values(i int) []int64 { return g.chunk.values[i][g.chunk.rows:] }

// Texts returns column i, which is of texts, and the cells of the new rows for its dictionary
// indexes.
func (g *Group) Texts(i int) (t *Texts, ids []uint32) {
	return g.texts[i], g.chunk.ids[i][g.chunk.rows:]
}

// SetNull makes the cell of column i NULL in the k-th new row, counted from 0. Its value becomes 0,
// so that callers may sum Values.
func (g *Group) SetNull(i, k int) {
	c, row := g.chunk, g.chunk.rows+k
	if c.ids[i] != nil {
		c.ids[i][row] = 0
	} else {
		c.values[i][row] = 0
	}
	c.nulls[i][row/64] |= 1 << (row % 64)
	c.nullCount[i]++
}

// Paged tells whether all rows are in pages, and none in the chunk. A caller that ends row groups
// only then gets the same row groups however the rows were divided into commits.
func (g *Group) Paged() bool { return g.chunk.rows == 0 }

// Full tells whether the group has as many rows as a row group may have.
func (g *Group) Full() bool { return g.rows >= longestGroup }

// Weight estimates the memory of the group's rows, in bytes. It depends on the rows alone: neither
// how they were committed nor what other groups hold changes it.
func (g *Group) Weight() int64 {
	rows := g.pool.rows
	if g.rows < rows {
		rows = fewestRows
		for rows < g.rows {
			rows *= 2
		}
	}
	n := g.weight + int64(rows)*g.pool.rowBits/8
	for _, t := range g.texts {
		if t != nil {
			n += t.weight()
		}
	}
	return n
}

// bytes returns the memory in use.
func (g *Group) bytes() int64 {
	n := g.pages.held
	if g.chunk != nil {
		n += int64(g.chunk.cap) * g.pool.rowBits / 8
	}
	for i := range g.texts {
		switch {
		case g.texts[i] != nil:
			n += g.texts[i].bytes()
		case g.numbers[i] != nil:
			n += g.numbers[i].bytes()
		}
	}
	return n
}

// reset forgets the rows and keeps the memory, except that of the chunk and the pages.
func (g *Group) reset() {
	for i := range g.sealed {
		g.sealed[i] = g.sealed[i][:0]
		if g.texts[i] != nil {
			g.texts[i].reset()
		}
		if g.numbers[i] != nil {
			g.numbers[i].reset()
		}
	}
	g.rows, g.weight, g.spilled, g.raw = 0, 0, false, nil
}

// A chunk holds the rows of a group that aren't in pages yet. Its slices have an element for each
// column, which has either values or ids.
type chunk struct {
	rows      int        // committed so far
	cap       int        // rows that there is memory for
	values    [][]int64  // 0 where NULL
	ids       [][]uint32 // of texts in the group's dictionary; 0 where NULL
	nulls     [][]uint64 // a bit for every row, set for NULL
	nullCount []int      // the number of NULLs
}

func (p *Pool) newChunk() *chunk {
	n := len(p.columns)
	c := &chunk{values: make([][]int64, n), ids: make([][]uint32, n), nulls: make([][]uint64, n),
		nullCount: make([]int, n)}
	p.grow(c, fewestRows)
	return c
}

// grow reallocates a chunk for so many rows, and copies the rows that it has.
func (p *Pool) grow(c *chunk, rows int) {
	texts := 0
	for _, w := range p.words {
		if w != nil {
			texts++
		}
	}
	n := len(p.columns)
	words := (rows + 63) / 64
	values := make([]int64, (n-texts)*rows)
	ids := make([]uint32, texts*rows)
	nulls := make([]uint64, n*words)
	for i, w := range p.words {
		if w != nil {
			copy(ids, c.ids[i])
			c.ids[i], ids = ids[:rows:rows], ids[rows:]
		} else {
			copy(values, c.values[i])
			c.values[i], values = values[:rows:rows], values[rows:]
		}
		copy(nulls, c.nulls[i])
		c.nulls[i], nulls = nulls[:words:words], nulls[words:]
	}
	c.cap = rows
}

// reset forgets the rows and keeps the memory.
func (c *chunk) reset() {
	c.rows = 0
	for i, n := range c.nullCount {
		if n > 0 {
			clear(c.nulls[i])
			c.nullCount[i] = 0
		}
	}
}

// isNull reports whether a cell is NULL.
func (c *chunk) isNull(column, row int) bool { return c.nulls[column][row/64]&(1<<(row%64)) != 0 }
