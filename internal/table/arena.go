package table

const arenaBlock = 64 << 10

// arena keeps the pages of a row group until it is written.
type arena struct {
	blocks [][]byte
	held   int64
}

func (a *arena) bytes() int64 { return a.held }

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

// empty gives the blocks back, but the large ones.
func (a *arena) empty(free *[][]byte, most int) {
	for _, b := range a.blocks {
		if cap(b) == arenaBlock && len(*free) < most {
			*free = append(*free, b)
		}
	}
	clear(a.blocks)
	a.blocks, a.held = a.blocks[:0], 0
}
