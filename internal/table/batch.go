package table

import "github.com/reportferry/reportferry/internal/parquet"

// A source is a number of rows that a converter takes at once: a block of a CSV answer, or typed
// rows. Its methods return false when a cell doesn't fit. The converter then calls locate once to
// find that cell, so that the loops over columns needn't make errors.
type source interface {
	// periods sets, for each row, the first day of its partition, in days since 1970-01-01.
	periods(days []int64) bool
	// column converts the cells of column i in the rows of a batch.
	column(b *batch, i int) bool
	// locate describes the first cell, row by row, that doesn't fit.
	locate() error
}

// longestBatch is the most rows of a batch, so that a column of them fits a core's first cache.
const longestBatch = 1024

// A batch is consecutive rows of a source, which are converted column by column. It ends, at the
// latest, with a row that fills a page of its partition.
type batch struct {
	from    int      // the index of the first row in the source
	rows    int      // the number of rows
	days    []int64  // by row: the first day of its partition; nil where a table has one partition
	hashes  []uint64 // by row: the hash of its cells so far
	members []member // the partitions of the rows

	order  []int32              // the rows, member by member
	target []int32              // by row: the index of its member
	place  []int32              // by row: its index among the rows of its member
	values *[longestBatch]int64 // by row: its value in the current column, when there are several members
}

// A member is a partition that has rows in a batch.
type member struct {
	partition *partition
	group     *parquet.Group
	rows      []int32
	tally     []tally // by column
}

// member returns the member that a row belongs to, and the row's index there.
func (b *batch) member(row int) (m *member, k int) {
	if len(b.members) == 1 {
		return &b.members[0], row
	}
	return &b.members[b.target[row]], int(b.place[row])
}

// numbers returns the slice to put the values of column i into, by row. Once they are set,
// distribute moves them to their partitions.
func (b *batch) numbers(i int) []int64 {
	if len(b.members) == 1 {
		return b.members[0].group.Values(i)[:b.rows]
	}
	return b.values[:b.rows]
}

// distribute moves the values of column i to the partitions of their rows.
func (b *batch) distribute(i int) {
	if len(b.members) == 1 {
		return
	}
	for _, m := range b.members {
		values := m.group.Values(i)[:len(m.rows)]
		for k, row := range m.rows {
			values[k] = b.values[uint32(row)%longestBatch] // the modulo spares the bounds check
		}
	}
}

// null sets a NULL in column i of a row.
func (b *batch) null(i, row int) {
	m, k := b.member(row)
	m.group.SetNull(i, k)
	b.values[row] = 0
	b.hashes[row] = hashNull(b.hashes[row])
	m.tally[i].nulls++
}

// leastDecimals returns the most decimals that a cell of column i had so far, in the partition
// where that is least. Only cells with more decimals than that must be passed to noteDecimals.
func (b *batch) leastDecimals(i int) int {
	least := b.members[0].tally[i].decimals
	for _, m := range b.members[1:] {
		least = min(least, m.tally[i].decimals)
	}
	return least
}

// noteDecimals notes the number of decimals of a cell in column i.
func (b *batch) noteDecimals(i, row, decimals int) {
	m, _ := b.member(row)
	m.tally[i].decimals = max(m.tally[i].decimals, decimals)
}

// text sets a text in column i of a row. It returns false when the text isn't valid UTF-8.
func (b *batch) text(i, row int, text []byte) bool {
	m, k := b.member(row)
	texts, ids := m.group.Texts(i)
	if texts.Raw() {
		if !texts.Append(text) {
			return false
		}
		b.hashes[row] = hashValue(b.hashes[row], hashText(text))
		return true
	}
	id, hash, ok := texts.ID(text)
	if !ok {
		return false
	}
	ids[k] = id
	b.hashes[row] = hashValue(b.hashes[row], hash)
	return true
}
