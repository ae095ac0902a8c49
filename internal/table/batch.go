package table

import "github.com/reportferry/reportferry/internal/parquet"

// A source is a run of rows that a converter takes at once: a block of a CSV answer, or typed rows. Its methods report
// false when a cell doesn't fit; the converter then asks locate, once, which one, so that the loops over columns make no
// errors.
type source interface {
	// periods sets, for each row, the first day of its partition, in days since 1970-01-01.
	periods(days []int64) bool
	// column converts the cells of column i in the rows of a batch.
	column(b *batch, i int) bool
	// locate describes the first cell, row by row, that doesn't fit.
	locate() error
}

// batch is the rows of a source that are the next ones of a group.
type batch struct {
	rows   []int32 // of the source
	group  *parquet.Group
	hashes []uint64 // by row of the batch
	tally  []tally  // by column
}

// null sets a NULL in column i of the k-th row.
func (b *batch) null(i, k int) {
	b.group.SetNull(i, k)
	b.hashes[k] = hashNull(b.hashes[k])
	b.tally[i].nulls++
}

// text sets a text; false when it isn't valid UTF-8.
func (b *batch) text(i, k int, text []byte) bool {
	texts, ids := b.group.Texts(i)
	if texts.Raw() {
		b.hashes[k] = hashValue(b.hashes[k], hashText(text))
		return texts.Append(text)
	}
	id, hash, ok := texts.ID(text)
	ids[k] = id
	b.hashes[k] = hashValue(b.hashes[k], hash)
	return ok
}

// value sets a value of any other type, as the file stores it.
func (b *batch) value(i, k int, v int64) {
	b.group.Values(i)[k] = v
	b.hashes[k] = hashValue(b.hashes[k], uint64(v))
}
