package outbox

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// prior is how many records were pushed before, in eight pushes.
const prior = 30_000_000

// historyDir and historyRows are for a benchmark of the whole program.
var (
	historyDir  = flag.String("history", "", "folder that TestHistory makes a ledger in, of the table nightly_spend")
	historyRows = flag.Int64("prior", prior, "records of that ledger")
)

var benchRows = flag.Int64("rows", 1_000_000, "records of the file that the benchmark pushes")

// spread is a source of made-up records; a tenth of them is among the prior ones.
type spread struct {
	from, to int64
	version  string
}

func (s spread) Stat(context.Context) (Stat, error) { return Stat{Version: s.version}, nil }
func (s spread) Header() []string                   { return nil }
func (s spread) Read(_ context.Context, _ bool, each func(*Record[int64]) error) error {
	r := &Record[int64]{}
	for n := s.from; n < s.to; n++ {
		r.Row, r.Value = n-s.from+1, n
		r.ID, r.Content = mixed(n)
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// mixed is a made-up ID of a number, evenly spread (the finalizer of splitmix64).
func mixed(n int64) (id [16]byte, content uint64) {
	x := uint64(n) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	binary.BigEndian.PutUint64(id[:], x)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id, x
}

// BenchmarkPush pushes a file through a Send that does nothing, with segments on a disk, when 30
// million were pushed before.
func BenchmarkPush(b *testing.B) {
	for _, before := range []int64{0, prior} {
		b.Run(fmt.Sprintf("prior=%d", before), func(b *testing.B) { benchmarkPush(b, before) })
	}
}

func benchmarkPush(b *testing.B, before int64) {
	o := folderBox(b, b.TempDir(), "spend", time.Minute)
	for i := range int64(8) {
		if before > 0 {
			history(b, o, i*before/8, (i+1)*before/8)
		}
	}
	debug.FreeOSMemory()
	fresh := *benchRows
	peak := watch()
	for i := 0; b.Loop(); i++ {
		from := max(0, before-fresh/10) + int64(i)*fresh
		start := time.Now()
		report, err := doFile(b.Context(), o, Task[int64]{
			Name: strconv.Itoa(i), Source: spread{from, from + fresh, "1"},
			Send: func(context.Context, int64) (int, error) { return 0, nil },
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%d sent, %d duplicates, %.0f records/s over all", report.Accepted, report.Duplicates,
			float64(fresh)/time.Since(start).Seconds())
	}
	b.ReportMetric(float64(b.N)*float64(fresh)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
}

// TestHistory puts records on record as another night's: by default a few, in a folder of its own.
func TestHistory(t *testing.T) {
	dir, rows := *historyDir, *historyRows
	if dir == "" {
		dir, rows = t.TempDir(), 80_000
	}
	o := folderBox(t, dir, "nightly_spend", time.Minute)
	for i := range int64(8) {
		history(t, o, i*rows/8, (i+1)*rows/8)
	}
	files, err := o.Files(t.Context())
	if err != nil || len(files) != 8 || files[0].Accepted != rows/8 {
		t.Errorf("%+v, %v", files, err)
	}
}

// history puts a push on record whose records were all accepted.
func history(b testing.TB, o *Outbox, from, to int64) {
	p := &store.Push{States: &store.States{}, Head: store.Head{
		ID: fmt.Sprintf("20260101T000000.000Z-%016x", from), Name: fmt.Sprint("history ", from), Version: "1",
		Started: time.Now().Add(-time.Hour), Ended: time.Now(), Rows: to - from,
	}}
	s := &store.Spool{Dir: b.TempDir()}
	defer s.Close()
	for n := from; n < to; n++ {
		id, content := mixed(n)
		if err := s.Add(store.NewItem(id, content, n-from+1)); err != nil {
			b.Fatal(err)
		}
		p.States.Set(n-from+1, store.Accepted)
	}
	err := o.Hold(b.Context(), func(ctx context.Context, l *Lease) error {
		x, err := o.table.WriteIndex(ctx, p)
		for i := 0; i < store.Buckets && err == nil; i++ {
			var items []store.Item
			items, err = s.Load(i)
			for _, it := range items {
				err = errors.Join(err, x.Add(it))
			}
		}
		if err == nil {
			err = x.Commit(&p.Head)
		}
		if err != nil {
			return err
		}
		l.Put(p)
		return l.Append(ctx, p, p.Whole())
	})
	if err != nil {
		b.Fatal(err)
	}
}

// watch gives a function that ends it and tells the most memory the process had meanwhile, in
// bytes.
func watch() func() int64 {
	var peak atomic.Int64
	stop := make(chan struct{})
	go func() {
		for {
			peak.Store(max(peak.Load(), resident()))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		return peak.Load()
	}
}

// resident is the process's memory by the kernel's count, or, where there is no such file, by the
// runtime's.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 2 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.Sys - m.HeapReleased)
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
