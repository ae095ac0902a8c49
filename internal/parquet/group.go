package parquet

// longestGroup bounds the rows of a row group, however much memory there is.
const longestGroup = 1 << 20

// A Group gathers rows until they are written as one row group: the newest as cells in a chunk, the others as pages.
//
// The rows to come are filled column by column: Values or Texts gives the place of the cells of column i, and SetNull makes
// one of them NULL. Writer.Commit then takes the rows.
type Group struct {
	pool    *Pool
	chunk   *chunk
	texts   []*Texts   // by column; nil where the column isn't text
	numbers []*numbers // by column; nil where a column of numbers has no dictionary
	sealed  [][]page   // by column
	pages   arena      // the bytes of sealed
	rows    int        // also those of the chunk
}

func (p *Pool) newGroup() *Group {
	n := len(p.columns)
	g := &Group{pool: p, texts: make([]*Texts, n), numbers: make([]*numbers, n), sealed: make([][]page, n)}
	for i, c := range p.columns {
		if c.Type == Text {
			g.texts[i] = newTexts()
		} else if c.numbered() {
			g.numbers[i] = newNumbers()
		}
	}
	return g
}

// Room is the number of rows, at least one, that the next Commit may take.
func (g *Group) Room() int { return g.pool.rows - g.chunk.rows }

// Values gives the cells of column i, which isn't of texts, in the rows to come: as many as there is room. They may hold
// anything, and all of those that Commit takes are to be set, also by SetNull.
func (g *Group) Values(i int) []int64 { return g.chunk.values[i][g.chunk.rows:] }

// Texts gives the column i of texts, and the dictionary indexes of the rows to come: as many as there is room.
func (g *Group) Texts(i int) (t *Texts, ids []uint32) {
	return g.texts[i], g.chunk.ids[i][g.chunk.rows:]
}

// SetNull makes the cell of column i NULL in the k-th of the rows to come. Its value becomes 0, so that callers may sum Values.
func (g *Group) SetNull(i, k int) {
	c, row := g.chunk, g.chunk.rows+k
	if c.ids[i] != nil {
		c.ids[i][row] = 0
	} else {
		c.values[i][row] = 0
	}
	c.nulls[i][row/64] |= 1 << (row % 64)
	c.null[i]++
}

// Full tells whether the group has as many rows as a row group may have.
func (g *Group) Full() bool { return g.chunk.rows == 0 && g.rows >= longestGroup }

// Bytes is the memory in use.
func (g *Group) Bytes() int64 {
	n := g.pages.held
	if g.chunk != nil {
		n += g.pool.bytes
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
	g.rows = 0
}

// chunk is the rows of a group that aren't pages yet, column by column. A column is either values or ids.
type chunk struct {
	rows   int        // committed so far
	values [][]int64  // 0 where NULL
	ids    [][]uint32 // of texts in the group's dictionary; 0 where NULL
	nulls  [][]uint64 // a bit for every row
	null   []int      // how many of them are set
}

func (p *Pool) newChunk() *chunk {
	n := len(p.columns)
	c := &chunk{values: make([][]int64, n), ids: make([][]uint32, n), nulls: make([][]uint64, n), null: make([]int, n)}
	texts := 0
	for _, column := range p.columns {
		if column.Type == Text {
			texts++
		}
	}
	values := make([]int64, (n-texts)*p.rows)
	ids := make([]uint32, texts*p.rows)
	nulls := make([]uint64, n*p.rows/64)
	for i, column := range p.columns {
		if column.Type == Text {
			c.ids[i], ids = ids[:p.rows:p.rows], ids[p.rows:]
		} else {
			c.values[i], values = values[:p.rows:p.rows], values[p.rows:]
		}
		c.nulls[i], nulls = nulls[:p.rows/64:p.rows/64], nulls[p.rows/64:]
	}
	return c
}

func (c *chunk) reset() {
	c.rows = 0
	for i, n := range c.null {
		if n > 0 {
			clear(c.nulls[i])
			c.null[i] = 0
		}
	}
}

func (c *chunk) isNull(column, row int) bool { return c.nulls[column][row/64]&(1<<(row%64)) != 0 }
