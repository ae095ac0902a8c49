//go:build !fuzz

package table

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A window of seven days as a marketing team fetches it: eight dimensions, five counts, three sums of money, one ratio.
var windowColumns = []Column{
	{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
	{Name: "app", Source: "app", Type: catalog.String, Dimension: true},
	{Name: "app_token", Source: "app_token", Type: catalog.String, Dimension: true},
	{Name: "partner_name", Source: "partner_name", Type: catalog.String, Dimension: true},
	{Name: "campaign_network", Source: "campaign_network", Type: catalog.String, Dimension: true},
	{Name: "campaign_id_network", Source: "campaign_id_network", Type: catalog.String, Dimension: true},
	{Name: "country_code", Source: "country_code", Type: catalog.String, Dimension: true},
	{Name: "os_name", Source: "os_name", Type: catalog.String, Dimension: true},
	{Name: "impressions", Source: "impressions", Type: catalog.Int64, Additive: true},
	{Name: "clicks", Source: "clicks", Type: catalog.Int64, Additive: true},
	{Name: "installs", Source: "installs", Type: catalog.Int64, Additive: true},
	{Name: "sessions", Source: "sessions", Type: catalog.Int64, Additive: true},
	{Name: "daus", Source: "daus", Type: catalog.Int64},
	{Name: "cost", Source: "cost", Type: catalog.Decimal, Additive: true},
	{Name: "network_cost", Source: "network_cost", Type: catalog.Decimal, Additive: true},
	{Name: "all_revenue", Source: "all_revenue", Type: catalog.Decimal, Additive: true},
	{Name: "retention_rate_d7", Source: "retention_rate_d7", Type: catalog.Double},
}

// windowReader makes the answer for a window, row by row, up to a number of bytes.
type windowReader struct {
	random   *rand.Rand
	left     int64 // bytes still to make
	total    int64
	shuffled bool
	rest     []byte
	row      []byte
	rows     int64
}

func newWindowReader(seed uint64, bytes int64, shuffled bool) *windowReader {
	names := make([]string, len(windowColumns))
	for i, c := range windowColumns {
		names[i] = c.Source
	}
	return &windowReader{
		random: rand.New(rand.NewPCG(seed, 1)), left: bytes, total: bytes, shuffled: shuffled,
		rest: []byte(strings.Join(names, ",") + "\n"),
	}
}

var (
	partners  = []string{"Organic", "Google Ads ACI", `"Meta, Inc. ""Installs"""`, "AppLovin", "Unity Ads", `"Mintegral, 汇量"`, "TikTok for Business"}
	countries = []string{"us", "de", "fr", "jp", "br", "in", "kr", "gb", "unknown"}
)

func (w *windowReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(w.rest) == 0 {
			if w.left <= 0 {
				break
			}
			w.rest = w.next()
			w.left -= int64(len(w.rest))
			w.rows++
		}
		k := copy(p[n:], w.rest)
		n, w.rest = n+k, w.rest[k:]
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (w *windowReader) next() []byte {
	r := w.random
	day := (w.total - w.left) * 7 / (w.total + 1)
	if w.shuffled {
		day = int64(r.IntN(7))
	}
	bits := r.Uint64()
	campaign := r.IntN(3000)
	b := append(w.row[:0], "2026-03-0"...)
	b = append(b, byte('1'+day))
	b = append(b, ",App "...)
	app := campaign % 12
	b = strconv.AppendInt(b, int64(app), 10)
	b = append(b, ",tok"...)
	b = strconv.AppendInt(b, int64(app)*7919+100000000, 10)
	b = append(b, ',')
	b = append(b, partners[campaign%len(partners)]...)
	b = append(b, ",UA_Campaign_"...)
	b = strconv.AppendInt(b, int64(campaign), 10)
	b = append(b, "_ROAS,"...)
	b = strconv.AppendInt(b, int64(campaign)*1234567+20000000000, 10)
	b = append(b, ',')
	b = append(b, countries[bits%9]...)
	if bits&16 == 0 {
		b = append(b, ",ios"...)
	} else {
		b = append(b, ",android"...)
	}
	for i := range 5 {
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(bits>>(8*i)&0xffff>>(2*i)), 10)
	}
	for i := range 3 {
		b = append(b, ',')
		b = strconv.AppendFloat(b, float64(r.IntN(1_000_000>>(2*i)))/100, 'f', 2, 64)
	}
	b = append(b, ",0."...)
	b = strconv.AppendInt(b, int64(bits>>48), 10)
	w.row = append(b, '\n')
	return w.row
}

func windowOptions(dir string, b *Budget) Options {
	o := Options{Columns: windowColumns, Dir: dir, Budget: b, Metadata: map[string]string{"table": "bench"}}
	for day := range 7 {
		o.Partitions = append(o.Partitions, civil.Date{Year: 2026, Month: 3, Day: 1 + day})
	}
	return o
}

// conversion is what a process of its own measured.
type conversion struct {
	Bytes, Out, Rows, Mallocs, Peak int64
	Seconds                         float64
}

// convertWindows converts so many windows at once in this process.
func convertWindows(bytes int64, shuffled bool, windows int) (c conversion, err error) {
	dir, err := os.MkdirTemp("", "table-bench-")
	if err != nil {
		return c, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	budget := NewBudget(DefaultBudget)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	results := make([]conversion, windows)
	errs := make([]error, windows)
	var wg sync.WaitGroup
	for i := range windows {
		wg.Go(func() { results[i], errs[i] = convertWindow(dir, budget, newWindowReader(uint64(i), bytes, shuffled)) })
	}
	wg.Wait()
	c.Seconds = time.Since(began).Seconds()
	runtime.ReadMemStats(&after)
	c.Mallocs = int64(after.Mallocs - before.Mallocs)
	for i, r := range results {
		if errs[i] != nil {
			return c, errs[i]
		}
		c.Bytes, c.Out, c.Rows = c.Bytes+r.Bytes, c.Out+r.Out, c.Rows+r.Rows
	}
	c.Peak, err = peakMemory()
	return c, err
}

func convertWindow(dir string, budget *Budget, r *windowReader) (conversion, error) {
	c, err := New(windowOptions(dir, budget))
	if err != nil {
		return conversion{}, err
	}
	defer c.Abort()
	if err := c.Read(context.Background(), r); err != nil {
		return conversion{}, err
	}
	parts, err := c.Finish()
	result := conversion{Bytes: r.total, Rows: r.rows}
	for _, p := range parts {
		result.Out += p.Size
	}
	return result, err
}

// peakMemory is the largest resident set of this process so far (proc(5), VmHWM).
func peakMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}

const childVariable = "TABLE_BENCH_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVariable); spec != "" {
		var bytes int64
		var shuffled bool
		var windows int
		if _, err := fmt.Sscan(spec, &bytes, &shuffled, &windows); err != nil {
			panic(err)
		}
		c, err := convertWindows(bytes, shuffled, windows)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(c)
		}
		if err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// BenchmarkWindow converts generated windows, each in a process of its own, so that the peak is its own:
