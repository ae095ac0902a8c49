//go:build servers

package pgsink

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/sinks"
)

type bigRow struct {
	Day      int32    `parquet:"day,date"`
	App      string   `parquet:"app,dict"`
	Country  string   `parquet:"country,dict"`
	Network  string   `parquet:"network,dict"`
	Campaign string   `parquet:"campaign,dict"`
	Installs *int64   `parquet:"installs,optional"`
	Clicks   *int64   `parquet:"clicks,optional"`
	Cost     *int64   `parquet:"cost,optional,decimal(6:18)"`
	Revenue  *int64   `parquet:"revenue,optional,decimal(6:18)"`
	Roas     *float64 `parquet:"roas,optional"`
}

func bigPart(t testing.TB, rows int, swapped bool) sinks.Part {
	t.Helper()
	path := filepath.Join(t.TempDir(), "big.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[bigRow](file, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(200_000))
	batch := make([]bigRow, 10_000)
	for n := 0; n < rows; n += len(batch) {
		for i := range batch {
			r := n + i
			installs, clicks, cost, revenue, roas := int64(r%997), int64(r%9973), int64(r)*1_234, int64(r)*98_765,
				float64(r%100)/7
			batch[i] = bigRow{20484, fmt.Sprint("app", r%12), fmt.Sprint("c", r%200), fmt.Sprint("network ", r%40),
				fmt.Sprint("campaign of some length ", r%5000), &installs, &clicks, &cost, &revenue, &roas}
		}
		if _, err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	schema := &sinks.Schema{Period: "day", On: "day", Partitioned: swapped}
	for _, c := range []sinks.Column{
		{Name: "day", Type: sinks.Date}, {Name: "app", Type: sinks.String}, {Name: "country", Type: sinks.String},
		{Name: "network", Type: sinks.String},
		{Name: "campaign", Type: sinks.String}, {Name: "installs", Type: sinks.Int64},
		{Name: "clicks", Type: sinks.Int64}, {Name: "cost", Type: sinks.Decimal},
		{Name: "revenue", Type: sinks.Decimal}, {Name: "roas", Type: sinks.Double},
	} {
		c.Required = len(schema.Columns) < 5
		schema.Columns = append(schema.Columns, c)
	}
	return sinks.Part{
		Table: "installs", Partition: epoch.AddDays(20484), Rows: int64(rows), Size: size, Run: "run", Schema: schema,
		Hash: "h",
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}
}

func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // it knows this process
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// A part of a million rows of ten columns, put over itself: rows a second, this process's share of
// the time, and its memory.
func BenchmarkPut(b *testing.B) {
	const rows = 1_000_000
	for name, swapped := range map[string]bool{"deleted": false, "swapped": true} {
		b.Run(name, func(b *testing.B) {
			base := newBase(b, theServer(b))
			s := base.open(b, "sslmode=disable")
			p := bigPart(b, rows, swapped)
			mustPut(b, s, p)
			began := cpu()
			var most uint64
			for b.Loop() {
				mustPut(b, s, p)
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric((cpu()-began).Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(most)/1e6, "heap-MB")
			b.ReportMetric(float64(p.Size)/1e6, "file-MB")
		})
	}
}

// The same file encoded for COPY, and thrown away: what this program's share of a put can be.
func BenchmarkSource(b *testing.B) {
	p := bigPart(b, 1_000_000, false)
	at, err := locate(p)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		file, err := openPart(b.Context(), &putCall{at: at, part: p})
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, file)
		if err != nil || file.stop() != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}
