//go:build !fuzz

package zstdframe

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// BenchmarkPages packs the pages that package parquet gives to this one, and the same bytes with
// klauspost's encoder. The figures in the package doc are its figures:
//
//	go test ./internal/parquet/zstdframe -run '^$' -bench Pages -cpu 1 -count 5
func BenchmarkPages(b *testing.B) {
	const rows = 8192
	r := rand.New(rand.NewPCG(1, 2))
	counts, money, repeated := make([]int64, rows), make([]int64, rows), make([]int64, rows)
	var countries, campaigns []byte // dictionary indexes of four bits, of few values and skewed; of two bytes
	for i := range rows {
		counts[i] = int64(r.IntN(1 << r.IntN(18)))
		money[i] = counts[i] * int64(5+r.IntN(200)) * 10_000
		if repeated[i] = money[i]; i > 0 && r.IntN(10) < 6 {
			repeated[i] = repeated[i-1]
		}
		country := func() byte { return byte(min(r.IntN(16), r.IntN(16))) }
		if i%2 == 0 {
			countries = append(countries, country()|country()<<4)
		}
		campaigns = binary.LittleEndian.AppendUint16(campaigns, uint16(r.ExpFloat64()*300))
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(512<<10),
		zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		b.Fatal(err)
	}
	var p Packer
	run := func(name string, content []byte, pack func(dst []byte) []byte) {
		for _, way := range []struct {
			name string
			pack func(dst []byte) []byte
		}{{"ours", pack}, {"klauspost", func(dst []byte) []byte { return encoder.EncodeAll(content, dst) }}} {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				var frame []byte
				b.SetBytes(int64(len(content)))
				b.ReportAllocs()
				for b.Loop() {
					frame = way.pack(frame[:0])
				}
				b.ReportMetric(float64(len(frame))/float64(len(content)), "size")
			})
		}
	}
	for name, values := range map[string][]int64{"counts": counts, "money": money, "repeated": repeated} {
		var content []byte
		for _, v := range values {
			content = binary.LittleEndian.AppendUint64(content, uint64(v))
		}
		run(name, content, func(dst []byte) []byte {
			dst, ok := p.Words(dst, values)
			if !ok {
				b.Fatal("the values aren't taken")
			}
			return dst
		})
	}
	run("few-indexes", countries, func(dst []byte) []byte { return p.Bytes(dst, countries) })
	run("indexes", campaigns, func(dst []byte) []byte { return p.Bytes(dst, campaigns) })
}
