package files

import "encoding/binary"

// A walk goes over a value in Thrift's compact protocol without keeping it
// (github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
type walk struct {
	data     []byte
	elements int
	bad      bool // cut, nested too deeply, or with too many elements
}

// Types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

func (w *walk) skip(n uint64) {
	if n > uint64(len(w.data)) {
		w.bad, w.data = true, nil
		return
	}
	w.data = w.data[n:]
}

func (w *walk) byte() byte {
	if len(w.data) == 0 {
		w.bad = true
		return thriftStop
	}
	b := w.data[0]
	w.data = w.data[1:]
	return b
}

func (w *walk) varint() uint64 {
	n, size := binary.Uvarint(w.data)
	if size <= 0 {
		w.bad, w.data = true, nil
		return 0
	}
	w.data = w.data[size:]
	return n
}

func (w *walk) structure(depth int) {
	for !w.bad {
		head := w.byte()
		kind := head & 0xf
		if kind == thriftStop {
			return
		}
		if head>>4 == 0 {
			w.varint() // the field's number, which mostly is in head
		}
		if kind > thriftFalse { // the two are values already
			w.value(kind, depth+1)
		}
	}
}

func (w *walk) value(kind byte, depth int) {
	if depth > 32 {
		w.bad = true
	}
	if w.bad {
		return
	}
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		w.varint()
	case thriftDouble:
		w.skip(8)
	case thriftBinary:
		w.skip(w.varint())
	case thriftList, thriftSet:
		head := w.byte()
		n := uint64(head >> 4)
		if n == 0xf {
			n = w.varint()
		}
		w.repeat(n, depth, head&0xf)
	case thriftMap:
		if n := w.varint(); n > 0 {
			kinds := w.byte()
			w.repeat(n, depth, kinds>>4, kinds&0xf)
		}
	case thriftStruct:
		w.structure(depth)
	default:
		w.bad = true
	}
}

func (w *walk) repeat(n uint64, depth int, kinds ...byte) {
	if n > mostElements || w.elements+int(n) > mostElements {
		w.bad = true
		return
	}
	w.elements += int(n)
	for range n {
		for _, kind := range kinds {
			w.value(kind, depth+1)
		}
	}
}
