//go:build !fuzz

package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/reportferry/reportferry/internal/slow"
)

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
		if got := strings.Join(names, ", "); got !=
			"day date32, campaign utf8, installs int64, cost decimal(18, 6), rate float64, note utf8" {
			t.Errorf("schema: %s", got)
		}
	}
	if got := parts[1]; got.Rounded["cost"] != 1 || !maps.Equal(got.Nulls,
		map[string]int64{"installs": 1, "cost": 1, "rate": 1, "note": 1}) ||
		!maps.Equal(got.Sums, map[string]string{"installs": "-3", "cost": "0.000000"}) {
		t.Errorf("part: %+v", got)
	}
	if got := parts[0].Sums["cost"]; got != "2001.500000" {
		t.Errorf("sum of cost: %s", got)
	}
}

// A cut at every byte, and bytes one by one, must not change a bit of the result.
func TestCuts(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for _, text := range []string{
		smallAnswer, smallAnswer + "\n", smallAnswer + "\r\n", smallHeader, strings.TrimSpace(smallHeader),
		smallAnswer + "\n1,2", smallAnswer + "\n\n", smallAnswer + "\n\"2026", smallAnswer + "\r",
		smallAnswer + "\n\"a\"b,", "", "\ufeff", "\"day",
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
		step := 1
		if testing.Short() { // the race detector
			step = 7
		}
		for i := 0; i < len(text); i += step {
			r := io.MultiReader(strings.NewReader(text[:i]), strings.NewReader(""), strings.NewReader(text[i:]))
			if got := run(r); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q cut at %d: %v, want %v", text, i, got.err, want.err)
			}
		}
	}
}

