package spend

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/slow"
)

var anyChecker = newReader(plain, nil, time.UTC)

// fuzzed reads data, and holds what must be so of any file: a record obeys the rules whatever it
// was read from, rows are counted without gaps, and a second reading gives the same.
func fuzzed(t *testing.T, data []byte) (lines []line, err error) {
	t.Helper()
	c := anyChecker
	for pass := range 2 {
		n := 0
		again := read(context.Background(), bytes.NewReader(data), c, "", func([]string) {}, func(l *line) error {
			n++
			if l.row != int64(n) {
				t.Fatalf("row %d after %d", l.row, n-1)
			}
			one := *l
			if pass == 0 {
				lines = append(lines, one)
			} else if first := lines[n-1]; (first.refused == nil) != (one.refused == nil) || first.refused == nil &&
				first.record != one.record {
				t.Fatalf("row %d is %+v the first time and %+v the second", n, first, one)
			}
			if one.refused == nil {
				v := values{one.record.CostID, one.record.Type, one.record.Currency, one.record.Amount, one.record.Tag}
				sent, refused := c.record(&v)
				if sent.Engaged = one.record.Engaged; refused != nil || sent != one.record { // the time isn't sent
					t.Fatalf("%+v would be sent, and isn't right: %v", one.record, refused)
				}
			}
			return nil
		})
		if pass == 0 {
			err = again
		} else if (err == nil) != (again == nil) {
			t.Fatalf("the first time %v, the second %v", err, again)
		}
	}
	return lines, err
}

// FuzzCSV: whatever encoding/csv takes is taken alike; the reader may only stop earlier.
func FuzzCSV(f *testing.F) {
	for _, rows := range []string{"", row(1, "1"), row(1, "1") + "\r\n\n" + row(2, ".5") + ",", "\"" + row(1, "1"),
		row(1, "1\r") + "\"", "a\n\"b\nc\""} {
		f.Add([]byte(columnNames + "\n" + rows))
	}
	f.Add([]byte("\ufeff\"tag\",cost_id"))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append([]byte(columnNames+"\n"), data...)
		if bytes.IndexByte(data[:min(len(data), 4096)], 0) >= 0 {
			return
		}
		lines, err := fuzzed(t, data)
		if err != nil {
			return
		}
		r := csv.NewReader(bytes.NewReader(data))
		r.FieldsPerRecord = -1
		for n := -1; ; n++ {
			cells, err := r.Read()
			if errors.Is(err, io.EOF) {
				if n != len(lines) {
					t.Fatalf("%d rows, want %d", len(lines), n)
				}
				return
			}
			if n >= 0 && err == nil && len(cells) == 5 && lines[n].refused == nil &&
				lines[n].record.CostID != cells[0] {
				t.Fatalf("row %d: %q", n+1, cells)
			}
		}
	})
}

// FuzzJSON: a record is what encoding/json finds in the line.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{}`,
		`{"cost_id":"click-000000001","cost_type":"cpc","cost_currency":"eur","cost_amount":1.50,"tag":"\"\\"}`,
		`{"a":{"b":[1,{"c":"}"}]},"tag":null,"tag":tru`, "{\"cost_id\" :\t\"\\u00e9\"\r\n}", `{"cost\u005fid":"x"}`,
		"[]\n{", `{"a":-0.1e+5 , "tag":true}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append([]byte("{}\n"), data...)
		lines, err := fuzzed(t, data)
		if err != nil || lines == nil {
			return
		}
		n := 0
		for raw := range bytes.Lines(data) {
			if raw = bytes.TrimSpace(raw); len(raw) == 0 {
				continue
			}
			l := lines[n]
			n++
			if l.refused != nil {
				continue
			}
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			var object map[string]any
			if err := d.Decode(&object); err != nil {
				t.Fatalf("%q is taken: %v", raw, err)
			}
			if object["cost_id"] != l.record.CostID || object["tag"] != l.record.Tag &&
				object["tag"] != json.Number(l.record.Tag) &&
				!slices.Contains([]string{"true", "false"}, l.record.Tag) {
				t.Fatalf("%q: %+v", raw, l.record)
			}
		}
		if n != len(lines) {
			t.Fatalf("%d rows, want %d", len(lines), n)
		}
	})
}

// FuzzParquet changes bytes of a good file: the end is records or an error, never a panic.
func FuzzParquet(f *testing.F) {
	usd := "usd"
	rows := []spendRow{{CostID: id(1), Type: "cpi", Currency: &usd, Amount: 5, Tag: "t"},
		{CostID: id(2), Type: "cpc", Amount: 7, Tag: "t"}}
	good := parquetFile(f, rows)
	f.Add(good)
	f.Add(parquetFile(f, append(rows, rows...)))
	f.Add([]byte(strings.Repeat("PAR1", 4)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte("PAR1")) {
			data = append([]byte("PAR1"), data...)
		}
		_, _ = fuzzed(t, data)
	})
}

var mutants = flag.Int("n", 2000, "damaged Parquet files to read")

// Thousands of damaged files, without the fuzzer's cost: each ends in records or an error, and in
// no more memory than a good one may take.
func TestParquetDamaged(t *testing.T) {
	slow.Test(t)
	usd := "usd"
	rows := []spendRow{{CostID: id(1), Type: "cpi", Currency: &usd, Amount: 5, Tag: "t"},
		{CostID: id(2), Type: "cpc", Amount: 7, Tag: "t"}}
	files := [][]byte{parquetFile(t, rows), parquetFile(t, rows, parquet.Compression(&parquet.Zstd)),
		parquetFile(t, rows, parquet.DataPageVersion(1))}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	before := heap()
	peak := watch(t)
	for range *mutants {
		data := bytes.Clone(files[dice.IntN(len(files))])
		for range 1 + dice.IntN(3) {
			data[4+dice.IntN(len(data)-8)] = byte(dice.Uint32())
		}
		_, _ = fuzzed(t, data)
	}
	if got := peak() - before; got > 128<<20 {
		t.Errorf("%d MiB of memory", got>>20)
	}
}
