package table

// idleBlocks is the number of blocks after which a partition that got no more rows is taken for
// complete. They are four megabytes of CSV: where the rows of several days are mixed, no day is
// without rows for that long, unless it has few.
const idleBlocks = 16

// makeRoom writes row groups until the rows that wait weigh no more than budget.weight, and then
// moves pages to the disk until the rest fits the converter's share of the memory. Which row groups
// are written depends only on the rows so far: the share decides only where pages wait.
//
// The service is asked for days one after the other. Then a day's row groups don't depend on the
// other days either: days that got their last row are written first, and a group that waits alone
// ends at a page (see flushIfFull). The exception is a page of texts that is larger than all that
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

// before reports whether p is to be written before q: complete partitions come first, and otherwise
// the heavier one.
func (c *Converter) before(p, q *partition) bool {
	if idle := c.blocks-p.block > idleBlocks; idle != (c.blocks-q.block > idleBlocks) {
		return idle
	}
	return p.group.Weight() > q.group.Weight()
}

// flushIfFull writes a partition's group if it is at the end of a page and has become as large as a
// single group may be.
func (c *Converter) flushIfFull(p *partition) error {
	if p.group.Paged() && (p.group.Full() || p.group.Weight() > c.budget.weight()) {
		return c.flush(p)
	}
	return nil
}

// ensureGroup makes sure that a partition has a group for its next rows.
func (c *Converter) ensureGroup(p *partition) {
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
