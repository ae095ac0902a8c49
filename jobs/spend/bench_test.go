//go:build !fuzz

package spend

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// BenchmarkRead reads and checks a file of each format, and gives records a second on one core.
func BenchmarkRead(b *testing.B) {
	const rows = 200_000
	var text, lines bytes.Buffer
	var table []spendRow
	usd := "usd"
	text.WriteString(columnNames + ",engaged_at\n")
	at := time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC)
	for i := range rows {
		when := at.Add(time.Duration(i) * time.Millisecond)
		fmt.Fprintf(&text, "%s,cpi,USD,%d.%05d,nightly,%s\n", id(i), i%9, i%100_000, when.Format(time.RFC3339))
		fmt.Fprintf(&lines,
			`{"cost_id":"%s","cost_type":"cpi","cost_currency":"USD","cost_amount":%d.%05d,"tag":"nightly","engaged_at":"%s"}`+"\n", id(i), i%9, i%100_000, when.Format(time.RFC3339))
		table = append(table, spendRow{CostID: id(i), Type: "cpi", Currency: &usd, Amount: int64(i), Tag: "nightly",
			At: when})
	}
	for _, file := range []struct {
		name string
		data []byte
	}{
		{"csv", text.Bytes()}, {"jsonl", lines.Bytes()}, {"csv.gz", gzipped(b, text.Bytes())},
		{"csv.zst", zstandard(b, text.Bytes())},
		{"parquet", parquetFile(b, table, parquet.Compression(&parquet.Snappy))},
	} {
		b.Run(file.name, func(b *testing.B) {
			c := newReader(timed, nil, time.UTC)
			b.ReportAllocs()
			b.SetBytes(int64(len(file.data)))
			for b.Loop() {
				n := 0
				err := read(context.Background(), bytes.NewReader(file.data), c, b.TempDir(), func([]string) {},
					func(l *line) error {
						if l.refused == nil && l.record.ID() != [16]byte{} {
							n++
						}
						return nil
					})
				if err != nil || n != rows {
					b.Fatalf("%d records, %v", n, err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
