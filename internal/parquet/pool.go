package parquet

const (
	largestChunk  = 1 << 20   // bytes of a chunk
	smallestChunk = 128 << 10 // also where many files are open, each with a chunk that may be half empty
	longestPage   = 8192      // rows: numbers of eight bytes then take half a block of Zstandard
	arenaBlock    = 64 << 10
)

// A Pool hands out the memory of row groups, and takes it back for the next ones. It is used by one goroutine at a time.
type Pool struct {
	columns  []Column
	rows     int   // of a chunk
	bytes    int64 // of a chunk
	unrepeat []int // by column: in so many of the next row groups its texts are taken for ones that hardly repeat

	chunks []*chunk // without rows
	blocks [][]byte // without pages
	spare  *Group   // without rows, with dictionaries that have their size
}

// NewPool makes a pool for groups whose newest rows take up about chunk bytes each, within limits, before they are pages.
func NewPool(columns []Column, chunk int64) *Pool {
	p := &Pool{columns: columns, unrepeat: make([]int, len(columns))}
	row := 0 // bits
	for _, c := range columns {
		row += 64 + 1
		if c.Type == Text {
			row -= 32
		}
	}
	chunk = min(max(chunk, smallestChunk), largestChunk)
	p.rows = min(max(int(chunk)*8/row&^63, 64), longestPage) // whole words of NULL bits
	p.bytes = int64(p.rows) * int64(row) / 8
	return p
}

// ChunkRows is the most rows that a group takes by one Commit.
func (p *Pool) ChunkRows() int { return p.rows }

// ChunkBytes is the memory of a group that holds a row and no page.
func (p *Pool) ChunkBytes() int64 { return p.bytes }

// Group begins a row group.
func (p *Pool) Group() *Group {
	g := p.spare
	if p.spare = nil; g == nil {
		g = p.newGroup()
	}
	if n := len(p.chunks); n > 0 {
		g.chunk, p.chunks = p.chunks[n-1], p.chunks[:n-1]
	} else {
		g.chunk = p.newChunk()
	}
	for i := range p.unrepeat {
		if p.unrepeat[i] > 0 {
			p.unrepeat[i]--
			g.texts[i].raw = true
		}
	}
	return g
}

// Recycle takes back a row group that has been written. The group is not to be used any more.
func (p *Pool) Recycle(g *Group) {
	p.chunks, g.chunk = append(p.chunks, g.chunk), nil
	g.pages.empty(&p.blocks)
	g.reset()
	p.spare = g
}

// Idle is the memory, in bytes, that waits for the next row groups.
func (p *Pool) Idle() int64 {
	n := int64(len(p.chunks))*p.bytes + int64(len(p.blocks))*arenaBlock
	if p.spare != nil {
		n += p.spare.Bytes()
	}
	return n
}

// Trim gives up idle memory until it takes no more than so many bytes: blocks first, of which there are many, else all.
func (p *Pool) Trim(most int64) {
	over := p.Idle() - most
	if over <= 0 {
		return
	}
	if n := int(over+arenaBlock-1) / arenaBlock; n <= len(p.blocks) {
		clear(p.blocks[len(p.blocks)-n:])
		p.blocks = p.blocks[:len(p.blocks)-n]
		return
	}
	p.chunks, p.blocks, p.spare = nil, nil, nil
}

// arena keeps the pages of a row group until it is written.
type arena struct {
	blocks [][]byte
	held   int64
}

// keep copies a page; blocks come from free while there are any.
func (a *arena) keep(free *[][]byte, page []byte) []byte {
	if n := len(a.blocks); n == 0 || cap(a.blocks[n-1])-len(a.blocks[n-1]) < len(page) {
		var block []byte
		if k := len(*free); k > 0 && len(page) <= arenaBlock {
			block, *free = (*free)[k-1], (*free)[:k-1]
		} else {
			block = make([]byte, 0, max(arenaBlock, len(page)))
		}
		a.blocks = append(a.blocks, block[:0])
		a.held += int64(cap(block))
	}
	last := &a.blocks[len(a.blocks)-1]
	from := len(*last)
	*last = append(*last, page...)
	return (*last)[from:len(*last):len(*last)]
}

// empty gives the blocks back, except the large ones.
func (a *arena) empty(free *[][]byte) {
	for _, b := range a.blocks {
		if cap(b) == arenaBlock {
			*free = append(*free, b)
		}
	}
	clear(a.blocks)
	a.blocks, a.held = a.blocks[:0], 0
}
