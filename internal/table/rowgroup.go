package table

import "github.com/reportferry/reportferry/internal/catalog"

// chunkBytes is about the memory of a chunk: small, because every partition of a window may hold one that is half empty.
const chunkBytes = 128 << 10

// chunk is a fixed number of rows, column by column. A column is either values or ids.
type chunk struct {
	rows   int        // filled so far
	values [][]int64  // days, microseconds, counts, millionths, or the bits of a double; 0 where NULL
	ids    [][]uint32 // texts in the row group's dictionary; 0 where NULL
	nulls  [][]uint64 // a bit for every row
	null   []int      // how many of them are set
}

// layout is the shape of a table's chunks.
type layout struct {
	text  []bool // by column: kept as ids, not as values
	rows  int    // of a chunk
	bytes int64  // of a chunk
}

func newLayout(columns []Column) layout {
	l := layout{text: make([]bool, len(columns))}
	row := 0 // bits
	for i, c := range columns {
		l.text[i] = c.Type == catalog.String
		row += 64 + 1
		if l.text[i] {
			row -= 32
		}
	}
	l.rows = min(max(chunkBytes*8/row&^63, 64), 4096) // whole words of NULL bits
	l.bytes = int64(l.rows) * int64(row) / 8
	return l
}

func (l layout) newChunk() *chunk {
	n := len(l.text)
	c := &chunk{values: make([][]int64, n), ids: make([][]uint32, n), nulls: make([][]uint64, n), null: make([]int, n)}
	texts := 0
	for _, text := range l.text {
		if text {
			texts++
		}
	}
	values := make([]int64, (n-texts)*l.rows)
	ids := make([]uint32, texts*l.rows)
	nulls := make([]uint64, n*l.rows/64)
	for i, text := range l.text {
		if text {
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

// rowGroup gathers the rows of a partition until they are written.
type rowGroup struct {
	chunks []*chunk
	dicts  []*dictionary // by column; nil where the column isn't text
	rows   int
}

func (l layout) newRowGroup() *rowGroup {
	g := &rowGroup{dicts: make([]*dictionary, len(l.text))}
	for i, text := range l.text {
		if text {
			g.dicts[i] = newDictionary()
		}
	}
	return g
}

// bytes is the memory in use.
func (g *rowGroup) bytes(l layout) int64 {
	n := int64(len(g.chunks)) * l.bytes
	for _, d := range g.dicts {
		if d != nil {
			n += d.bytes()
		}
	}
	return n
}
