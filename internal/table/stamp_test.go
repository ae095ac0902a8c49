//go:build !fuzz

package table

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/reportferry/reportferry/internal/catalog"
)

// stampedOptions are small options with both stamps behind the other columns.
func stampedOptions(t *testing.T, run string) Options {
	o := smallOptions(t)
	o.Columns = append(o.Columns[:len(o.Columns):len(o.Columns)], Stamped(LoadedAt), Stamped(LoadedBy))
	o.Run = run
	return o
}

// The stamps say in every row when the fetch began and which run it was, and no hash tells them
// apart: neither from each other nor from a table without them.
func TestStampsAreNoContent(t *testing.T) {
	plain, err := convert(smallOptions(t), strings.NewReader(smallAnswer))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{time.Date(2026, 1, 3, 4, 5, 6, 789123456, time.UTC),
		time.Date(2027, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))} {
		o := stampedOptions(t, "run of "+at.String())
		conv, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		conv.Loaded(at)
		if err := conv.Read(t.Context(), strings.NewReader(smallAnswer)); err != nil {
			t.Fatal(err)
		}
		parts, err := conv.Finish()
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range parts {
			if p.Hash != plain[i].Hash || len(p.Nulls) != len(plain[i].Nulls) || len(p.Sums) != len(plain[i].Sums) {
				t.Errorf("%+v isn't the content %+v", p, plain[i])
			}
			if rows, hash, err := measure(p, o.Columns); err != nil || rows != p.Rows || hash != p.Hash {
				t.Errorf("measured %d rows, %s, %v; want %d, %s", rows, hash, err, p.Rows, p.Hash)
			}
			got := readPart(t, p, o.Columns)
			loaded := got.schema.Field(6)
			if zone := loaded.Type.(*arrow.TimestampType).TimeZone; loaded.Name != "_loaded_at" || zone != "UTC" ||
				got.schema.Field(7).Name != "_run" {
				t.Errorf("columns %v", got.schema)
			}
			for _, row := range got.rows {
				if row[6] != strconv.FormatInt(at.UnixMicro(), 10) || row[7] != o.Run {
					t.Errorf("stamps %q, want %d and %s", row[6:], at.UnixMicro(), o.Run)
				}
			}
		}
	}
}

// The run is told in every row of a row group that has too many other texts for a dictionary, and
// of one that is begun anew.
func TestStampsOfManyRows(t *testing.T) {
	o := stampedOptions(t, "run-1")
	o.Budget = NewBudget(1 << 20)
	conv, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	conv.Loaded(at)
	var csv strings.Builder
	csv.WriteString(smallHeader)
	for i := range 100_000 {
		csv.WriteString("2026-01-01,campaign " + strconv.Itoa(i) + ",1,2,3,x\n")
	}
	if err := conv.Read(t.Context(), strings.NewReader(csv.String())); err != nil {
		t.Fatal(err)
	}
	parts, err := conv.Finish()
	if err != nil {
		t.Fatal(err)
	}
	got := readPart(t, parts[0], o.Columns)
	if got.rowGroups < 2 || len(got.rows) != 100_000 {
		t.Errorf("%d row groups, %d rows", got.rowGroups, len(got.rows))
	}
	for _, row := range got.rows {
		if row[6] != strconv.FormatInt(at.UnixMicro(), 10) || row[7] != "run-1" {
			t.Fatalf("stamps %q", row[6:])
		}
	}
}

// A table with stamps wants to know them, and a stamp has no other source.
func TestStampsUnknown(t *testing.T) {
	if _, err := convert(stampedOptions(t, "r"), strings.NewReader(smallAnswer)); !errors.Is(err, errUnstamped) {
		t.Errorf("got %v, want %v", err, errUnstamped)
	}
	o := stampedOptions(t, "r")
	o.Columns[6] = Column{Name: "_loaded_at", Type: catalog.Hour, Stamp: LoadedAt}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "column _loaded_at isn't what its stamp") {
		t.Errorf("got %v", err)
	}
}
