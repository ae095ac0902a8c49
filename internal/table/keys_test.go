package table

import (
	"context"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Rows of one key are counted in each partition, whatever their metrics are; a key of another day is another key.
func TestRepeatedKeys(t *testing.T) {
	day := civil.Date{Year: 2026, Month: 1, Day: 1}
	for name, c := range map[string]struct {
		rows string
		want [2]int64
	}{
		"none":                     {"2026-01-01,a,1\n2026-01-01,b,1\n2026-01-02,a,1\n", [2]int64{0, 0}},
		"once":                     {"2026-01-01,a,1\n2026-01-01,b,1\n2026-01-01,a,2\n2026-01-02,a,1\n", [2]int64{1, 0}},
		"the same row three times": {"2026-01-02,a,1\n2026-01-02,a,1\n2026-01-02,a,1\n", [2]int64{0, 2}},
		"blanks":                   {"2026-01-01,,1\n2026-01-01,,1\n", [2]int64{1, 0}},
	} {
		conv, err := New(Options{
			Columns: []Column{{Name: "day", Source: "day", Type: catalog.Day, Dimension: true}, {Name: "network", Source: "network", Dimension: true},
				{Name: "installs", Source: "installs", Type: catalog.Int64, Additive: true}},
			Route: 0, Partitions: []civil.Date{day, day.AddDays(1)}, Dir: t.TempDir(), Codec: "none",
		})
		if err == nil {
			err = conv.Read(context.Background(), strings.NewReader("day,network,installs\n"+c.rows))
		}
		if err != nil {
			t.Fatal(err)
		}
		parts, err := conv.Finish()
		if err != nil || parts[0].Repeated != c.want[0] || parts[1].Repeated != c.want[1] {
			t.Errorf("%s: %d and %d rows repeat a key, want %v; %v", name, parts[0].Repeated, parts[1].Repeated, c.want, err)
		}
	}
}
