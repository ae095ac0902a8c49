// Package zstdframe packs bytes and integers into Zstandard frames without searching for matches.
// Without it, that search would be most of what compressing a page costs, and would find little: a
// page holds dictionary indexes, in which there is nothing to find, or integers of eight bytes
// whose upper ones are zeros, which are known beforehand.
//
//	Bytes: one block, its bytes in Huffman codes
//
//	  frame header │ literals: Huffman │ no sequences
//
//	Words: the lower bytes of each integer as literals, its upper bytes as a match
//	eight bytes back, with those of the integer before it
//
//	  frame header │ block of 2 integers │ literals: Huffman │ sequences: literal length and offset RLE, match length FSE
//	                 (sets the offset 8)
//
// The frames are ordinary ones (RFC 8878): any Zstandard decoder reads them. Comments name its
// sections.
//
// # How it is tested
//
// Tests and a fuzzer pack random contents of random sizes, check that each frame is as RFC 8878
// asks of a writer, and decode it with klauspost's decoder. Within Parquet files, the frames are
// read by the decoders of DuckDB, Polars, pyarrow and DataFusion, which are the reference
// implementation, libzstd, and ports of it.
//
// # When to delete it
//
// BenchmarkPages packs pages of 8192 values with this package, and with klauspost's encoder (v1.20,
// its fastest level, which package parquet uses for other pages). Least of ten on one core:
//
//	                                     this package      klauspost/compress/zstd
//	page                     bytes       µs    size        µs     size
//	counts                   65,536     199    0.20       550     0.24
//	amounts                  65,536     167    0.47       504     0.52
//	amounts, 60 % repeated   65,536     116    0.20       246     0.24
//	indexes of 4 bits         4,096      17    0.96         1     1.00
//	indexes of 16 bits       16,384      55    0.72         2     1.00
//
// klauspost's fastest level gives up on indexes at once; the longer time of this package makes them
// up to a fourth smaller.
//
// A whole conversion of the six answers of internal/bench without this package, relative to one
// with it (least to most of the six; three interleaved runs each):
//
//	without this package                                      CPU            bytes
//	klauspost's encoder for all pages                         1.14 to 1.27   1.08 to 1.12
//	the same, with its entropy coding of what has no match    1.13 to 1.29   1.06 to 1.11
//	DELTA_BINARY_PACKED for integers and decimals, packed     0.97 to 1.14   1.32 to 1.58
//	dictionaries for integers                                 1.12 to 1.25   1.08 to 1.13
//	dictionaries for integers and decimals                    1.18 to 1.38   1.07 to 1.19
//	this package, without matches over repeated values        0.97 to 1.01   1.01 to 1.053
//
// Smaller answers (0.06 of the rows) show the same for Parquet's own encodings, packed with entropy
// coding. CPU and bytes, medians of six interleaved pairs: DELTA_BINARY_PACKED 0.91 to 1.14 and
// 1.31 to 1.53, dictionaries for integers 1.09 to 1.30 and 1.09 to 1.14, BYTE_STREAM_SPLIT for
// integers and decimals 1.08 to 1.37 and 1.02 to 1.09.
//
// To do without this package, let package parquet compress all pages with its general codec.
// Nothing else may import it.
package zstdframe

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/klauspost/compress/huff0"
)

// A Packer makes frames. It keeps memory from one to the next, and is used by one goroutine at a
// time.
type Packer struct {
	huffman  huff0.Scratch
	literals []byte
	matches  matches
}

const (
	largestBlock = 128 << 10 // Block_Maximum_Size: RFC 8878, 3.1.1.2.4
	fewestBytes  = 64        // fewer aren't worth a table of codes
	fewestWords  = 16        // fewer aren't worth two blocks

	rawBlock, compressedBlock                    = 0, 2    // Block_Type: RFC 8878, 3.1.1.2.2
	rawLiterals, rleLiterals, compressedLiterals = 0, 1, 2 // Literals_Block_Type: RFC 8878, 3.1.1.3.1.1

	// Symbol_Compression_Modes: RFC 8878, 3.1.1.3.2.1.
	alikeSequences = 0x54 // literal lengths, offsets and match lengths each in RLE mode
	matchesByTable = 0x58 // match lengths by a table of finite state entropy
)

// beginFrame appends a frame's header (RFC 8878, 3.1.1.1) with Single_Segment_Flag and
// Frame_Content_Size, so that a decoder needs one buffer, of the content's size.
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

// putBlockHeader sets Block_Header: RFC 8878, 3.1.1.2.
func putBlockHeader(at []byte, last, kind, size int) {
	v := last | kind<<1 | size<<3
	at[0], at[1], at[2] = byte(v), byte(v>>8), byte(v>>16)
}

// Bytes appends a frame of any content. Each block of 128 KiB holds its bytes in Huffman codes, or
// as they are when that is no longer. The frame is at most a few bytes for each block longer than
// the content.
func (p *Packer) Bytes(dst, content []byte) []byte {
	dst = beginFrame(dst, len(content))
	for {
		n := min(len(content), largestBlock)
		last := 0
		if n == len(content) {
			last = 1
		}
		dst = p.block(dst, content[:n], last)
		if content = content[n:]; last == 1 {
			return dst
		}
	}
}

