package table

// longestRowGroup bounds the rows of a row group, however large the budget is.
const longestRowGroup = 1 << 20

// memory hands out the chunks and row groups of one converter, within its share of the budget.
type memory struct {
	budget *Budget
	layout layout
	used   int       // chunks that hold rows
	chunks []*chunk  // that hold none
	spare  *rowGroup // with dictionaries that are warm
}

func newMemory(b *Budget, l layout) memory {
	b.open.Add(1)
	return memory{budget: b, layout: l}
}

func (m *memory) release() {
	m.budget.open.Add(-1)
	m.chunks, m.spare = nil, nil
}

func (m *memory) newGroup() *rowGroup {
	if g := m.spare; g != nil {
		m.spare = nil
		return g
	}
	return m.layout.newRowGroup()
}

func (m *memory) newChunk() *chunk {
	m.used++
	if n := len(m.chunks); n > 0 {
		c := m.chunks[n-1]
		m.chunks = m.chunks[:n-1]
		return c
	}
	return m.layout.newChunk()
}

// recycle takes back a row group that is written.
func (m *memory) recycle(g *rowGroup) {
	m.used -= len(g.chunks)
	for _, c := range g.chunks {
		c.reset()
		if int64(m.used+len(m.chunks)+1)*m.layout.bytes <= m.budget.share() {
			m.chunks = append(m.chunks, c)
		}
	}
	for _, d := range g.dicts {
		if d != nil {
			d.reset()
		}
	}
	clear(g.chunks)
	g.chunks, g.rows = g.chunks[:0], 0
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
		if c.memory.spare != nil {
			held += c.memory.spare.bytes(c.memory.layout)
		}
		if held <= c.memory.budget.share() || largest == nil {
			return nil
		}
		if c.memory.spare != nil && c.memory.spare.bytes(c.memory.layout) > most {
			c.memory.spare = nil
			continue
		}
		if err := c.flush(largest); err != nil {
			return err
		}
	}
}

// room finds a chunk of the partition that isn't full.
func (c *Converter) room(p *partition) (*rowGroup, *chunk, error) {
	if g := p.group; g != nil {
		if last := g.chunks[len(g.chunks)-1]; last.rows < c.memory.layout.rows {
			return g, last, nil
		}
		if g.rows >= longestRowGroup {
			if err := c.flush(p); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := c.makeRoom(c.memory.layout.bytes); err != nil {
		return nil, nil, err
	}
	if p.group == nil {
		p.group = c.memory.newGroup()
	}
	p.group.chunks = append(p.group.chunks, c.memory.newChunk())
	return p.group, p.group.chunks[len(p.group.chunks)-1], nil
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
	if err := c.encode(p); err != nil {
		return err
	}
	c.memory.recycle(p.group)
	p.group = nil
	return nil
}

func (c *Converter) encode(p *partition) error {
	c.memory.budget.slots <- struct{}{}
	defer func() { <-c.memory.budget.slots }()
	return c.encoder.write(p.file, p.group)
}
