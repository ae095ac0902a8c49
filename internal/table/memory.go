package table

import "github.com/reportferry/reportferry/internal/parquet"

// makeRoom writes row groups, the largest first, until so many more bytes fit the converter's share of the budget.
func (c *Converter) makeRoom(more int64) error {
	for {
		held, largest, most := more, (*partition)(nil), int64(0)
		for _, p := range c.partitions {
			if p.group == nil {
				continue
			}
			n := p.group.Bytes()
			held += n
			if n > most {
				largest, most = p, n
			}
		}
		share := c.budget.share()
		c.pool.Trim(share - held)
		if held <= share || largest == nil {
			return nil
		}
		if err := c.flush(largest); err != nil {
			return err
		}
	}
}

// room gives the group that a partition's next rows go to. A full one is written first, and so are others when there is no
// memory for a new one.
func (c *Converter) room(p *partition) (*parquet.Group, error) {
	if p.group != nil {
		if !p.group.Full() {
			return p.group, nil
		}
		if err := c.flush(p); err != nil {
			return nil, err
		}
	}
	if err := c.makeRoom(c.pool.ChunkBytes()); err != nil {
		return nil, err
	}
	p.group = c.pool.Group()
	return p.group, nil
}

// flush writes the rows that a partition has gathered as one row group.
func (c *Converter) flush(p *partition) error {
	if p.group == nil {
		return nil
	}
	if err := c.begin(p); err != nil {
		return err
	}
	if err := p.file.Write(p.group); err != nil {
		return err
	}
	c.pool.Recycle(p.group)
	p.group = nil
	return nil
}
