package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzDecodeRows holds the cutting of rows against encoding/csv. Where they differ on purpose:
// encoding/csv skips blank lines, and turns CRLF inside a quoted cell into LF; here a blank line is
// a row with one blank cell, and cells keep their bytes.
func FuzzDecodeRows(f *testing.F) {
	for _, s := range []string{smallAnswer, "a,b\n", "\"a\"\"\",\n\r\n", "a\"b", "\"a\"b", "\"", "\r", "a\r\n\rb\r",
		"\"\r\n\"\r", ",", "\n\n", "\"a\"\r\nb", "\"a\"\rb"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := csv.NewReader(bytes.NewReader(data))
		r.FieldsPerRecord = -1
		want, wantErr := r.ReadAll()
		data = bytes.Clone(data) // cells are changed in place, and the fuzzer's bytes may not be
		sameCuts(t, data)
		sameCuts(t, slices.Concat(data, bytes.Repeat([]byte("x"), 64))) // all of it in whole words
		var got [][]string
		var end cutResult
		for p := 0; p < len(data) && end == wholeRow; {
			cells, next, e := cutRow(data, p, true, nil)
			if end = e; e != wholeRow {
				break
			}
			if line := string(data[p:next]); strings.Trim(line, "\r\n") == "" && strings.Count(line, "\r") < 2 {
				p = next
				continue
			}
			p = next
			undouble(data, cells)
			var row []string
			for _, c := range cells {
				row = append(row, strings.ReplaceAll(string(data[c.start:c.end]), "\r\n", "\n"))
			}
			got = append(got, row)
		}
		if (end != wholeRow) != (wantErr != nil) {
			t.Fatalf("%q ends %d, encoding/csv: %v", data, end, wantErr)
		}
		if end == wholeRow && !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q\n got %q\nwant %q", data, got, want)
		}
	})
}

// FuzzDecodeAnswer converts any rows: they must end in parts or in an error for people, whatever
// the reads, and the parts must hold as many rows as encoding/csv finds.
func FuzzDecodeAnswer(f *testing.F) {
	f.Add([]byte(smallAnswer[strings.Index(smallAnswer, "\n")+1:]))
	f.Add([]byte("2026-01-01,a,1,1,1,n\n2026-01-02,\"\",1e3,1e-9,1e-9,\n"))
	f.Add([]byte("2026-01-01,a,1.0,-1.0000005,-0,n\n\n"))
	f.Add([]byte("2026-01-01,\"a"))
	f.Add([]byte("\r\r"))
	o := smallOptions(f)
	o.Codec = "none" // thousands of files a second
	f.Fuzz(func(t *testing.T, rows []byte) {
		data := append([]byte(smallHeader), rows...)
		parts, err := convert(o, bytes.NewReader(data))
		again, err2 := convert(o, iotest.HalfReader(bytes.NewReader(data)))
		for _, p := range slices.Concat(parts, again) {
			_ = os.Remove(p.Path)
		}
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%q: %v, then %v", data, err, err2)
		}
		if err != nil {
			return
		}
		n := int64(0)
		for i, p := range parts {
			if p.Hash != again[i].Hash || p.Rows != again[i].Rows {
				t.Fatalf("%q: %+v, then %+v", data, p, again[i])
			}
			n += p.Rows
		}
		records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil || int64(len(records)) != n+1 {
			t.Fatalf("%q: %d rows, encoding/csv finds %d records: %v", data, n, len(records), err)
		}
	})
}

// sameCuts holds cutRows against cutRow: the same cells of the same rows, up to where it leaves the
// judgement to cutRow.
func sameCuts(t *testing.T, data []byte) {
	t.Helper()
	first, _, end := cutRow(data, 0, false, nil)
	if end != wholeRow {
		return
	}
	s := specials{data: data, base: -64}
	fast, rows, stopped := cutRows(&s, 0, len(first), nil)
	var slow []cell
	p := 0
	for range rows {
		kept := len(slow)
		if slow, p, end = cutRow(data, p, false, slow); end != wholeRow || len(slow)-kept != len(first) {
			t.Fatalf("%q: a row was cut that ends %d with %d cells", data, end, len(slow)-kept)
		}
	}
	if p != stopped || !slices.Equal(fast, slow) {
		t.Fatalf("%q: cut up to %d into %v, want %d and %v", data, stopped, fast, p, slow)
	}
	if next, _, end := cutRow(data, p, false, nil); rows == 0 && end == wholeRow && len(next) == len(first) &&
		len(data) > p+1 && data[0] != '"' && !bytes.ContainsRune(data, '\r') {
		t.Fatalf("%q: the first row isn't cut", data)
	}
}
