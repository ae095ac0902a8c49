//go:build !fuzz

package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

func footer(t *testing.T, p Part) (m format.FileMetaData, size int) {
	t.Helper()
	data, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	size = int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	if err := thrift.Unmarshal(&protocol, data[len(data)-8-size:len(data)-8], &m); err != nil {
		t.Fatal(err)
	}
	return m, size
}

// The wrong cell of an answer is named by its row and line, whatever lies before it and wherever
// blocks end.
func TestErrorPlaces(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	names := []string{"a", "", `"a ""b"""`, "\"two\nlines\"", "\"crlf\r\ninside\"", "\"汇\n\n量\"", "cr\rinside", `""""`,
		strings.Repeat("long", 20)}
	for n := range 500 {
		rows, line := 1+r.IntN(40), int64(2)
		wrong := r.IntN(rows)
		var csv strings.Builder
		var want CellError
		csv.WriteString(smallHeader)
		for row := range rows {
			cells := []string{"2026-01-01", names[r.IntN(len(names))], "12", "3.5", "0.25", names[r.IntN(len(names))]}
			if row == wrong {
				want = CellError{Row: int64(row + 1), Line: line}
				switch r.IntN(5) {
				case 0:
					cells[2], want.Column, want.Value = "1-2", "installs", `"1-2"`
				case 1:
					cells[3], want.Column, want.Value = "1:2", "cost", `"1:2"`
				case 2:
					cells[4], want.Column, want.Value = "123456789x", "rate", `"123456789x"`
				case 3:
					cells[0], want.Column, want.Value = "2026-01-09", "day", `"2026-01-09"`
				case 4:
					cells = append(cells[:3], "4") // two cells less
				}
			} else if row > wrong && r.IntN(3) == 0 {
				cells[2] = "x" // later ones don't matter
			}
			text := strings.Join(cells, ",") + []string{"\n", "\r\n"}[r.IntN(2)]
			line += int64(strings.Count(text, "\n"))
			csv.WriteString(text)
		}
		c, err := New(smallOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		c.csv.scanner.buffer = make([]byte, 300+r.IntN(500))
		err = c.Read(context.Background(), strings.NewReader(csv.String()))
		c.Abort()
		var got *CellError
		if !errors.As(err, &got) || got.Row != want.Row || got.Line != want.Line || got.Column != want.Column ||
			want.Value != "" && got.Value != want.Value {
			t.Fatalf("answer %d: %v, want %+v\n%q", n, err, want, csv.String())
		}
	}
}

// Converters at once share the budget and the compressor, and nothing else.
func TestFourAtOnce(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if _, err := text.ReadFrom(windowAnswer(11, 25_000, true)); err != nil {
		t.Fatal(err)
	}
	want, err := convert(windowOptions(t.TempDir(), nil), bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(4 << 20)
	var all [4][]Part
	var wg sync.WaitGroup
	for i := range all {
		dir := t.TempDir()
		wg.Go(func() {
			var err error
			if all[i], err = convert(windowOptions(dir, budget), bytes.NewReader(text.Bytes())); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, parts := range all {
		for k, p := range parts {
			if p.Hash != want[k].Hash || p.Sums["cost"] != want[k].Sums["cost"] {
				t.Errorf("converter %d: part %s is another", i, p.Partition)
			}
			if rows, hash, err := measure(p, windowColumns); err != nil || rows != p.Rows || hash != p.Hash {
				t.Errorf("converter %d: part %s measures %d rows and %s: %v", i, p.Partition, rows, hash, err)
			}
		}
	}
}
