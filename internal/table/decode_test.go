package table

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

var (
	smallColumns = []Column{
		{Name: "day", Source: "day", Type: catalog.Day, Dimension: true},
		{Name: "campaign", Source: "campaign", Type: catalog.String, Dimension: true},
		{Name: "installs", Source: "installs", Type: catalog.Int64, Additive: true},
		{Name: "cost", Source: "cost", Type: catalog.Decimal, Additive: true},
		{Name: "rate", Source: "rate", Type: catalog.Double},
		{Name: "note", Source: "note", Type: catalog.String},
	}
	smallHeader = "day,campaign,installs,cost,rate,note\n"
	firstDay    = civil.Date{Year: 2026, Month: 1, Day: 1}
)

func smallOptions(t testing.TB) Options {
	return Options{Columns: smallColumns, Partitions: []civil.Date{firstDay, firstDay.AddDays(1)}, Dir: t.TempDir()}
}

const smallAnswer = "\ufeffcost,\"day\",campaign,note,installs,rate\r\n" +
	"1.5,2026-01-01,\"a, \"\"b\"\"\r\nc\",x,12.0,0.25\r\n" +
	",2026-01-02,,\"\",,\n" +
	"\"-0.0000005\",2026-01-02,汇量,\"a\nb\",-3,1e-3\n" +
	"2e3,2026-01-01,a\rb,\"\"\"\",4,0"

func TestDecode(t *testing.T) {
	o := smallOptions(t)
	parts, err := convert(o, strings.NewReader(smallAnswer))
	if err != nil {
		t.Fatal(err)
	}
	day := daysText(firstDay)
	next := daysText(firstDay.AddDays(1))
	want := [][][]string{{
		{day, "a, \"b\"\r\nc", "12", "1500000", "0.25", "x"},
		{day, "a\rb", "4", "2000000000", "0", `"`},
	}, {
		{next, "", null, null, null, null},
		{next, "汇量", "-3", "0", "0.001", "a\nb"},
	}}
	for i, p := range parts {
		got := readPart(t, p, o.Columns)
		if !reflect.DeepEqual(got.rows, want[i]) {
			t.Errorf("part %s:\n got %q\nwant %q", p.Partition, got.rows, want[i])
		}
		names := []string{}
		for k, f := range got.schema.Fields() {
			names = append(names, f.Name+" "+f.Type.String())
			if got.required[k] != o.Columns[k].Dimension {
				t.Errorf("column %s is required: %v", f.Name, got.required[k])
			}
		}
		if got := strings.Join(names, ", "); got != "day date32, campaign utf8, installs int64, cost decimal(18, 6), rate float64, note utf8" {
			t.Errorf("schema: %s", got)
		}
	}
	if got := parts[1]; got.Rounded["cost"] != 1 || !maps.Equal(got.Nulls, map[string]int64{"installs": 1, "cost": 1, "rate": 1, "note": 1}) ||
		!maps.Equal(got.Sums, map[string]string{"installs": "-3", "cost": "0.000000"}) {
		t.Errorf("part: %+v", got)
	}
	if got := parts[0].Sums["cost"]; got != "2001.500000" {
		t.Errorf("sum of cost: %s", got)
	}
}

