package outbox

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// block is how many records are compared with the first reading before any of them is sent.
const block = 256

// A digest is a hash over the records of one reading of the file. It keeps what the hash was after
// each block of records.
type digest struct {
	sum     *xxhash.Digest
	records int64
	last    int64 // row
	marks   []uint64
	buf     []byte
}

func newDigest() *digest { return &digest{sum: xxhash.New()} }

// add adds the next record to the hash. full tells whether a block ends with it.
func add[V any](d *digest, r *Record[V]) (full bool, err error) {
	if r.Row <= d.last || r.Row > store.MaxRow {
		return false, fmt.Errorf("row %d after row %d: rows must ascend, up to %d; split the file", r.Row, d.last,
			int64(store.MaxRow))
	}
	d.last = r.Row
	d.buf = binary.BigEndian.AppendUint64(d.buf[:0], uint64(r.Row))
	if r.Refusal == nil || r.Expired {
		d.buf = append(d.buf, r.ID[:]...)
		d.buf = binary.BigEndian.AppendUint64(d.buf, r.Content)
	} else {
		d.text(r.Refusal.Field)
		d.text(r.Refusal.Reason)
		for _, cell := range r.Cells {
			d.text(cell)
		}
	}
	_, _ = d.sum.Write(d.buf) // never fails
	if d.records++; d.records%block != 0 {
		return false, nil
	}
	d.marks = append(d.marks, d.sum.Sum64())
	return true, nil
}

// text appends a text with its length.
func (d *digest) text(s string) {
	d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
	d.buf = append(d.buf, s...)
}

func (d *digest) String() string { return fmt.Sprintf("%016x", d.sum.Sum64()) }

// agrees tells whether the blocks so far are the same as in the first reading.
func (d *digest) agrees(first *digest) bool {
	n := len(d.marks)
	return n <= len(first.marks) && d.marks[n-1] == first.marks[n-1]
}

// same tells whether both readings are over and gave the same records.
func (d *digest) same(first *digest) bool {
	return d.records == first.records && d.sum.Sum64() == first.sum.Sum64()
}
