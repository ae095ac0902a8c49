package table

import "slices"

// take converts the rows of a block: it sorts them by partition, and converts each partition's rows column by column.
func (c *Converter) take(b *block) error {
	if b.rows == 0 {
		return nil
	}
	if !c.routeRows(b) {
		return c.locate(b)
	}
	from := 0
	for i, n := range c.counts {
		if n == 0 {
			continue
		}
		ok, err := c.gather(b, c.partitions[i], c.order[from:from+n])
		if err != nil {
			return err
		}
		if !ok {
			return c.locate(b)
		}
		from += n
	}
	return c.makeRoom(0)
}

// routeRows finds the partition of every row of a block and orders the rows by it; false when one has none.
func (c *Converter) routeRows(b *block) bool {
	clear(c.counts)
	c.target = slices.Grow(c.target[:0], b.rows)[:b.rows]
	c.order = slices.Grow(c.order[:0], b.rows)[:b.rows]
	if c.route == NoRoute {
		c.counts[0] = b.rows
		for row := range c.order {
			c.order[row] = int32(row)
		}
		return true
	}
	t, at := c.columns[c.route].Type, c.places[c.route]
	day, target, known := int64(0), 0, false
	for row := range b.rows {
		v, verdict := c.routing.parse(t, b.text(row, at))
		if verdict != fits {
			return false
		}
		if d := dayOf(t, v); !known || d != day {
			if target, known = c.byDay[d]; !known {
				return false
			}
			day = d
		}
		c.target[row] = int32(target)
		c.counts[target]++
	}
	c.next = c.next[:0]
	sum := 0
	for _, n := range c.counts {
		c.next = append(c.next, sum)
		sum += n
	}
	for row, target := range c.target {
		c.order[c.next[target]] = int32(row)
		c.next[target]++
	}
	return true
}

// gather converts rows of a block that belong to one partition; false when a cell doesn't fit.
func (c *Converter) gather(b *block, p *partition, rows []int32) (bool, error) {
	for len(rows) > 0 {
		group, err := c.room(p)
		if err != nil {
			return false, err
		}
		chunk := group.chunk
		n := min(len(rows), c.memory.layout.rows-chunk.rows)
		bt := batch{block: b, rows: rows[:n], group: group, chunk: chunk, first: chunk.rows, hashes: c.hashes[:n], tally: p.tally}
		for k := range bt.hashes {
			bt.hashes[k] = c.seed
		}
		for i := range c.columns {
			if !c.column(&bt, i) {
				return false, nil
			}
		}
		chunk.rows += n
		group.rows += n
		p.digest.add(bt.hashes)
		rows = rows[n:]
	}
	return true, nil
}
