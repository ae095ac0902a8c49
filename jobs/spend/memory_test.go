package spend

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

var longRows = flag.Int("rows", 500_000, "rows of a long CSV file: 17,500,000 are a gigabyte")

// TestLongFilesInMemory reads the same records from a plain CSV file and from one with semicolons,
// decimal commas and Windows-1252, and holds the memory of both: it is a block or two, however long
// a file is. The bound is less than the file has.
func TestLongFilesInMemory(t *testing.T) {
	slow.Test(t)
	rows := *longRows
	if testing.Short() {
		rows = min(rows, 50_000)
	}
	f := partnerFormat
	f.Encoding, f.Zone = "windows-1252", time.UTC
	for _, kind := range []struct {
		name, head, row string
		m               files.Mapping
	}{
		{"plain", columnNames + ",engaged_at\n", "id%014x,cpi,EUR,%d.%02d,Frühling,2026-01-31T08:30:00Z\n",
			mapping(nil, nil, files.Format{})},
		{"semicolons", "cost_id;cost_type;cost_currency;cost_amount;tag;engaged_at\n",
			"id%014x;cpi;EUR;%d,%02d;Fr\xfchling;31.01.2026 08:30\n", mapping(nil, nil, f)},
	} {
		t.Run(kind.name, func(t *testing.T) {
			in := &growing{head: kind.head, row: kind.row, rows: rows}
			before, peak := heap(), watch(t)
			began, n := time.Now(), 0
			at := time.Date(2026, 1, 31, 8, 30, 0, 0, time.UTC)
			err := read(context.Background(), in, newReader(kind.m, nil, time.UTC), t.TempDir(), func([]string) {},
				func(l *line) error {
					c := l.record
					if l.refused != nil {
						return l.refused
					}
					if want := fmt.Sprintf("id%014x", n); c.CostID != want || c.Tag != "Frühling" ||
						!c.Engaged.Equal(at) ||
						c.Amount != amountOf(n) {
						return fmt.Errorf("row %d is %+v", n, c)
					}
					n++
					return nil
				})
			most := peak() - before
			t.Logf("%d rows, %d MB: %v, %d MiB of memory more than before", n, in.made>>20,
				time.Since(began).Round(10*time.Millisecond), most>>20)
			if err != nil || n != rows {
				t.Errorf("%d rows, want %d: %v", n, rows, err)
			}
			if most > 24<<20 {
				t.Errorf("%d MiB of memory, want 24 at most", most>>20)
			}
		})
	}
}

// amountOf is the amount of row n, as it is sent.
func amountOf(n int) string {
	return trimmed(fmt.Sprintf("%d.%02d", n%90_000/100, n%100))
}

// trimmed is a decimal without zeros at its end.
func trimmed(text string) string {
	return string(bytes.TrimSuffix(bytes.TrimRight([]byte(text), "0"), []byte(".")))
}

// growing is a file that is made while it is read.
type growing struct {
	head, row string
	rows      int
	next      int
	buffer    []byte
	made      int64
}

func (g *growing) Read(p []byte) (int, error) {
	for len(g.buffer) < len(p) && g.next < g.rows {
		if g.next == 0 {
			g.buffer = append(g.buffer, g.head...)
		}
		g.buffer = fmt.Appendf(g.buffer, g.row, g.next, g.next%90_000/100, g.next%100)
		g.next++
	}
	n := copy(p, g.buffer)
	g.buffer = g.buffer[:copy(g.buffer, g.buffer[n:])]
	g.made += int64(n)
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
