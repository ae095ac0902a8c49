package table

import "github.com/reportferry/reportferry/internal/catalog"

const (
	chunkBytes    = 1 << 20   // about the memory of a chunk
	smallestChunk = 128 << 10 // when a window has many partitions: each may hold one that is half empty
	longestPage   = 8192      // rows: numbers of eight bytes then take half a block of Zstandard
)

// chunk is the rows of a partition that aren't pages yet, column by column. A column is either values or ids.
type chunk struct {
	rows   int        // filled so far
	values [][]int64  // days, microseconds, counts, millionths, or the bits of a double; 0 where NULL
	ids    [][]uint32 // texts in the row group's dictionary; 0 where NULL
	nulls  [][]uint64 // a bit for every row
	null   []int      // how many of them are set
}

// layout is the shape of a table's chunks.
type layout struct {
	columns []Column
	rows    int   // of a chunk
	bytes   int64 // of a chunk
}

func (l layout) text(i int) bool { return l.columns[i].Type == catalog.String }

// numbered tells whether a column of numbers has a dictionary.
func (l layout) numbered(i int) bool {
	return l.columns[i].Type.IsTime() || l.columns[i].Type == catalog.Double
}

// newLayout makes chunks of about so many bytes.
func newLayout(columns []Column, bytes int64) layout {
	l := layout{columns: columns}
	row := 0 // bits
	for i := range columns {
		row += 64 + 1
		if l.text(i) {
			row -= 32
		}
	}
	bytes = min(max(bytes, smallestChunk), chunkBytes)
	l.rows = min(max(int(bytes)*8/row&^63, 64), longestPage) // whole words of NULL bits
	l.bytes = int64(l.rows) * int64(row) / 8
	return l
}

func (l layout) newChunk() *chunk {
	n := len(l.columns)
	c := &chunk{values: make([][]int64, n), ids: make([][]uint32, n), nulls: make([][]uint64, n), null: make([]int, n)}
	texts := 0
	for i := range l.columns {
		if l.text(i) {
			texts++
		}
	}
	values := make([]int64, (n-texts)*l.rows)
	ids := make([]uint32, texts*l.rows)
	nulls := make([]uint64, n*l.rows/64)
	for i := range l.columns {
		if l.text(i) {
			c.ids[i], ids = ids[:l.rows:l.rows], ids[l.rows:]
		} else {
			c.values[i], values = values[:l.rows:l.rows], values[l.rows:]
		}
		c.nulls[i], nulls = nulls[:l.rows/64:l.rows/64], nulls[l.rows/64:]
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

func (c *chunk) setNull(column, row int) {
	c.nulls[column][row/64] |= 1 << (row % 64)
	c.null[column]++
}

func (c *chunk) isNull(column, row int) bool { return c.nulls[column][row/64]&(1<<(row%64)) != 0 }

// rowGroup gathers the rows of a partition until they are written: the last of them in a chunk, the others as pages.
type rowGroup struct {
	chunk   *chunk
	texts   []*dictionary // by column; nil where the column isn't text
	raws    []rawTexts    // by column
	numbers []*numbers    // by column; nil where a column of numbers has none
	pages   [][]page      // by column
	arena   arena         // of the pages
	rows    int           // also those of the chunk
}

func (l layout) newRowGroup() *rowGroup {
	n := len(l.columns)
	g := &rowGroup{texts: make([]*dictionary, n), raws: make([]rawTexts, n), numbers: make([]*numbers, n), pages: make([][]page, n)}
	for i := range l.columns {
		if l.text(i) {
			g.texts[i] = newDictionary()
		} else if l.numbered(i) {
			g.numbers[i] = newNumbers()
		}
	}
	return g
}

// bytes is the memory in use.
func (g *rowGroup) bytes(l layout) int64 {
	n := g.arena.bytes()
	if g.chunk != nil {
		n += l.bytes
	}
	for i := range l.columns {
		switch {
		case g.texts[i] != nil:
			n += g.texts[i].bytes() + int64(cap(g.raws[i].data))
		case g.numbers[i] != nil:
			n += g.numbers[i].bytes()
		}
	}
	return n
}

// reset forgets the rows and keeps the memory, but for the chunk and the pages'.
func (g *rowGroup) reset() {
	for i := range g.pages {
		g.pages[i] = g.pages[i][:0]
		g.raws[i].reset()
		if g.texts[i] != nil {
			g.texts[i].reset()
		}
		if g.numbers[i] != nil {
			g.numbers[i].reset()
		}
	}
	g.rows = 0
}
