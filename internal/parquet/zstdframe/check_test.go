package zstdframe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzFrames holds the frames against another's decoder and against what the format asks of them. A
// fuzzer's bytes are a page of bytes, and numbers of so many bytes that each stand in a row so
// often as the next byte says.
func FuzzFrames(f *testing.F) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(decoder.Close)
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 15, 63, 64, 100, 1000, 3000} {
		random := make([]byte, n)
		for i := range random {
			random[i] = byte(r.ExpFloat64() * 20)
		}
		f.Add(random, byte(n), uint16(n))
	}
	var frames Packer
	f.Fuzz(func(t *testing.T, data []byte, shape byte, repeat uint16) {
		content := bytes.Repeat(data, 1+int(repeat)%64)
		packed := frames.Bytes([]byte("before"), content)
		holdFrame(t, decoder, packed[len("before"):], content)
		if len(packed) > len("before")+len(content)+longestHeader(len(content)) {
			t.Fatalf("%d bytes grow to %d", len(content), len(packed))
		}
		holdWords(t, decoder, &frames, fuzzedWords(data, int(shape), int(repeat)))
	})
}

// longestHeader bounds what a frame adds to its content: a header of up to nine bytes, and one of
// three for each block.
func longestHeader(content int) int { return 9 + 3*(1+content/largestBlock) }

func fuzzedWords(data []byte, shape, repeat int) (values []int64) {
	width, most := 1+shape%6, 1+repeat%300
	for p := 0; p+width < len(data) && len(values) < largestBlock/8; p += width + 1 {
		var word [8]byte
		copy(word[:], data[p:p+width])
		for range 1 + int(data[p+width])*most/256 {
			values = append(values, int64(binary.LittleEndian.Uint64(word[:])))
		}
	}
	return values[:min(len(values), largestBlock/8)]
}

// failing is a test of any kind.
type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// holdWords holds the frame of numbers, which there is just for those that fit one.
func holdWords(t failing, decoder *zstd.Decoder, f *Packer, values []int64) {
	t.Helper()
	var plain []byte
	all := int64(0)
	for _, v := range values {
		all |= v
		plain = binary.LittleEndian.AppendUint64(plain, uint64(v))
	}
	frame, ok := f.Words([]byte("before"), values)
	if want := len(values) >= fewestWords && len(values) <= largestBlock/8 && all >= 0 && all < 1<<40; ok != want {
		t.Fatalf("%d words below %d: ok is %v", len(values), all, ok)
	}
	if ok {
		holdFrame(t, decoder, frame[len("before"):], plain)
	}
}

func holdFrame(t failing, decoder *zstd.Decoder, frame, content []byte) {
	t.Helper()
	if err := checkFrame(frame, len(content)); err != nil {
		t.Fatalf("a frame of %d bytes: %v", len(content), err)
	}
	if frame[4]&0x20 == 0 {
		t.Fatalf("a frame of %d bytes is no single segment: %x", len(content), frame[4])
	}
	if got, err := decoder.DecodeAll(frame, nil); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("a frame of %d bytes gives %d: %v", len(content), len(got), err)
	}
}

// checkFrame walks over the blocks of a Zstandard frame and holds what RFC 8878 asks of a writer.
func checkFrame(frame []byte, content int) error {
	if len(frame) < 6 || binary.LittleEndian.Uint32(frame) != 0xfd2fb528 {
		return fmt.Errorf("no frame: %x", frame[:min(len(frame), 8)])
	}
	descriptor := frame[4]
	p, size := 5, uint64(0)
	window := uint64(math.MaxUint64)
	single := descriptor&0x20 != 0
	if !single {
		exponent, mantissa := frame[p]>>3, uint64(frame[p]&7)
		window = 1<<(10+exponent) + 1<<(10+exponent)/8*mantissa
		p++
	}
	if descriptor&0x0f != 0 { // a dictionary, a checksum, reserved or unused bits
		return fmt.Errorf("frame header %x", descriptor)
	}
	switch width := 1 << (descriptor >> 6); {
	case width == 1 && !single: // the general encoder doesn't say how few bytes
		size = uint64(content)
	case width == 1:
		size = uint64(frame[p])
		p++
	case width == 2:
		size = uint64(binary.LittleEndian.Uint16(frame[p:])) + 256
		p += 2
	case width == 4:
		size = uint64(binary.LittleEndian.Uint32(frame[p:]))
		p += 4
	default:
		return fmt.Errorf("frame header %x has no content size of up to four bytes", descriptor)
	}
	if size != uint64(content) {
		return fmt.Errorf("the frame says %d bytes, it holds %d", size, content)
	}
	if single {
		window = size
	}
	for last := false; !last; {
		if len(frame) < p+3 {
			return errors.New("the frame ends without a last block")
		}
		v := int(frame[p]) | int(frame[p+1])<<8 | int(frame[p+2])<<16
		p += 3
		kind, n := v>>1&3, v>>3
		if kind == 3 || uint64(n) > min(window, largestBlock) || kind == compressedBlock && n < 2 {
			return fmt.Errorf("a block of kind %d has %d bytes", kind, n)
		}
		if last = v&1 == 1; kind == 1 {
			n = 1
		}
		p += n
	}
	if p != len(frame) {
		return fmt.Errorf("the last block ends at %d of %d bytes", p, len(frame))
	}
	return nil
}
