package outbox

import (
	"context"
	"runtime/debug"
	"testing"
	"time"
)

// alone is a source whose records are all of one ID, or of as many as there are records.
type alone struct {
	spread
	one bool
}

func (s alone) Read(ctx context.Context, sending bool, each func(*Record[int64]) error) error {
	return s.spread.Read(ctx, sending, func(r *Record[int64]) error {
		if s.one {
			r.ID, _ = mixed(7)
		}
		return each(r)
	})
}

// BenchmarkOrder pushes a file in order, with segments on a disk: of as many IDs as records, and of
// one ID alone; then the same file with one more record. 1,000,000 records stay below 150 MiB.
func BenchmarkOrder(b *testing.B) {
	for name, one := range map[string]bool{"IDs=many": false, "IDs=1": true} {
		b.Run(name, func(b *testing.B) {
			o := folderBox(b, b.TempDir(), "sharing", time.Minute)
			debug.FreeOSMemory()
			peak := watch()
			sent := int64(0)
			rows := *benchRows
			if one {
				rows = min(rows, 2000) // each waits until the one before it is on record
			}
			for b.Loop() {
				for more := range int64(2) {
					report, err := doFile(b.Context(), o, Task[int64]{
						Name: "a", Order: "1", Source: alone{spread{0, rows + more, string('1' + rune(more))}, one},
						Send: func(context.Context, int64) (int, error) { return 0, nil },
					})
					if err != nil {
						b.Fatal(err)
					}
					if want := []int64{rows, 1}[more]; report.Sent != want {
						b.Fatalf("%d sent, want %d: %+v", report.Sent, want, report)
					}
					sent += report.Sent
				}
			}
			most := peak()
			b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
			if most > 150<<20 {
				b.Errorf("a peak of %d MiB", most>>20)
			}
		})
	}
}
