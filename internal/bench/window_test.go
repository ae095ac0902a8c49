package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkWindow converts answers by the converter alone, and while they are kept as they come, in
// turn. One answer is given one core and two, because the copy has a goroutine of its own:
//
//	go test ./internal/bench -run '^$' -bench Window -benchtime 3x
func BenchmarkWindow(b *testing.B) {
	for _, s := range Shapes()[:2] {
		s.Rows = int64(float64(s.Rows) * *rowsFlag)
		dir := b.TempDir()
		var files []string
		var sizes int64
		for i := range 4 {
			file, n := writeAnswer(b, dir, s, uint64(i))
			files, sizes = append(files, file), sizes+n
		}
		for _, c := range []struct{ windows, cores int }{{1, 1}, {1, 2}, {4, 2}} {
			for _, keep := range []string{"", ", kept"} {
				b.Run(fmt.Sprintf("%s, %d at once, cores %d%s", s.Name, c.windows, c.cores, keep), func(b *testing.B) {
					k := task{Contender: ours, Files: files[:c.windows], Dir: filepath.Join(dir, "out"), Shape: s,
						Cores: c.cores}
					if keep != "" {
						k.Raw = filepath.Join(dir, "raw")
					}
					window(b, k, sizes*int64(c.windows)/4)
				})
			}
		}
	}
}

// window does a task again and again. Times are the least of all, because the machine may be busy
// with other things; the peak is the highest.
func window(b *testing.B, k task, size int64) {
	wall, cpu, out, peak, made := 1e9, 1e9, int64(0), int64(0), uint64(0)
	for b.Loop() {
		r := k.run(b, "")
		wall, cpu, peak, made = min(wall, r.Wall), min(cpu, r.CPU), max(peak, r.Peak), r.Made
		out = 0
		for _, f := range r.Files {
			info, err := os.Stat(f)
			if err != nil {
				b.Fatal(err)
			}
			out += info.Size()
		}
		if err := os.RemoveAll(k.Dir); err != nil {
			b.Fatal(err)
		}
		if k.Raw == "" {
			continue
		}
		if err := os.RemoveAll(k.Raw); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/1e6/wall, "MB/s")
	b.ReportMetric(cpu, "cpu-s")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	b.ReportMetric(float64(made)/float64(k.Shape.Rows)/float64(len(k.Files)), "allocs/row")
	b.ReportMetric(float64(out)/1e6, "MB-out")
}
