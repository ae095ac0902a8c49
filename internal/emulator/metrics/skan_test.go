package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

const (
	sixWeeks  = "date_period=-40d:-0d"
	byNetwork = "os_name,network"
)

// What SKAdNetwork says is of paid installs on iOS alone.
func TestSKANIsOfPaidIOSAlone(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 45})
	var slugs []string
	for _, defs := range metrics.SkanTables() {
		for _, d := range defs {
			slugs = append(slugs, d.Slug)
		}
	}
	for chunk := range slices.Chunk(slugs, 60) {
		a := emutest.Report(t, s, byNetwork, strings.Join(chunk, ","), sixWeeks)
		for _, row := range a.Rows {
			for i, cell := range row[a.Dims:] {
				roi := strings.HasSuffix(chunk[i], "_roi") // 0/0 - 1
				if (row[0] != "ios" || row[1] == "Organic") && emutest.Double(t, cell) != 0 && !roi {
					t.Errorf("%s of %q is %s", chunk[i], row[:2], cell)
				}
			}
		}
	}
}