// Blocks that end at any byte of an answer must not change it, either.
func TestBlocks(t *testing.T) {
	t.Parallel()
	long := smallHeader + strings.Repeat("2026-01-02,\"a \"\"b\"\"\n\",1,1,1,\"\"\"\"\r\n2026-01-01,c,2,2,2,\"\"\n", 12)
	for _, text := range []string{long, long + "2026-01-01,a,x,1,1,n", long + "\"", long + "\n",
		long + "2026-01-01,\"a\"b"} {
		run := func(size int) string {
			c, err := New(smallOptions(t))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Abort()
			c.csv.scanner.buffer = make([]byte, size)
			if err := c.Read(context.Background(), strings.NewReader(text)); err != nil {
				return err.Error()
			}
			return fmt.Sprint(c.partitions[0].digest, c.partitions[1].digest, c.partitions[0].tally,
				c.partitions[1].tally)
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
		{"2026-01-01,a,12.5,1,1,n\n",
			`row 1 (line 2), column "installs": "12.5" is not a whole number; declare the column as double or decimal under ` + "`types:`"},
		{good + "2026-01-01,\"x\n\ny\",1,1,1,n\n" + "2026-01-01,a,1,1,Inf,n\n",
			`row 3 (line 6), column "rate": "Inf" is not a plain number (no spaces, thousands separators, hex or Inf)`},
		{"2026-01-01,a,\"1,234\",1,1,n\n",
			`row 1 (line 2), column "installs": "1,234" is not a plain number (no spaces, thousands separators, hex or Inf)`},
		{"2026-01-01,a,1, 1,1,n\n",
			`row 1 (line 2), column "cost": " 1" is not a plain number (no spaces, thousands separators, hex or Inf)`},
		{"2026-01-01,a,1,1234567890123,1,n\n",
			`row 1 (line 2), column "cost": "1234567890123" has more than twelve digits before the decimal point; declare the column as double or string under ` + "`types:`"},
		{"2026-01-01,a,9223372036854775808,1,1,n\n",
			`row 1 (line 2), column "installs": "9223372036854775808" is beyond the 64 bits of an int64`},
		{"2026-01-01,a,1,1,1e400,n\n", `row 1 (line 2), column "rate": "1e400" is beyond the range of a double`},
		{"2026-02-30,a,1,1,1,n\n", `row 1 (line 2), column "day": "2026-02-30" is not a valid day like 2026-01-31`},
		{",a,1,1,1,n\n", `row 1 (line 2), column "day": "" is blank, and a column of type day needs a value`},
		{good + "2026-01-03,a,1,1,1,n\n",
			`row 2 (line 3), column "day": "2026-01-03" lies outside the dates that were asked for`},
		{"2026-01-01,a\xffb,1,1,1,n\n", `row 1 (line 2), column "campaign": "a\xffb" is not valid UTF-8`},
		{"2026-01-01,a,1,1,1\n", `row 1 (line 2): "2026-01-01,a,1,1,1" has 5 cells, and the header has 6`},
		{good + "2026-01-01,a,1,1,1,n,\n", `row 2 (line 3): "2026-01-01,a,1,1,1,n," has 7 cells, and the header has 6`},
		{good + "\n" + good, `row 2 (line 3): the line is blank`},
		{good + "\r\n\n" + good, `row 2 (line 3): the line is blank`},
		{good + "\r\r", `row 2 (line 3): "\r" has 1 cells, and the header has 6`},
		{good + "\r\r\n", `row 2 (line 3): "\r" has 1 cells, and the header has 6`},
		{"2026-01-01,a\"b,1,1,1,n\n",
			`row 1 (line 2): "2026-01-01,a\"b,1,1,1,n" holds a quote inside a cell that doesn't begin with one`},
		{"2026-01-01,\"a\"b,1,1,1,n\n",
			`row 1 (line 2): "2026-01-01,\"a\"b,1,1,1,n" holds text behind the closing quote of a cell`},
		{good + "2026-01-01,\"a,1,1,1,n\n",
			`row 2 (line 3): "2026-01-01,\"a,1,1,1,n" ends inside a quoted cell; the answer was cut off, or a quote is missing`},
		{"2026-01-01," + strings.Repeat("é", 50) + ",x,1,1,n\n",
			`row 1 (line 2), column "installs": "x" is not a plain number (no spaces, thousands separators, hex or Inf)`},
		{"2026-01-01,a," + strings.Repeat("7", 50) + ",1,1,n\n",
			`row 1 (line 2), column "installs": "7777777777777777777777777777777777777777"... is beyond the 64 bits of an int64`},
		{"2026-01-01,\"\"\"\n\"\"\n\",1,1,1,n\n2026-01-01,a,x,1,1,n\n",
			`row 2 (line 5), column "installs": "x" is not a plain number (no spaces, thousands separators, hex or Inf)`},
		// The first wrong cell of the answer, not of its column.
		{"2026-01-01,a,1,1,x,n\n2026-01-01,a,x,1,1,n\n",
			`row 1 (line 2), column "rate": "x" is not a plain number (no spaces, thousands separators, hex or Inf)`},
		// A wrong cell stands before a broken row.
		{"2026-01-02,a,x,1,1,n\n\"",
			`row 1 (line 2), column "installs": "x" is not a plain number (no spaces, thousands separators, hex or Inf)`},
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
		"day,campaign,installs,cost,rate\n": "the header of the answer lacks \"note\"",
		"day,campaign,installs,cost,rate,x,x\n": "the header of the answer lacks \"note\"; it holds without " +
			"being asked for \"x\"",
		"day,day,campaign,installs,cost,rate,note\n": "the header of the answer repeats \"day\"",
		"\n": "the header of the answer lacks \"day\", \"campaign\", \"installs\", \"cost\", \"rate\", \"note\"; it " +
			"holds without being asked for \"\"",
		"Days,campaign,installs,cost,rate,note \n": "the header of the answer lacks \"day\", \"note\"; it " +
			"holds without being asked for \"Days\", \"note \"",
		"Day,DAY,campaign,installs,cost,rate,note\n": "the header of the answer repeats \"day\"",
		"{\"error\": \"\xff" + strings.Repeat("x",
			60): "row 0 (line 1): \"{\\\"error\\\": \\\"\\xffxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"... holds a quote inside " +
			"a cell that doesn't begin with one",
		"\"day\nx\",campaign,installs,cost,rate,note\n1\n": "the header of the answer lacks \"day\"; it holds " +
			"without being asked for \"day\\nx\"",
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
	parts, err := convert(smallOptions(t),
		strings.NewReader(smallHeader+"2026-01-01,a,1,1,1,n\n2026-01-01,"+long+",1,1,1,n\n2026-01-01,b,1,1,1,n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if rows := readPart(t, parts[0], smallColumns).rows; len(rows) != 3 || rows[1][1] != long || rows[2][1] != "b" {
		t.Errorf("%d rows", len(rows))
	}
	_, err = convert(smallOptions(t), io.MultiReader(strings.NewReader(smallHeader+"2026-01-01,\""),
		io.LimitReader(endless{}, 1<<30)))
	if err == nil || !strings.Contains(err.Error(), `row 1 (line 2): "2026-01-01,\"xxx`) ||
		!strings.Contains(err.Error(), "is longer than 16 MiB") {
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
		_, err := convert(o, io.MultiReader(strings.NewReader(smallHeader+"2026-01-01,a,1,1,1,n\n"),
			iotest.ErrReader(broken)))
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
