package table

// idleBlocks is the number of blocks after which a partition that got no more rows is taken for
// complete: four megabytes of CSV, so that of mixed days none is, unless it has few rows.
const idleBlocks = 16

// makeRoom writes row groups until those that wait weigh no more than a converter's may, and then
// makes do with the converter's share of the memory. What is written is a function of the rows so
// far; the share changes only where pages wait.
//
// Where days come one after the other, which is how the service is asked for them, a day's row
// groups don't depend on the other days either: those that got their last row are written first,
// and a single group ends at a page (see grown), unless one page of texts is larger than all that
// may wait.
func (c *Converter) makeRoom() error {
	c.blocks++
	for {
		weight, open, next := int64(0), 0, (*partition)(nil)
		for _, p := range c.partitions {
			if p.group == nil {
				continue
			}
			open++
			weight += p.group.Weight()
			if next == nil || c.before(p, next) {
				next = p
			}
		}
		most := c.budget.weight()
		if weight <= most || open < 2 && weight <= 2*most {
			c.pool.Trim(min(most, c.budget.share()))
			return c.pool.Spill(c.budget.share())
		}
		if err := c.flush(next); err != nil {
			return err
		}
	}
}

// before tells which of two partitions is written first: one that is complete before others, and
// the heavier one of two alike.
func (c *Converter) before(p, q *partition) bool {
	if idle := c.blocks-p.block > idleBlocks; idle != (c.blocks-q.block > idleBlocks) {
		return idle
	}
	return p.group.Weight() > q.group.Weight()
}

// grown writes a group that has become as large as one may be, alone, at the end of a page.
func (c *Converter) grown(p *partition) error {
	if p.group.Paged() && (p.group.Full() || p.group.Weight() > c.budget.weight()) {
		return c.flush(p)
	}
	return nil
}

// begun makes sure that a partition has a group for its next rows.
func (c *Converter) begun(p *partition) {
	if p.group == nil {
		p.group = c.pool.Group(p.raw)
	}
	p.block = c.blocks
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
