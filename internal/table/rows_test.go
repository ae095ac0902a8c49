//go:build !fuzz

package table

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Typed rows give the part that the same rows give as CSV.
func TestTypedRows(t *testing.T) {
	o := smallOptions(t)
	o.Columns = append(o.Columns[:len(o.Columns):len(o.Columns)], Column{Name: "at", Source: "at", Type: catalog.Hour,
		Dimension: true})
	text := "day,campaign,installs,cost,rate,note,at\n" +
		"2026-01-02,a,1,2.5,-0,,1970-01-02T00:00:00\n" +
		"2026-01-01,,,,,x,1970-01-01T00:00:01\n" +
		"2026-01-02,汇量,-7,-0.000001,0.1,y,1969-12-31T23:59:59\n"
	rows := [][]any{
		{firstDay.AddDays(1), "a", int64(1), int64(2_500_000), math.Copysign(0, -1), nil, int64(86_400_000_000)},
		{firstDay, "", nil, nil, nil, "x", int64(1_000_000)},
		{firstDay.AddDays(1), "汇量", int64(-7), int64(-1), 0.1, "y", int64(-1_000_000)},
	}
	want, err := convert(o, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Abort()
	for _, some := range [][][]any{rows[:1], nil, rows[1:]} {
		if err := c.Rows(context.Background(), some); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got {
		a, _ := os.ReadFile(p.Path)
		b, _ := os.ReadFile(want[i].Path)
		if string(a) != string(b) || p.Hash != want[i].Hash || p.Sums["cost"] != want[i].Sums["cost"] ||
			p.Nulls["note"] != want[i].Nulls["note"] {
			t.Errorf("part %s: %+v, as CSV %+v", p.Partition, p, want[i])
		}
	}
}

func TestTypedRowErrors(t *testing.T) {
	good := []any{firstDay, "a", int64(1), int64(2), 0.5, "n"}
	for _, c := range []struct {
		at   int
		cell any
		want string
	}{
		{0, firstDay.AddDays(7), `row 2, column "day": "2026-01-08" lies outside the dates that were asked for`},
		{0, civil.Date{}, `row 2, column "day": "0000-00-00" is not a valid day like 2026-01-31`},
		{0, nil, `row 2, column "day": "<nil>" is blank, and a column of type day needs a value`},
		{1, 7, `row 2, column "campaign": "7" doesn't fit type string`},
		{1, "\xff", `row 2, column "campaign": "\xff" is not valid UTF-8`},
		{2, 1.5, `row 2, column "installs": "1.5" doesn't fit type int64`},
		{3, int64(decimalBound),
			`row 2, column "cost": "1000000000000000000" has more than twelve digits before the decimal point`},
		{4, math.Inf(1), `row 2, column "rate": "+Inf" is beyond the range of a double`},
		{4, math.NaN(), `row 2, column "rate": "NaN" is beyond the range of a double`},
	} {
		o := smallOptions(t)
		conv, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		bad := append([]any{}, good...)
		bad[c.at] = c.cell
		err = conv.Rows(context.Background(), [][]any{good, bad})
		if err == nil || !strings.HasPrefix(err.Error(), "take typed rows: "+c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		noFiles(t, o.Dir)
		if _, err := conv.Finish(); err == nil {
			t.Error("finish after an error")
		}
	}
	conv, err := New(smallOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	many := slices.Repeat([][]any{good}, 10_000)
	many[9_876] = good[:4]
	if err := conv.Rows(context.Background(), many); err == nil ||
		err.Error() != "take typed rows: row 9877: has 4 cells, and the table has 6 columns" {
		t.Error(err)
	}
	conv.Abort()
	if err := conv.Rows(context.Background(), [][]any{good, good[:5]}); err == nil ||
		err.Error() != "take typed rows: row 2: has 5 cells, and the table has 6 columns" {
		t.Error(err)
	}
}

// After Abort, an answer that broke half way is read again from its start.
func TestReadAgain(t *testing.T) {
	o := smallOptions(t)
	want, err := convert(o, strings.NewReader(smallAnswer))
	if err != nil {
		t.Fatal(err)
	}
	o = smallOptions(t)
	o.Budget = NewBudget(0) // so that files are begun
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Read(context.Background(), strings.NewReader(smallAnswer+"\nx")); err == nil {
			t.Fatal("a broken answer is taken")
		}
		noFiles(t, o.Dir)
		if n := len(o.Budget.seats); n != 0 {
			t.Errorf("%d converters hold a seat after an error", n)
		}
		c.Abort()
	}
	if err := c.Read(context.Background(), strings.NewReader(smallAnswer)); err != nil {
		t.Fatal(err)
	}
	got, err := c.Finish()
	if err != nil || got[0].Hash != want[0].Hash || got[1].Hash != want[1].Hash ||
		got[0].Sums["installs"] != want[0].Sums["installs"] {
		t.Errorf("%v: %+v, want %+v", err, got, want)
	}
}
