package table

import (
	"bytes"
	"encoding/binary"
)

// rawTexts are the texts of a page of a column whose texts hardly repeat, as Parquet's PLAIN encoding has them.
type rawTexts struct {
	on        bool // texts of the row group come here, no more into the dictionary
	data      []byte
	low, high []byte // bounds of all that came here in the row group; nil before the first
}

func (r *rawTexts) add(text []byte) {
	r.data = binary.LittleEndian.AppendUint32(r.data, uint32(len(text)))
	r.data = append(r.data, text...)
	if r.low == nil {
		r.low, r.high = append([]byte{}, text...), append([]byte{}, text...)
		return
	}
	if bytes.Compare(text, r.low) < 0 {
		r.low = append(r.low[:0], text...)
	} else if bytes.Compare(text, r.high) > 0 {
		r.high = append(r.high[:0], text...)
	}
}

// written forgets the page's texts.
func (r *rawTexts) written() { r.data = r.data[:0] }

func (r *rawTexts) reset() { *r = rawTexts{data: r.data[:0]} }
