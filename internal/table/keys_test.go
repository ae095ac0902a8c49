package table

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bench"
	"github.com/reportferry/reportferry/internal/catalog"
)

// Rows of one key are counted in each partition, whatever their metrics are; a key of another day
// is another key.
func TestRepeatedKeys(t *testing.T) {
	day := civil.Date{Year: 2026, Month: 1, Day: 1}
	for name, c := range map[string]struct {
		rows string
		want [2]int64
	}{
		"none": {"2026-01-01,a,1\n2026-01-01,b,1\n2026-01-02,a,1\n", [2]int64{0, 0}},
		"once": {"2026-01-01,a,1\n2026-01-01,b,1\n2026-01-01,a,2\n2026-01-02,a,1\n",
			[2]int64{1, 0}},
		"the same row three times": {"2026-01-02,a,1\n2026-01-02,a,1\n2026-01-02,a,1\n", [2]int64{0, 2}},
		"blanks":                   {"2026-01-01,,1\n2026-01-01,,1\n", [2]int64{1, 0}},
	} {
		conv, err := New(Options{
			Columns: []Column{{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
				{Name: "network", Source: "network", Dimension: true},
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
			t.Errorf("%s: %d and %d rows repeat a key, want %v; %v", name, parts[0].Repeated, parts[1].Repeated, c.want,
				err)
		}
	}
}

// BenchmarkKeys tells which part of the processor time of a conversion the check for repeated keys
// takes: the median of pairs, with it and without. Each begins without memory, as a process does.
func BenchmarkKeys(b *testing.B) {
	shapes := bench.Shapes()
	for _, s := range []bench.Shape{shapes[0], shapes[1], shapes[2], {Name: "6 columns"},
		{Name: "6 columns, shuffled", Shuffled: true}} {
		b.Run(s.Name, func(b *testing.B) {
			columns, csv := narrowAnswer(500_000, s.Shuffled)
			if s.Rows > 0 {
				s.Rows /= 15
				columns = nil
				for _, c := range s.Columns() {
					columns = append(columns, Column{Name: c.Name, Source: c.Name, Type: c.Type, Dimension: c.Dimension,
						Additive: c.Additive()})
				}
				var err error
				if csv, err = io.ReadAll(bench.NewAnswer(s, 1)); err != nil {
					b.Fatal(err)
				}
			}
			var parts []float64
			for b.Loop() {
				with := converted(b, columns, csv, true)
				without := converted(b, columns, csv, false) + converted(b, columns, csv, false)
				with += converted(b, columns, csv, true)
				parts = append(parts, 100*(with/without-1))
			}
			slices.Sort(parts)
			b.ReportMetric(parts[len(parts)/2], "%-of-conversion")
		})
	}
}

// converted gives the processor time of a conversion, in ns.
func converted(b *testing.B, columns []Column, csv []byte, keys bool) float64 {
	b.Helper()
	debug.FreeOSMemory()
	c, err := New(Options{Columns: columns, Partitions: bench.Days(), Hold: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	if !keys {
		c.keyColumn = -1
	}
	before := processorTime(b)
	if err = c.Read(context.Background(), bytes.NewReader(csv)); err == nil {
		_, err = c.Finish()
	}
	if err != nil {
		b.Fatal(err)
	}
	return processorTime(b) - before
}

func processorTime(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// narrowAnswer has few columns, of which each row is cheap to convert, and no key twice.
func narrowAnswer(rows int, shuffled bool) ([]Column, []byte) {
	columns := []Column{
		{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
		{Name: "campaign", Source: "campaign", Dimension: true},
		{Name: "country", Source: "country", Dimension: true}, {Name: "installs", Source: "installs",
			Type: catalog.Int64, Additive: true},
		{Name: "clicks", Source: "clicks", Type: catalog.Int64, Additive: true},
		{Name: "cost", Source: "cost", Type: catalog.Decimal, Additive: true},
	}
	var csv bytes.Buffer
	csv.WriteString("day,campaign,country,installs,clicks,cost\n")
	days := bench.Days()
	for i := range rows {
		day := i * len(days) / rows
		if shuffled {
			day = i % len(days)
		}
		fmt.Fprintf(&csv, "%s,%d,country %d,%d,%d,%d.%02d\n", days[day], 20_000_000_000+i/20, i%20, i*7919%300,
			i*104729%20_000, i*31%900, i*17%100)
	}
	return columns, csv.Bytes()
}