// block appends a block without sequences (RFC 8878, 3.1.1.2).
func (p *Packer) block(dst, content []byte, last int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0)
	if len(content) >= fewestBytes {
		dst = append(p.appendLiterals(dst, content), 0)
		if size := len(dst) - at - 3; size < len(content) {
			putBlockHeader(dst[at:], last, compressedBlock, size)
			return dst
		}
	}
	putBlockHeader(dst[at:], last, rawBlock, len(content))
	return append(dst[:at+3], content...)
}

// appendLiterals appends a literals section, in the shortest form: RFC 8878, 3.1.1.3.1.
func (p *Packer) appendLiterals(dst, content []byte) []byte {
	var out []byte
	err := huff0.ErrIncompressible
	p.huffman.Reuse = huff0.ReusePolicyNone
	if len(content) >= 1024 {
		out, _, err = huff0.Compress4X(content, &p.huffman)
	} else if len(content) > 32 {
		out, _, err = huff0.Compress1X(content, &p.huffman)
	}
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		return append(plainHeader(dst, rleLiterals, len(content)), content[0])
	case err != nil || len(out)+5 >= len(content):
		return append(plainHeader(dst, rawLiterals, len(content)), content...)
	}
	return append(huffmanHeader(dst, len(content), len(out)), out...)
}

// plainHeader appends the Literals_Section_Header of raw literals, or of one byte that is repeated:
// RFC 8878, 3.1.1.3.1.1.
func plainHeader(dst []byte, kind, size int) []byte {
	switch {
	case size < 1<<5:
		return append(dst, byte(kind|size<<3))
	case size < 1<<12:
		return binary.LittleEndian.AppendUint16(dst, uint16(kind|1<<2|size<<4))
	}
	v := kind | 3<<2 | size<<4
	return append(dst, byte(v), byte(v>>8), byte(v>>16))
}

// huffmanHeader appends the Literals_Section_Header of literals in Huffman codes: of one stream
// below 1024 bytes, of four streams from there on.
func huffmanHeader(dst []byte, size, coded int) []byte {
	format, width := uint64(3), 18
	switch most := bits.Len(uint(max(size, coded))); {
	case size < 1024:
		format, width = 0, 10
	case most <= 10:
		format, width = 1, 10
	case most <= 14:
		format, width = 2, 14
	}
	v := uint64(compressedLiterals) | format<<2 | uint64(size)<<4 | uint64(coded)<<(4+width)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return append(dst, b[:(4+2*width+7)/8]...)
}

// Words appends a frame whose content is the values, little-endian, eight bytes each. It is not ok,
// and appends nothing, unless there are between 16 and 16384 values, all at least 0 and below 2^40.
// Each value is encoded as its lower bytes, which are literals, as many as the largest value has,
// and a match of its upper bytes, zeros, with those of the value before it. The match may go on
// over values that repeat.
func (p *Packer) Words(dst []byte, values []int64) (_ []byte, ok bool) {
	all, repeats, last := uint64(0), 0, int64(-1)
	for _, v := range values {
		all |= uint64(v)
		if v == last {
			repeats++
		}
		last = v
	}
	// How many bytes of each value are literals.
	width := max(1, (bits.Len64(all)+7)/8)
	if width > 5 || len(values) < fewestWords || len(values) > largestBlock/8 {
		return dst, false
	}
	dst = beginFrame(dst, 8*len(values))
	dst = firstWords(dst, values[0], values[1], width)

	// A match that goes on over repeated values saves their literals, and costs match lengths that
	// differ, about a bit each: where few values repeat, or a value is a byte or two, that doesn't
	// pay.
	runs := width > 2 && repeats > len(values)/4 || repeats > len(values)*7/8
	// The second block: literals, and then matches.
	rest := values[2:]
	need := len(rest)*width + 8
	if cap(p.literals) < need {
		p.literals = make([]byte, need)
	}
	literals, n := p.literals[:need], 0
	at := len(dst)
	if !runs {
		for _, v := range rest {
			binary.LittleEndian.PutUint64(literals[n:], uint64(v))
			n += width
		}
		dst = appendAlike(p.appendLiterals(append(dst, 0, 0, 0), literals[:n]), len(rest), 8-width, byte(width), 0)
		putBlockHeader(dst[at:], 1, compressedBlock, len(dst)-at-3)
		return dst, true
	}
	p.matches.reset()
	for i := 0; i < len(rest); {
		v, times := rest[i], 1
		for i+times < len(rest) && rest[i+times] == v {
			times++
		}
		binary.LittleEndian.PutUint64(literals[n:], uint64(v))
		n += width
		p.matches.add(8*times - width)
		i += times
	}
	dst = p.appendLiterals(append(dst, 0, 0, 0), literals[:n])
	dst = p.matches.append(dst, byte(width), 0)
	putBlockHeader(dst[at:], 1, compressedBlock, len(dst)-at-3)
	return dst, true
}

// firstWords appends a block of two values. Its only sequence copies from eight bytes back. Eight
// is the third of the three repeated offsets that every frame begins with (RFC 8878, 3.1.1.5); from
// then on it is the first of them.
func firstWords(dst []byte, first, second int64, width int) []byte {
	at := len(dst)
	dst = plainHeader(append(dst, 0, 0, 0), rawLiterals, 8+width)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(first))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(second))[:len(dst)+width]
	// Its offset code has an extra bit.
	dst = append(dst, 1, alikeSequences, byte(8+width), 1, byte(8-width-shortestMatch), 3)
	putBlockHeader(dst[at:], 0, compressedBlock, len(dst)-at-3)
	return dst
}