// A cut at every byte, and bytes one by one, must not change a bit of the result.
func TestCuts(t *testing.T) {
	for _, text := range []string{
		smallAnswer, smallAnswer + "\n", smallAnswer + "\r\n", smallHeader, strings.TrimSpace(smallHeader),
		smallAnswer + "\n1,2", smallAnswer + "\n\n", smallAnswer + "\n\"2026", smallAnswer + "\r", smallAnswer + "\n\"a\"b,", "", "\ufeff", "\"day",
	} {
		type result struct {
			parts []Part
			files [][]byte
			err   string
		}
		run := func(r io.Reader) (res result) {
			parts, err := convert(smallOptions(t), r)
			if err != nil {
				res.err = err.Error()
			}
			for _, p := range parts {
				b, err := os.ReadFile(p.Path)
				if err != nil {
					t.Fatal(err)
				}
				p.Path = ""
				res.parts, res.files = append(res.parts, p), append(res.files, b)
			}
			return res
		}
		want := run(strings.NewReader(text))
		for name, r := range map[string]io.Reader{
			"one by one":        iotest.OneByteReader(strings.NewReader(text)),
			"error with data":   iotest.DataErrReader(strings.NewReader(text)),
			"one with an error": iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(text))),
		} {
			if got := run(r); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q read %s: %v, want %v", text, name, got, want)
			}
		}
		for i := range text {
			r := io.MultiReader(strings.NewReader(text[:i]), strings.NewReader(""), strings.NewReader(text[i:]))
			if got := run(r); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q cut at %d: %v, want %v", text, i, got.err, want.err)
			}
		}
	}
}

// Blocks that end at any byte of an answer must not change it, either.
func TestBlocks(t *testing.T) {
	long := smallHeader + strings.Repeat("2026-01-02,\"a \"\"b\"\"\n\",1,1,1,\"\"\"\"\r\n2026-01-01,c,2,2,2,\"\"\n", 12)
	for _, text := range []string{long, long + "2026-01-01,a,x,1,1,n", long + "\"", long + "\n", long + "2026-01-01,\"a\"b"} {
		run := func(size int) string {
			c, err := New(smallOptions(t))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Abort()
			c.scanner.buffer = make([]byte, size)
			if err := c.Read(context.Background(), strings.NewReader(text)); err != nil {
				return err.Error()
			}
			return fmt.Sprint(c.partitions[0].digest, c.partitions[1].digest, c.partitions[0].tally, c.partitions[1].tally)
		}
		want := run(len(text) + 1)
		for size := 60; size < 200; size++ {
			if got := run(size); got != want {
				t.Fatalf("%q in blocks of %d bytes: %s, want %s", text, size, got, want)
			}
		}
	}
}

