package table

import "unicode/utf8"

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

// batch is the rows of a source that go to the same chunk, one behind the other.
type batch struct {
	rows   []int32 // of the source
	group  *rowGroup
	chunk  *chunk
	first  int      // row of the chunk
	hashes []uint64 // by row of the batch
	tally  []tally  // by column
}

func (b *batch) null(i, k int) {
	row := b.first + k
	if b.chunk.ids[i] != nil {
		b.chunk.ids[i][row] = 0
	} else {
		b.chunk.values[i][row] = 0
	}
	b.chunk.setNull(i, row)
	b.hashes[k] = hashNull(b.hashes[k])
	b.tally[i].nulls++
}

// text sets a text; false when it isn't valid UTF-8.
func (b *batch) text(i, k int, text []byte) bool {
	if raw := &b.group.raws[i]; raw.on {
		if !utf8.Valid(text) {
			return false
		}
		raw.add(text)
		b.hashes[k] = hashValue(b.hashes[k], hashText(text))
		return true
	}
	id, hash, ok := b.group.texts[i].id(text)
	if ok {
		b.chunk.ids[i][b.first+k] = id
		b.hashes[k] = hashValue(b.hashes[k], hash)
	}
	return ok
}

// value sets a value of any other type, as the file stores it.
func (b *batch) value(i, k int, v int64) {
	b.chunk.values[i][b.first+k] = v
	b.hashes[k] = hashValue(b.hashes[k], uint64(v))
}
