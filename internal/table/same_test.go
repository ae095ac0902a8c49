//go:build !fuzz

package table

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/bench"
	"github.com/reportferry/reportferry/internal/slow"
)

// inPieces reads as a network does: some bytes at a time. It ends when all have been read that
// share its budget, so that each holds memory while the others read.
type inPieces struct {
	data []byte
	r    *rand.Rand
	all  *sync.WaitGroup
	done bool
}

func (p *inPieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		if !p.done {
			p.done = true
			p.all.Done()
		}
		p.all.Wait()
		return 0, io.EOF
	}
	n := min(1+p.r.IntN(1<<p.r.IntN(18)), len(b), len(p.data))
	copy(b, p.data[:n])
	p.data = p.data[n:]
	return n, nil
}

// sums are the SHA-256 of the parts' files.
func sums(parts []Part) (all []string, err error) {
	for _, p := range parts {
		f, err := p.Open()
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprintf("%s %x", p.Partition, h.Sum(nil)))
	}
	return all, nil
}

// Equal rows in the same order give equal bytes, however many converters share the budget, on
// however many cores, and however the answers are cut into reads, also where pages had to wait on
// the disk.
func TestSameRowsSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	spilt, most := 0, 8000
	if testing.Short() { // for the race detector: too few rows to need the disk
		most = 2000
	}
	rapid.Check(t, func(t *rapid.T) {
		shape := bench.Shapes()[rapid.IntRange(0, 5).Draw(t, "shape")]
		shape.Rows = int64(rapid.OneOf(rapid.IntRange(1, most), rapid.Just(most)).Draw(t, "rows"))
		budget := rapid.OneOf(rapid.Int64Range(0, 4<<20), rapid.Int64Range(512<<10, 2<<20)).Draw(t, "budget")
		hold := rapid.SampledFrom([]int{0, HoldSmall}).Draw(t, "hold")
		seed := rapid.Uint64().Draw(t, "seed")
		var text bytes.Buffer
		if _, err := io.Copy(&text, bench.NewAnswer(shape, seed)); err != nil {
			t.Fatal(err)
		}
		dir, err := os.MkdirTemp("", "same")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		options := func(b *Budget) Options {
			o := Options{Partitions: bench.Days(), Dir: dir, Hold: hold, Budget: b,
				Metadata: map[string]string{"b": "1", "a": "2", "c": "3"}}
			for _, c := range shape.Columns() {
				o.Columns = append(o.Columns, Column{Name: c.Name, Source: c.Name, Type: c.Type, Dimension: c.Dimension,
					Additive: c.Additive()})
			}
			return o
		}
		parts, err := convert(options(NewBudget(budget)), bytes.NewReader(text.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		want, err := sums(parts)
		if err != nil {
			t.Fatal(err)
		}
		runtime.GOMAXPROCS(rapid.IntRange(1, 4).Draw(t, "cores"))
		shared := NewBudget(budget)
		n := rapid.OneOf(rapid.IntRange(1, mostOpen), rapid.Just(mostOpen)).Draw(t, "converters")
		var wg, all sync.WaitGroup
		all.Add(n)
		var mu sync.Mutex
		for i := range n {
			wg.Go(func() {
				c, err := New(options(shared))
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Abort()
				err = c.Read(context.Background(), &inPieces{data: text.Bytes(),
					r: rand.New(rand.NewPCG(seed, uint64(i))), all: &all})
				mu.Lock()
				if left, _ := os.ReadDir(dir); slices.ContainsFunc(left,
					func(e os.DirEntry) bool { return len(e.Name()) > 6 && e.Name()[:6] == "pages-" }) {
					spilt++
				}
				mu.Unlock()
				var parts []Part
				if err == nil {
					parts, err = c.Finish()
				}
				var got []string
				if err == nil {
					got, err = sums(parts)
				}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("of %d converters at once, number %d: %v\n%q, want\n%q", n, i, err, got, want)
				}
			})
		}
		wg.Wait()
	})
	if spilt == 0 && !testing.Short() {
		t.Error("no page had to wait on the disk: the budgets are larger than meant")
	} else {
		t.Logf("pages of %d answers had to wait on the disk", spilt)
	}
}

// Where days come one after the other, a day's file is the same whatever other days the answer has.
func TestSameDaySameBytes(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for _, shape := range []bench.Shape{bench.Shapes()[0], bench.Shapes()[4]} {
		shape.Rows = 1_400_000
		var text bytes.Buffer
		// Two days, and some of the third.
		if _, err := io.Copy(&text, io.LimitReader(bench.NewAnswer(shape, 5), 60<<20)); err != nil {
			t.Fatal(err)
		}
		header, rows, _ := bytes.Cut(text.Bytes(), []byte("\n"))
		days := bench.Days()
		begins := func(k int) int { return bytes.Index(rows, []byte("\n"+days[k].String())) + 1 }
		first, second, third := begins(1)-2<<20, begins(1), begins(2)
		first += bytes.IndexByte(rows[first:], '\n') + 1
		var alone string
		for _, from := range []int{second, first} {
			o := windowOptions(t.TempDir(), NewBudget(8<<20))
			o.Partitions = days[1:2]
			if from < second {
				o.Partitions = days[:2] // still few enough for pages of the same length
			}
			parts, err := convert(o, bytes.NewReader(slices.Concat(header, []byte("\n"), rows[from:third])))
			if err != nil {
				t.Fatal(err)
			}
			all, err := sums(parts)
			if err != nil {
				t.Fatal(err)
			}
			if m, _ := footer(t, parts[len(parts)-1]); len(m.RowGroups) < 2 {
				t.Fatal("the day is one row group: it is smaller than meant")
			}
			if last := all[len(all)-1]; alone == "" {
				alone = last
			} else if last != alone {
				t.Errorf("%s: beside another day: %s, alone: %s", shape.Name, last, alone)
			}
		}
	}
}
