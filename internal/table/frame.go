package table

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/klauspost/compress/huff0"
)

// frames writes Zstandard frames (RFC 8878) without a search for matches, whose cost is most of a compressor's. It knows
// what a page holds: ids that a search finds nothing in, or numbers of eight bytes whose upper ones are zero. The bytes
// that are left are packed by how often each occurs. Any Zstandard decoder reads them.
type frames struct {
	huffman  huff0.Scratch
	literals []byte
	matches  matches
}

const (
	largestBlock = 128 << 10 // of Zstandard
	fewestWords  = 16        // fewer numbers aren't worth two blocks

	rawBlock, packedBlock       = 0, 2 // RFC 8878, 3.1.1.2.2
	rawText, oneText, codedText = 0, 1, 2
	alikeSequences              = 0x54 // RFC 8878, 3.1.1.3.2.1: all three codes in RLE mode
	matchesByTable              = 0x58 // that of matches by a table
)

// beginFrame appends a frame's header: one segment, and the size of its content.
func beginFrame(dst []byte, size int) []byte {
	dst = append(dst, 0x28, 0xb5, 0x2f, 0xfd)
	switch {
	case size < 256:
		return append(dst, 0x20, byte(size))
	case size < 256+1<<16:
		return binary.LittleEndian.AppendUint16(append(dst, 0x60), uint16(size-256))
	}
	return binary.LittleEndian.AppendUint32(append(dst, 0xa0), uint32(size))
}

func putBlockHeader(at []byte, last, kind, size int) {
	v := last | kind<<1 | size<<3
	at[0], at[1], at[2] = byte(v), byte(v>>8), byte(v>>16)
}

// pack appends a frame that holds up to largestBlock bytes, each in as many bits as its frequency deserves.
func (f *frames) pack(dst, content []byte) []byte {
	dst = beginFrame(dst, len(content))
	at := len(dst)
	dst = append(dst, 0, 0, 0)
	if len(content) >= 64 {
		dst = append(f.text(dst, content), 0) // no sequences
		if size := len(dst) - at - 3; size < len(content) {
			putBlockHeader(dst[at:], 1, packedBlock, size)
			return dst
		}
	}
	putBlockHeader(dst[at:], 1, rawBlock, len(content))
	return append(dst[:at+3], content...)
}

// store appends a frame that holds bytes as they are.
func (f *frames) store(dst, content []byte) []byte {
	dst = beginFrame(dst, len(content))
	for {
		n := min(len(content), largestBlock)
		last := 0
		if n == len(content) {
			last = 1
		}
		dst = append(dst, 0, 0, 0)
		putBlockHeader(dst[len(dst)-3:], last, rawBlock, n)
		dst, content = append(dst, content[:n]...), content[n:]
		if last == 1 {
			return dst
		}
	}
}

// text appends a section of literals.
func (f *frames) text(dst, content []byte) []byte {
	var out []byte
	err := huff0.ErrIncompressible
	f.huffman.Reuse = huff0.ReusePolicyNone
	if len(content) >= 1024 {
		out, _, err = huff0.Compress4X(content, &f.huffman)
	} else if len(content) > 32 {
		out, _, err = huff0.Compress1X(content, &f.huffman)
	}
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		return append(textHeader(dst, oneText, len(content)), content[0])
	case err != nil || len(out)+5 >= len(content):
		return append(textHeader(dst, rawText, len(content)), content...)
	}
	return append(codedHeader(dst, len(content), len(out)), out...)
}

// textHeader is of literals as they are, or of one that is repeated.
func textHeader(dst []byte, kind, size int) []byte {
	switch {
	case size < 1<<5:
		return append(dst, byte(kind|size<<3))
	case size < 1<<12:
		return binary.LittleEndian.AppendUint16(dst, uint16(kind|1<<2|size<<4))
	}
	v := kind | 3<<2 | size<<4
	return append(dst, byte(v), byte(v>>8), byte(v>>16))
}

// codedHeader is of literals by their frequency: in one stream below 1024 bytes, in four above.
func codedHeader(dst []byte, size, coded int) []byte {
	format, width := uint64(3), 18
	switch most := bits.Len(uint(max(size, coded))); {
	case size < 1024:
		format, width = 0, 10
	case most <= 10:
		format, width = 1, 10
	case most <= 14:
		format, width = 2, 14
	}
	v := uint64(codedText) | format<<2 | uint64(size)<<4 | uint64(coded)<<(4+width)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return append(dst, b[:(4+2*width+7)/8]...)
}

// packWords appends a frame that holds numbers of eight bytes each, little-endian, none negative, when no more than five
// bytes of any are in use. A number is then its lower bytes, packed by frequency, and a match of its upper ones, zeros,
// with those of the number before, which goes on while numbers repeat. Not ok otherwise.
func (f *frames) packWords(dst []byte, values []int64) (_ []byte, ok bool) {
	all, repeats, last := uint64(0), 0, int64(-1)
	for _, v := range values {
		all |= uint64(v)
		if v == last {
			repeats++
		}
		last = v
	}
	width := max(1, (bits.Len64(all)+7)/8)
	if width > 5 || len(values) < fewestWords || len(values) > largestBlock/8 {
		return dst, false
	}
	dst = beginFrame(dst, 8*len(values))
	dst = firstWords(dst, values[0], values[1], width)

	// Lengths that differ take about a bit each: where few numbers repeat, or a number is a byte or two, they don't pay.
	runs := width > 2 && repeats > len(values)/4 || repeats > len(values)*7/8
	rest := values[2:]
	need := len(rest)*width + 8
	if cap(f.literals) < need {
		f.literals = make([]byte, need)
	}
	text, p := f.literals[:need], 0
	f.matches.reset()
	for i := 0; i < len(rest); {
		v, n := rest[i], 1
		for runs && i+n < len(rest) && rest[i+n] == v {
			n++
		}
		binary.LittleEndian.PutUint64(text[p:], uint64(v))
		p += width
		f.matches.add(8*n - width)
		i += n
	}
	at := len(dst)
	dst = f.text(append(dst, 0, 0, 0), text[:p])
	dst = f.matches.append(dst, byte(width), 0)
	putBlockHeader(dst[at:], 1, packedBlock, len(dst)-at-3)
	return dst, true
}

// firstWords appends a block of two numbers. Its only sequence copies from eight bytes back, the third of the offsets that
// a decoder remembers at a frame's begin; from then on it is the first of them.
func firstWords(dst []byte, first, second int64, width int) []byte {
	at := len(dst)
	dst = textHeader(append(dst, 0, 0, 0), rawText, 8+width)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(first))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(second))[:len(dst)+width]
	dst = append(dst, 1, alikeSequences, byte(8+width), 1, byte(8-width-shortestMatch), 3)
	putBlockHeader(dst[at:], 0, packedBlock, len(dst)-at-3)
	return dst
}
