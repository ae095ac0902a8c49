package bench

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/raw"
)

var (
	duckFolder = flag.String("duckdb", "",
		"folder into which npm put @duckdb/node-api: then all is measured and printed")
	rowsFlag   = flag.Float64("rows", 1, "the part of every answer's rows that is made")
	pairs      = flag.Int("pairs", 5, "paired runs; the table has their medians")
	only       = flag.String("shape", "", "measure only the shapes whose names begin so")
	contending = flag.String("contenders", "", "measure only these and ours, by commas")
	bigRows    = flag.Int64("big", 0,
		"rows of an answer that isn't stored, to see the peak of memory: 70 million have 10 GB")
)

// TestTable converts every shape by every contender and compares what their files hold. With
// -duckdb it prints a table.
func TestTable(t *testing.T) {
	slow.Test(t)
	names := []string{ours, arrowG, plain}
	if *duckFolder == "" {
		*rowsFlag, *pairs = 0.004, 1
	} else {
		names = []string{ours, duckDB, arrowG, plain}
	}
	if *contending != "" {
		names = append([]string{ours}, strings.Split(*contending, ",")...)
	}
	for _, s := range Shapes() {
		if !strings.HasPrefix(s.Name, *only) {
			continue
		}
		s.Rows = int64(float64(s.Rows) * *rowsFlag)
		t.Run(s.Name, func(t *testing.T) { compare(t, s, names) })
	}
}

