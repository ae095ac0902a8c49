package parquet

import "slices"

const (
	largestChunk  = 1 << 20   // bytes of a chunk
	smallestChunk = 128 << 10 // also where many files are open, each with a chunk that may be half empty
	longestPage   = 8192      // rows: numbers of eight bytes then take half a block of Zstandard
	arenaBlock    = 64 << 10
)

// A Pool hands out the memory of row groups, and takes it back for the next ones. It is used by one
// goroutine at a time.
type Pool struct {
	columns []Column
	rows    int      // of a page
	row     int64    // bits of a row in a chunk
	words   []*words // by column; nil where it isn't of texts
	open    []*Group // those that hold rows
	spill   spill

	chunks []*chunk // without rows
	blocks [][]byte // without pages
	spare  *Group   // without rows, with dictionaries that have their size
}

// NewPool makes a pool for groups whose newest rows take up at most about chunk bytes each, within
// limits, before they are pages. Dir is the folder for pages that memory has no room for.
func NewPool(columns []Column, chunk int64, dir string) *Pool {
	p := &Pool{columns: columns, words: make([]*words, len(columns)), spill: spill{dir: dir}}
	for i, c := range columns {
		p.row += 64 + 1
		if c.Type == Text {
			p.row -= 32
			p.words[i] = newWords(0)
		}
	}
	chunk = min(max(chunk, smallestChunk), largestChunk)
	p.rows = min(max(int(chunk*8/p.row)&^63, fewestRows), longestPage) // whole words of NULL bits
	return p
}

// Close gives up the file of pages that memory had no room for.
func (p *Pool) Close() { p.spill.close() }

// PageRows is the number of rows of a page.
func (p *Pool) PageRows() int { return p.rows }

// Group begins a row group. Raw is by column, and belongs to the file: in so many of its next row
// groups the texts of the column are taken for ones that hardly repeat.
func (p *Pool) Group(raw []int) *Group {
	g := p.spare
	if p.spare = nil; g == nil {
		g = p.newGroup()
	}
	if n := len(p.chunks); n > 0 {
		g.chunk, p.chunks = p.chunks[n-1], p.chunks[:n-1]
	} else {
		g.chunk = p.newChunk()
	}
	g.raw = raw
	for i := range raw {
		if raw[i] > 0 {
			raw[i]--
			g.texts[i].raw = true
		}
	}
	p.open = append(p.open, g)
	return g
}

// Recycle takes back a row group that has been written. The group is not to be used any more.
func (p *Pool) Recycle(g *Group) {
	p.chunks, g.chunk = append(p.chunks, g.chunk), nil
	p.open = slices.DeleteFunc(p.open, func(o *Group) bool { return o == g })
	g.pages.empty(&p.blocks)
	g.reset()
	p.spare = g
	if !slices.ContainsFunc(p.open, func(o *Group) bool { return o.spilled }) {
		p.spill.size = 0 // its pages are written, and their place is free
	}
	p.tidy()
}

// unused is the size in bytes of texts that no row group holds from which on it is worth to drop
// them.
const unused = 512 << 10

// tidy drops texts that no row group holds, once there are many.
func (p *Pool) tidy() {
	for i, w := range p.words {
		if w == nil {
			continue
		}
		held, texts := int64(0), 0
		for _, g := range p.open {
			held += g.texts[i].held()
			texts += len(g.texts[i].order)
		}
		if w.bytes() < held+unused {
			continue
		}
		old := *w
		*w = *newWords(texts)
		for _, g := range p.open {
			g.texts[i].follow(&old)
		}
	}
}

// Bytes is the memory in use, and that which waits for the next row groups.
func (p *Pool) Bytes() int64 {
	n := p.idle()
	for _, w := range p.words {
		if w != nil {
			n += w.bytes()
		}
	}
	for _, g := range p.open {
		n += g.bytes()
	}
	return n
}

// idle is the memory that waits for the next row groups.
func (p *Pool) idle() int64 {
	n := int64(len(p.blocks)) * arenaBlock
	for _, c := range p.chunks {
		n += int64(c.cap) * p.row / 8
	}
	if p.spare != nil {
		n += p.spare.bytes()
	}
	return n
}

// Trim gives up memory that waits for the next row groups until no more than so many bytes are in
// use: blocks first where there are many, otherwise all.
func (p *Pool) Trim(most int64) {
	over := p.Bytes() - most
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

// Spill has pages wait on the disk when more than so many bytes are in use. What is written later
// is the same.
func (p *Pool) Spill(most int64) error {
	if p.Bytes() <= most {
		return nil
	}
	for _, g := range p.open {
		if err := p.spill.take(g); err != nil {
			return err
		}
	}
	return nil
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
