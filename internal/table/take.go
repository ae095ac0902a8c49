package table

import (
	"errors"
	"slices"
)

// take converts the rows of a source, batch by batch.
func (c *Converter) take(s source, rows int) error {
	if rows == 0 {
		return nil
	}
	if !c.routed(s, rows) {
		return s.locate()
	}
	for from := 0; from < rows; from += c.batch.rows {
		c.gather(from, rows)
		ok, err := c.convert(s)
		if err != nil {
			return err
		}
		if !ok {
			return s.locate()
		}
	}
	return c.makeRoom()
}

// routed finds the partition of every row. It returns false when a row belongs to no expected
// partition.
func (c *Converter) routed(s source, rows int) bool {
	c.targets = slices.Grow(c.targets[:0], rows)[:rows]
	if c.route == NoRoute {
		clear(c.targets)
		return true
	}
	c.days = slices.Grow(c.days[:0], rows)[:rows]
	if !s.periods(c.days) {
		return false
	}
	last, target, known := int64(0), 0, false
	for row, day := range c.days {
		if !known || day != last {
			if target, known = c.byDay[day]; !known {
				return false
			}
			last = day
		}
		c.targets[row] = int32(target)
	}
	return true
}

// gather makes a batch of the source's rows from the row from on, and sorts the batch by partition,
// with a counting sort.
func (c *Converter) gather(from, rows int) {
	b := &c.batch
	if b.hashes == nil {
		b.hashes, b.values = make([]uint64, longestBatch), new([longestBatch]int64)
		b.order, b.target, b.place = make([]int32, longestBatch), make([]int32, longestBatch),
			make([]int32, longestBatch)
		c.counts, c.room = make([]int32, len(c.partitions)), make([]int32, len(c.partitions))
	}
	// How many rows each partition has room for.
	for i, p := range c.partitions {
		c.counts[i], c.room[i] = 0, int32(c.pool.PageRows())
		if p.group != nil {
			c.room[i] = int32(p.group.Room())
		}
	}
	// The batch ends with the first row that fills a page. Its rows are counted by partition.
	n := 0
	for _, i := range c.targets[from:min(rows, from+longestBatch)] {
		b.target[n], b.place[n] = i, c.counts[i]
		n++
		if c.counts[i]++; c.counts[i] == c.room[i] {
			break
		}
	}
	b.from, b.rows, b.members = from, n, b.members[:0]
	if c.route != NoRoute {
		b.days = c.days[from : from+n]
	}
	// Each partition with rows becomes a member, with a stretch of b.order for them.
	first := int32(0)
	for i, n := range c.counts {
		if n == 0 {
			continue
		}
		p := c.partitions[i]
		c.ensureGroup(p)
		p.group.Begin(int(n))
		c.room[i] = int32(len(b.members)) // from here on, its index among the members
		b.members = append(b.members, member{partition: p, group: p.group, rows: b.order[first : first+n],
			tally: p.tally})
		first += n
	}
	// The rows go into the stretches of their members.
	for row, i := range b.target[:n] {
		b.target[row] = c.room[i]
		b.members[c.room[i]].rows[b.place[row]] = int32(row)
	}
}

// convert converts the batch. It returns false when a cell doesn't fit. What was converted until
// then stays in the row groups, which attempt drops after the error.
func (c *Converter) convert(s source) (bool, error) {
	b := &c.batch
	for row := range b.rows {
		b.hashes[row] = c.seed
	}
	// The cells, column by column.
	for i, column := range c.columns {
		if column.Stamp != "" {
			if !c.stamp(b, i) {
				return false, errors.New("the run's ID isn't valid UTF-8")
			}
			continue
		}
		if !s.column(b, i) {
			return false, nil
		}
		if i == c.keyColumn {
			for _, m := range b.members {
				m.partition.keys.Add(b.hashes, m.rows)
			}
		}
		if column.summed() {
			for _, m := range b.members {
				m.tally[i].add(column.Type, m.group.Values(i)[:len(m.rows)])
			}
		}
	}
	// The rows join their row groups.
	for _, m := range b.members {
		if err := c.writer.Commit(m.group, len(m.rows)); err != nil {
			return false, err
		}
		for _, row := range m.rows {
			m.partition.digest.add(b.hashes[row])
		}
		if err := c.flushIfFull(m.partition); err != nil {
			return false, err
		}
	}
	return true, nil
}

// lastDimension returns the index of the column after which the hash of a row is that of its key.
// It returns -1 where there are no dimensions, or they aren't the first columns.
func lastDimension(columns []Column) int {
	last := -1
	for i, c := range columns {
		if !c.Dimension {
			continue
		}
		if last != i-1 {
			return -1
		}
		last = i
	}
	return last
}