func compare(t *testing.T, s Shape, names []string) {
	dir := t.TempDir()
	in, size := writeAnswer(t, dir, s, 1)
	all := map[string][]result{}
	contents := map[string]content{}
	for pair := range *pairs {
		for _, name := range names {
			k := task{Contender: name, Files: []string{in}, Dir: filepath.Join(dir, fmt.Sprint(name, pair)), Shape: s,
				Cores: 1}
			r := k.run(t, *duckFolder)
			all[name] = append(all[name], r)
			if pair == 0 {
				c, err := readBack(r.Files)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range r.Files {
					info, err := os.Stat(f)
					if err != nil {
						t.Fatal(err)
					}
					c.bytes += info.Size()
				}
				contents[name] = c
				if d := c.differs(contents[ours]); d != "" || c.rows != s.Rows {
					t.Fatalf("%s and %s don't hold the same %d rows: %s", name, ours, s.Rows, d)
				}
			}
			if err := os.RemoveAll(k.Dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *duckFolder == "" {
		return
	}
	printTable(s, size, names, all, contents)
}

func writeAnswer(t testing.TB, dir string, s Shape, seed uint64) (name string, size int64) {
	t.Helper()
	name = filepath.Join(dir, fmt.Sprintf("%d.csv", seed))
	f, err := os.Create(name)
	if err == nil {
		size, err = io.Copy(f, NewAnswer(s, seed))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return name, size
}

func printTable(s Shape, size int64, names []string, all map[string][]result, contents map[string]content) {
	fmt.Printf("\n%s: %d rows, %.0f MB, one core, medians of %d; values read back and equal\n", s.Name, s.Rows,
		float64(size)/1e6, *pairs)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\twall s\tMB/s\tCPU s\tpeak MiB\tMB\twall : ours\tCPU : ours\tbytes : ours\t")
	for _, name := range names {
		r := all[name]
		wall := median(r, func(i int) float64 { return r[i].Wall })
		_, _ = fmt.Fprintf(w, "%s\t%.2f\t%.0f\t%.2f\t%.0f\t%.1f\t%.2f\t%.2f\t%.2f\t\n", name, wall,
			float64(size)/1e6/wall,
			median(r, func(i int) float64 { return r[i].CPU }),
			median(r, func(i int) float64 { return float64(r[i].Peak) / (1 << 20) }),
			float64(contents[name].bytes)/1e6,
			median(r, func(i int) float64 { return r[i].Wall / all[ours][i].Wall }),
			median(r, func(i int) float64 { return r[i].CPU / all[ours][i].CPU }),
			float64(contents[name].bytes)/float64(contents[ours].bytes))
		if name == duckDB {
			_, _ = fmt.Fprintf(w, "%s, of its\t%.2f\t\t%.2f\t\t%.2f\t\t\t\t\n", ours,
				median(r, func(i int) float64 { return all[ours][i].Wall / r[i].Wall }),
				median(r, func(i int) float64 { return all[ours][i].CPU / r[i].CPU }),
				float64(contents[ours].bytes)/float64(contents[name].bytes))
		}
	}
	_ = w.Flush()
	for _, name := range names {
		types := "those of " + ours
		if name == ours || !slices.Equal(contents[name].types, contents[ours].types) {
			types = shortTypes(contents[name].types)
		}
		fmt.Printf("types by %s: %s\n", name, types)
	}
}

// shortTypes lists types with the number of their repetitions.
func shortTypes(types []string) string {
	var out []string
	for i := 0; i < len(types); {
		n := 1
		for i+n < len(types) && types[i+n] == types[i] {
			n++
		}
		out = append(out, fmt.Sprintf("%d %s", n, types[i]))
		i += n
	}
	return strings.Join(out, ", ")
}

func median(r []result, of func(i int) float64) float64 {
	values := make([]float64, len(r))
	for i := range values {
		values[i] = of(i)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// TestTwoWindows converts two answers at once on two cores: beside one on one core, by the same
// bytes.
func TestTwoWindows(t *testing.T) {
	if *duckFolder == "" {
		*rowsFlag, *pairs = 0.004, 1
	}
	s := Shapes()[0]
	s.Rows = int64(float64(s.Rows) * *rowsFlag)
	dir := t.TempDir()
	a, _ := writeAnswer(t, dir, s, 1)
	b, _ := writeAnswer(t, dir, s, 2)
	var ratios []result
	for i := range *pairs {
		one := task{Contender: ours, Files: []string{a}, Dir: filepath.Join(dir, fmt.Sprint("one", i)), Shape: s,
			Cores: 1}.run(t, "")
		two := task{Contender: ours, Files: []string{a, b}, Dir: filepath.Join(dir, fmt.Sprint("two", i)), Shape: s,
			Cores: 2}.run(t, "")
		ratios = append(ratios, result{Wall: 2 * one.Wall / two.Wall, CPU: two.CPU / 2 / one.CPU, Peak: two.Peak})
		c, err := readBack(two.Files)
		if err != nil || c.rows != 2*s.Rows {
			t.Fatalf("%d rows of %d (%v)", c.rows, 2*s.Rows, err)
		}
	}
	t.Logf("two windows on two cores: %.2f times the throughput of one core; CPU a window %.2f times; peak %.0f MiB",
		median(ratios, func(i int) float64 { return ratios[i].Wall }),
		median(ratios, func(i int) float64 { return ratios[i].CPU }),
		median(ratios, func(i int) float64 { return float64(ratios[i].Peak) / (1 << 20) }))
}

func byTableAtOnce(files []string, dir string, s Shape, keep *raw.Store) (parts []string, err error) {
	budget := table.NewBudget(table.DefaultBudget)
	results := make([][]string, len(files))
	var group errgroup.Group
	for i, name := range files {
		group.Go(func() error {
			in, err := os.Open(name)
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }()
			kept := keep.Keep(context.Background(), raw.Request{})
			defer kept.Abort()
			if results[i], err = convertAnswer(kept.Tee(in), dir, s, budget); err != nil {
				return err
			}
			info, err := in.Stat()
			if err == nil {
				_, err = kept.Commit(raw.Answer{Status: http.StatusOK, Bytes: info.Size()})
			}
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(results...), err
}

// TestPeakMemory holds the peak of memory: of an answer of any length with -big.
func TestPeakMemory(t *testing.T) {
	slow.Test(t)
	s := Shapes()[1]
	s.Rows = max(*bigRows, 150_000)
	r := task{Contender: ours, Dir: t.TempDir(), Shape: s, Cores: 1}.run(t, "")
	t.Logf("%d rows, made while they are read: %.1f s, peak %.0f MiB", s.Rows, r.Wall, float64(r.Peak)/(1<<20))
	if r.Peak > 150<<20 {
		t.Errorf("the peak is %d MiB; at most 150", r.Peak>>20)
	}
}
