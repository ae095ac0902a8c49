package table

// longestRowGroup bounds the rows of a row group, however large the budget is.
const longestRowGroup = 1 << 20

// memory hands out the chunks and row groups of one converter, within its share of the budget.
type memory struct {
	budget *Budget
	layout layout
	used   int       // chunks that hold rows
	chunks []*chunk  // that hold none
	blocks [][]byte  // of pages, empty
	spare  *rowGroup // with dictionaries that are warm
}

// newMemory begins with chunks so small that one of each partition takes half of the share at most, if that can be.
func newMemory(b *Budget, columns []Column, partitions int) memory {
	return memory{budget: b, layout: newLayout(columns, b.share()/2/int64(partitions))}
}

func (m *memory) release() {
	m.budget.leave()
	m.chunks, m.blocks, m.spare = nil, nil, nil
}

// idle is the memory of what holds no rows.
func (m *memory) idle() int64 {
	n := int64(len(m.chunks))*m.layout.bytes + int64(len(m.blocks))*arenaBlock
	if m.spare != nil {
		n += m.spare.bytes(m.layout)
	}
	return n
}

// trim gives up what holds no rows until it takes so many bytes at most: blocks first, of which there are many.
func (m *memory) trim(most int64) {
	over := m.idle() - most
	if n := int(over+arenaBlock-1) / arenaBlock; over > 0 && n <= len(m.blocks) {
		clear(m.blocks[len(m.blocks)-n:])
		m.blocks = m.blocks[:len(m.blocks)-n]
	} else if over > 0 {
		m.chunks, m.blocks, m.spare = nil, nil, nil
	}
}

func (m *memory) newGroup() *rowGroup {
	g := m.spare
	if m.spare = nil; g == nil {
		g = m.layout.newRowGroup()
	}
	m.used++
	if n := len(m.chunks); n > 0 {
		g.chunk = m.chunks[n-1]
		m.chunks = m.chunks[:n-1]
	} else {
		g.chunk = m.layout.newChunk()
	}
	return g
}

// recycle takes back a row group that is written.
func (m *memory) recycle(g *rowGroup) {
	m.used--
	g.chunk.reset()
	if int64(m.used+len(m.chunks)+1)*m.layout.bytes <= m.budget.share() {
		m.chunks = append(m.chunks, g.chunk)
	}
	g.chunk = nil
	g.arena.empty(&m.blocks, int(m.budget.share()/arenaBlock))
	g.reset()
	m.spare = g
}

// makeRoom writes the largest row groups until so many more bytes fit the converter's share of the budget.
func (c *Converter) makeRoom(more int64) error {
	for {
		held, largest, most := more, (*partition)(nil), int64(0)
		for _, p := range c.partitions {
			if p.group == nil {
				continue
			}
			n := p.group.bytes(c.memory.layout)
			held += n
			if n > most {
				largest, most = p, n
			}
		}
		share := c.memory.budget.share()
		c.memory.trim(share - held)
		if held <= share || largest == nil {
			return nil
		}
		if err := c.flush(largest); err != nil {
			return err
		}
	}
}

// room finds a chunk of the partition that isn't full.
func (c *Converter) room(p *partition) (*rowGroup, error) {
	if g := p.group; g != nil {
		if g.chunk.rows < c.memory.layout.rows {
			return g, nil
		}
		if err := c.encoder.seal(g, &c.memory.blocks); err != nil {
			return nil, err
		}
		if g.rows < longestRowGroup {
			return g, nil
		}
		if err := c.flush(p); err != nil {
			return nil, err
		}
	}
	if err := c.makeRoom(c.memory.layout.bytes); err != nil {
		return nil, err
	}
	if p.group == nil {
		p.group = c.memory.newGroup()
		c.encoder.begin(p.group)
	}
	return p.group, nil
}

// flush writes the rows that a partition has gathered as one row group.
func (c *Converter) flush(p *partition) error {
	if p.group == nil {
		return nil
	}
	if p.file == nil {
		var err error
		if p.file, err = c.encoder.create(c.label(p)); err != nil {
			return err
		}
	}
	if err := c.encoder.seal(p.group, &c.memory.blocks); err != nil {
		return err
	}
	if err := c.encoder.write(p.file, p.group); err != nil {
		return err
	}
	c.memory.recycle(p.group)
	p.group = nil
	return nil
}
