package parquet

import "slices"

const (
	largestChunk  = 1 << 20   // bytes of a chunk
	smallestChunk = 128 << 10 // also where many files are open, each with a chunk that may be half empty
	longestPage   = 8192      // rows: numbers of eight bytes then take half a block of Zstandard
	arenaBlock    = 64 << 10  // bytes of a block of an arena
)

// A Pool hands out the memory of row groups, and takes it back for the next ones. It is used by one
// goroutine at a time.
type Pool struct {
	columns []Column
	rows    int          // rows of a page
	rowBits int64        // size of a row in a chunk
	words   []*textTable // by column; nil where it isn't of texts
	open    []*Group     // those that hold rows
	spill   spill

	// Memory to use again: empty chunks, empty blocks, and a group without rows, whose dictionaries
	// keep their capacity.
	chunks []*chunk
	blocks [][]byte
	spare  *Group
}

// NewPool makes a pool of groups. Each group gathers about chunk bytes of rows, within limits,
// before it makes pages of them. Dir is the folder for pages that memory has no room for.
func NewPool(columns []Column, chunk int64, dir string) *Pool {
	p := &Pool{columns: columns, words: make([]*textTable, len(columns)), spill: spill{dir: dir}}
	for i, c := range columns {
		p.rowBits += 64 + 1 // a value, and whether it is NULL
		if c.Type == Text {
			p.rowBits -= 32 // a dictionary index instead of a value
			p.words[i] = newTextTable(0)
		}
	}
	chunk = min(max(chunk, smallestChunk), largestChunk)
	p.rows = min(max(int(chunk*8/p.rowBits)&^63, fewestRows), longestPage) // whole words of NULL bits
	return p
}

// Close removes the file of pages that memory had no room for.
func (p *Pool) Close() { p.spill.close() }

// PageRows returns the number of rows of a full page.
func (p *Pool) PageRows() int { return p.rows }

// Group begins a row group. Raw belongs to the file: it says, for each column, how many of the
// file's next row groups begin without a dictionary because the column's texts hardly repeat.
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

// leastUnused is how many bytes of texts must be in no row group before it is worth dropping them.
const leastUnused = 512 << 10

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
		if w.bytes() < held+leastUnused {
			continue
		}
		old := *w
		*w = *newTextTable(texts)
		for _, g := range p.open {
			g.texts[i].reindex(&old)
		}
	}
}

// Bytes returns the memory in use, including what is kept for the next row groups.
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

// idle returns the memory that is kept for the next row groups.
func (p *Pool) idle() int64 {
	n := int64(len(p.blocks)) * arenaBlock
	for _, c := range p.chunks {
		n += int64(c.cap) * p.rowBits / 8
	}
	if p.spare != nil {
		n += p.spare.bytes()
	}
	return n
}

// Trim frees memory that is kept for the next row groups when more than so many bytes are in use:
// only as many blocks as needed if there are enough of them, otherwise all of that memory.
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

// Spill moves pages to the disk when more than so many bytes are in use. It doesn't change what is
// written later.
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

// keep copies a page into the arena. New blocks are taken from free while there are any.
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

// empty gives the blocks back to free, except those that are larger than usual.
func (a *arena) empty(free *[][]byte) {
	for _, b := range a.blocks {
		if cap(b) == arenaBlock {
			*free = append(*free, b)
		}
	}
	clear(a.blocks)
	a.blocks, a.held = a.blocks[:0], 0
}