func TestCellErrors(t *testing.T) {
	good := "2026-01-01,a,1,1,1,n\n"
	for _, c := range []struct {
		rows, want string
	}{
		{"2026-01-01,a,12.5,1,1,n\n", `row 1 (line 2), column "installs": "12.5" is not a whole number; declare the column as double or decimal under ` + "`types:`"},
		{good + "2026-01-01,\"x\n\ny\",1,1,1,n\n" + "2026-01-01,a,1,1,NaN,n\n", `row 3 (line 6), column "rate": "NaN" is not a plain number (no spaces, thousands separators, hex, NaN or Inf)`},
		{"2026-01-01,a,\"1,234\",1,1,n\n", `row 1 (line 2), column "installs": "1,234" is not a plain number (no spaces, thousands separators, hex, NaN or Inf)`},
		{"2026-01-01,a,1, 1,1,n\n", `row 1 (line 2), column "cost": " 1" is not a plain number (no spaces, thousands separators, hex, NaN or Inf)`},
		{"2026-01-01,a,1,1234567890123,1,n\n", `row 1 (line 2), column "cost": "1234567890123" has more than twelve digits before the decimal point; declare the column as double or string under ` + "`types:`"},
		{"2026-01-01,a,9223372036854775808,1,1,n\n", `row 1 (line 2), column "installs": "9223372036854775808" is beyond the 64 bits of an int64`},
		{"2026-01-01,a,1,1,1e400,n\n", `row 1 (line 2), column "rate": "1e400" is beyond the range of a double`},
		{"2026-02-30,a,1,1,1,n\n", `row 1 (line 2), column "day": "2026-02-30" is not a valid day like 2026-01-31`},
		{",a,1,1,1,n\n", `row 1 (line 2), column "day": "" is blank, and a column of type day needs a value`},
		{good + "2026-01-03,a,1,1,1,n\n", `row 2 (line 3), column "day": "2026-01-03" lies outside the partitions that were asked for`},
		{"2026-01-01,a\xffb,1,1,1,n\n", `row 1 (line 2), column "campaign": "a\xffb" is not valid UTF-8`},
		{"2026-01-01,a,1,1,1\n", `row 1 (line 2): "2026-01-01,a,1,1,1" has 5 cells, and the header has 6`},
		{good + "2026-01-01,a,1,1,1,n,\n", `row 2 (line 3): "2026-01-01,a,1,1,1,n," has 7 cells, and the header has 6`},
		{good + "\n" + good, `row 2 (line 3): the line is blank`},
		{good + "\r\n", `row 2 (line 3): the line is blank`},
		{"2026-01-01,a\"b,1,1,1,n\n", `row 1 (line 2): "2026-01-01,a\"b,1,1,1,n" holds a quote inside a cell that doesn't begin with one`},
		{"2026-01-01,\"a\"b,1,1,1,n\n", `row 1 (line 2): "2026-01-01,\"a\"b,1,1,1,n" holds text behind the closing quote of a cell`},
		{good + "2026-01-01,\"a,1,1,1,n\n", `row 2 (line 3): "2026-01-01,\"a,1,1,1,n" ends inside a quoted cell; the answer was cut off, or a quote is missing`},
		{"2026-01-01," + strings.Repeat("é", 50) + ",x,1,1,n\n", `row 1 (line 2), column "installs": "x" is not a plain number (no spaces, thousands separators, hex, NaN or Inf)`},
		{"2026-01-01,a," + strings.Repeat("7", 50) + ",1,1,n\n", `row 1 (line 2), column "installs": "7777777777777777777777777777777777777777"... is beyond the 64 bits of an int64`},
		{"2026-01-01,\"\"\"\n\"\"\n\",1,1,1,n\n2026-01-01,a,x,1,1,n\n", `row 2 (line 5), column "installs": "x" is not a plain number (no spaces, thousands separators, hex, NaN or Inf)`},
		// The first wrong cell of the answer, not of its column.
		{"2026-01-01,a,1,1,x,n\n2026-01-01,a,x,1,1,n\n", `row 1 (line 2), column "rate": "x" is not a plain number (no spaces, thousands separators, hex, NaN or Inf)`},
		// A wrong cell stands before a broken row.
		{"2026-01-02,a,x,1,1,n\n\"", `row 1 (line 2), column "installs": "x" is not a plain number (no spaces, thousands separators, hex, NaN or Inf)`},
	} {
		_, err := convert(smallOptions(t), strings.NewReader(smallHeader+c.rows))
		var cell *CellError
		if !errors.As(err, &cell) {
			t.Errorf("%q: %v, want a CellError", c.rows, err)
		} else if got, _ := strings.CutPrefix(err.Error(), "decode a CSV answer: "); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.rows, got, c.want)
		}
	}
}

func TestHeaderErrors(t *testing.T) {
	for header, want := range map[string]string{
		"day,campaign,installs,cost,rate\n":          "the header of the answer lacks \"note\"",
		"day,campaign,installs,cost,rate,note,x,x\n": "the header of the answer holds without being asked for \"x\"; it repeats \"x\"",
		"day,day,campaign,installs,cost,rate,note\n": "the header of the answer repeats \"day\"",
		"\n": "the header of the answer lacks \"day\", \"campaign\", \"installs\", \"cost\", \"rate\", \"note\"; it holds without being asked for \"\"",
		"Day,campaign,installs,cost,rate,note \n":          "the header of the answer lacks \"day\", \"note\"; it holds without being asked for \"Day\", \"note \"",
		"{\"error\": \"\xff" + strings.Repeat("x", 60):     "row 0 (line 1): \"{\\\"error\\\": \\\"\\xffxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"... holds a quote inside a cell that doesn't begin with one",
		"\"day\nx\",campaign,installs,cost,rate,note\n1\n": "the header of the answer lacks \"day\"; it holds without being asked for \"day\\nx\"",
		"":       ErrEmpty.Error(),
		"\ufeff": ErrEmpty.Error(),
	} {
		_, err := convert(smallOptions(t), strings.NewReader(header))
		if err == nil || err.Error() != "decode a CSV answer: "+want {
			t.Errorf("%q:\n got %v\nwant %s", header, err, want)
		}
	}
	_, err := convert(smallOptions(t), strings.NewReader("day\n"))
	var h *HeaderError
	if !errors.As(err, &h) || len(h.Missing) != 5 {
		t.Errorf("%v is no HeaderError", err)
	}
}

