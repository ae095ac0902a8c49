package table

import (
	"errors"
	"slices"
)

// take converts the rows of a source: it sorts them by partition, and converts each partition's rows column by column.
func (c *Converter) take(s source, rows int) error {
	if rows == 0 {
		return nil
	}
	if !c.routeRows(s, rows) {
		return s.locate()
	}
	from := 0
	for i, n := range c.counts {
		if n == 0 {
			continue
		}
		ok, err := c.gather(s, c.partitions[i], c.order[from:from+n])
		if err != nil {
			return err
		}
		if !ok {
			return s.locate()
		}
		from += n
	}
	return c.makeRoom(0)
}

// routeRows finds the partition of every row and orders the rows by it, with a counting sort. It is false when a row belongs
// to no expected partition.
func (c *Converter) routeRows(s source, rows int) bool {
	clear(c.counts)
	c.order = slices.Grow(c.order[:0], rows)[:rows]
	if c.route == NoRoute {
		c.counts[0] = rows
		for row := range c.order {
			c.order[row] = int32(row)
		}
		return true
	}
	c.days = slices.Grow(c.days[:0], rows)[:rows]
	if !s.periods(c.days) {
		return false
	}
	c.target = slices.Grow(c.target[:0], rows)[:rows]
	last, target, known := int64(0), 0, false
	for row, day := range c.days {
		if !known || day != last {
			if target, known = c.byDay[day]; !known {
				return false
			}
			last = day
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

// gather converts rows that belong to one partition; false when a cell doesn't fit. Whatever was converted then stays in
// the group, which the error drops.
func (c *Converter) gather(s source, p *partition, rows []int32) (bool, error) {
	for len(rows) > 0 {
		group, err := c.room(p)
		if err != nil {
			return false, err
		}
		n := min(len(rows), group.Room())
		b := batch{rows: rows[:n], group: group, hashes: c.hashes[:n], tally: p.tally}
		for k := range b.hashes {
			b.hashes[k] = c.seed
		}
		for i := range c.columns {
			if c.columns[i].Stamp != "" {
				if !c.stamp(&b, i) {
					return false, errors.New("the run's ID isn't valid UTF-8")
				}
				continue
			}
			if !s.column(&b, i) {
				return false, nil
			}
			if column := c.columns[i]; column.summed() {
				b.tally[i].sum(column.Type, group.Values(i)[:n])
			}
		}
		if err := c.writer.Commit(group, n); err != nil {
			return false, err
		}
		p.digest.add(b.hashes)
		rows = rows[n:]
	}
	return true, nil
}