//
//	go test ./internal/table -run '^$' -bench Window -benchtime 1x
func BenchmarkWindow(b *testing.B) {
	for _, c := range []struct {
		name     string
		bytes    int64
		shuffled bool
		windows  int
	}{
		{"200MB", 200e6, false, 1},
		{"200MB-shuffled", 200e6, true, 1},
		{"2GB", 2e9, false, 1},
		{"four-windows-of-200MB", 200e6, false, 4},
		{"four-windows-of-200MB-shuffled", 200e6, true, 4},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				child := exec.Command(os.Args[0])
				child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %t %d", childVariable, c.bytes, c.shuffled, c.windows))
				child.Stderr = os.Stderr
				out, err := child.Output()
				if err != nil {
					b.Fatal(err)
				}
				var r conversion
				if err := json.Unmarshal(out, &r); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.Peak)/(1<<20), "MiB-peak")
				b.ReportMetric(float64(r.Bytes)/1e6/r.Seconds, "MB/s")
				b.ReportMetric(float64(r.Mallocs)/float64(r.Rows), "allocs/row")
				b.ReportMetric(float64(r.Out)/1e6, "MB-out")
				b.ReportMetric(float64(r.Rows), "rows")
			}
		})
	}
}

// BenchmarkGenerator is the time that the other benchmarks spend on making their input.
func BenchmarkGenerator(b *testing.B) {
	b.SetBytes(200e6)
	for b.Loop() {
		if _, err := io.Copy(io.Discard, newWindowReader(1, 200e6, false)); err != nil {
			b.Fatal(err)
		}
	}
}