func TestLongRows(t *testing.T) {
	long := strings.Repeat("x", 3*blockSize)
	parts, err := convert(smallOptions(t), strings.NewReader(smallHeader+"2026-01-01,a,1,1,1,n\n2026-01-01,"+long+",1,1,1,n\n2026-01-01,b,1,1,1,n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if rows := readPart(t, parts[0], smallColumns).rows; len(rows) != 3 || rows[1][1] != long || rows[2][1] != "b" {
		t.Errorf("%d rows", len(rows))
	}
	_, err = convert(smallOptions(t), io.MultiReader(strings.NewReader(smallHeader+"2026-01-01,\""), io.LimitReader(endless{}, 1<<30)))
	if err == nil || !strings.Contains(err.Error(), `row 1 (line 2): "2026-01-01,\"xxx`) || !strings.Contains(err.Error(), "is longer than 16 MiB") {
		t.Errorf("an endless row: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReaderErrors(t *testing.T) {
	reset := errors.New("connection reset")
	for _, broken := range []error{reset, io.ErrUnexpectedEOF, fmt.Errorf("body: %w", io.EOF)} {
		o := smallOptions(t)
		_, err := convert(o, io.MultiReader(strings.NewReader(smallHeader+"2026-01-01,a,1,1,1,n\n"), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
		noFiles(t, o.Dir)
	}
	if _, err := convert(smallOptions(t), stuck{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(reset)
	c, err := New(smallOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Abort()
	if err := c.Read(ctx, strings.NewReader(smallAnswer)); !errors.Is(err, reset) {
		t.Errorf("a cancelled context: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func noFiles(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("files are left: %v %v", entries, err)
	}
}

// FuzzDecodeRows holds the cutting of rows against encoding/csv. Where they differ on purpose: encoding/csv skips blank
// lines, and turns CRLF inside a quoted cell into LF; here a blank line is a row with one blank cell, and cells keep their
// bytes.
func FuzzDecodeRows(f *testing.F) {
	for _, s := range []string{smallAnswer, "a,b\n", "\"a\"\"\",\n\r\n", "a\"b", "\"a\"b", "\"", "\r", "a\r\n\rb\r", "\"\r\n\"\r", ",", "\n\n", "\"a\"\r\nb", "\"a\"\rb"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := csv.NewReader(bytes.NewReader(data))
		r.FieldsPerRecord = -1
		want, wantErr := r.ReadAll()
		data = bytes.Clone(data) // cells are changed in place, and the fuzzer's bytes may not be
		var got [][]string
		var end cutting
		for p := 0; p < len(data) && end == whole; {
			cells, next, e := cutRow(data, p, true, nil)
			if end = e; e != whole {
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
		if (end != whole) != (wantErr != nil) {
			t.Fatalf("%q ends %d, encoding/csv: %v", data, end, wantErr)
		}
		if end == whole && !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q\n got %q\nwant %q", data, got, want)
		}
	})
}

// FuzzDecodeAnswer converts any rows: they must end in parts or in an error for people, whatever the reads, and the parts
// must hold as many rows as encoding/csv finds.
func FuzzDecodeAnswer(f *testing.F) {
	f.Add([]byte(smallAnswer[strings.Index(smallAnswer, "\n")+1:]))
	f.Add([]byte("2026-01-01,a,1,1,1,n\n2026-01-02,\"\",1e3,1e-9,1e-9,\n"))
	f.Add([]byte("2026-01-01,a,1.0,-1.0000005,-0,n\n\n"))
	f.Add([]byte("2026-01-01,\"a"))
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
