//go:build !fuzz

package table

import (
	"io"

	"github.com/reportferry/reportferry/internal/bench"
)

// windowColumns are those of a week as a marketing team fetches it: eight dimensions, nine metrics.
var windowColumns = func() (all []Column) {
	for _, c := range bench.Shapes()[0].Columns() {
		all = append(all, Column{Name: c.Name, Source: c.Name, Type: c.Type, Dimension: c.Dimension,
			Additive: c.Additive()})
	}
	return all
}()

// windowAnswer is the CSV text of such a week.
func windowAnswer(seed uint64, rows int64, shuffled bool) io.Reader {
	s := bench.Shapes()[0]
	s.Rows, s.Shuffled = rows, shuffled
	return bench.NewAnswer(s, seed)
}

func windowOptions(dir string, b *Budget) Options {
	return Options{Columns: windowColumns, Partitions: bench.Days(), Dir: dir, Budget: b,
		Metadata: map[string]string{"table": "bench"}}
}
