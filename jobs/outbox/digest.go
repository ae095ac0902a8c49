package outbox

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// block is how many records are compared with the first reading before any of them is sent.
const block = 256

// A digest is a hash over the records of one reading of the file. It also keeps what the hash was
// after each block of records, so that the second reading can be compared before it ends.
type digest struct {
	sum       *xxhash.Digest
	records   int64    // how many were added
	lastRow   int64    // row of the record that was added last
	blockSums []uint64 // the hash after each full block
	buf       []byte   // reused by add
}

func newDigest() *digest { return &digest{sum: xxhash.New()} }

// add adds the next record to the hash. full tells whether a block ends with it.
func add[V any](d *digest, r *Record[V]) (full bool, err error) {
	if r.Row <= d.lastRow || r.Row > store.MaxRow {
		return false, fmt.Errorf("row %d after row %d: rows must ascend, up to %d; split the file", r.Row, d.lastRow,
			int64(store.MaxRow))
	}
	d.lastRow = r.Row
	d.buf = binary.BigEndian.AppendUint64(d.buf[:0], uint64(r.Row))
	if r.Refusal == nil || r.Expired {
		d.buf = append(d.buf, r.ID[:]...)
		d.buf = binary.BigEndian.AppendUint64(d.buf, r.Content)
	} else {
		d.appendText(r.Refusal.Field)
		d.appendText(r.Refusal.Reason)
		for _, cell := range r.Cells {
			d.appendText(cell)
		}
	}
	_, _ = d.sum.Write(d.buf) // never fails
	if d.records++; d.records%block != 0 {
		return false, nil
	}
	d.blockSums = append(d.blockSums, d.sum.Sum64())
	return true, nil
}

// appendText appends a text to buf, its length first.
func (d *digest) appendText(s string) {
	d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
	d.buf = append(d.buf, s...)
}

func (d *digest) String() string { return fmt.Sprintf("%016x", d.sum.Sum64()) }

// agrees tells whether all records up to the end of the last full block are the same as in the
// first reading.
func (d *digest) agrees(first *digest) bool {
	n := len(d.blockSums)
	return n <= len(first.blockSums) && d.blockSums[n-1] == first.blockSums[n-1]
}

// same tells whether both readings are over and gave the same records.
func (d *digest) same(first *digest) bool {
	return d.records == first.records && d.sum.Sum64() == first.sum.Sum64()
}
