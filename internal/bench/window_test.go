package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkWindow converts answers by the converter alone:
//
//	go test ./internal/bench -run '^$' -bench Window -benchtime 3x
func BenchmarkWindow(b *testing.B) {
	for _, s := range Shapes()[:2] {
		for _, windows := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s, %d at once", s.Name, windows), func(b *testing.B) {
				dir := b.TempDir()
				var files []string
				size := int64(0)
				for i := range windows {
					file, n := writeAnswer(b, dir, s, uint64(i))
					files, size = append(files, file), size+n
				}
				rows, wall, out := float64(s.Rows)*float64(windows), 0.0, int64(0)
				var r result
				for b.Loop() {
					k := task{Contender: ours, Files: files, Dir: filepath.Join(dir, "out"), Shape: s, Cores: min(windows, 2)}
					r = k.run(b, "")
					wall += r.Wall
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
				}
				b.ReportMetric(float64(size)/1e6/(wall/float64(b.N)), "MB/s")
				b.ReportMetric(float64(r.Peak)/(1<<20), "MiB-peak")
				b.ReportMetric(float64(r.Made)/rows, "allocs/row")
				b.ReportMetric(float64(out)/1e6, "MB-out")
			})
		}
	}
}
