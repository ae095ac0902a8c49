package files

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// What can't be cut into cells is given as it stands, wherever in the file it is, and little is
// kept of what was read.
func TestRawRows(t *testing.T) {
	var file strings.Builder
	file.WriteString("id,kind,amount\n")
	var want []string
	for n := range 20_000 {
		if n%7 != 3 {
			fmt.Fprintf(&file, "id-%d,cpi,1\n", n)
			continue
		}
		bad := fmt.Sprintf("id-%d,cpi,%s\"%d", n, strings.Repeat("x", n%700), n)
		want = append(want, bad)
		file.WriteString("\n\r\n" + bad + []string{"\n", "\r\n"}[n%2])
	}
	rows, err := newCSVRows(bufio.NewReaderSize(strings.NewReader(file.String()), readAhead), Mapping{}, speller{},
		utf8Name)
	if err != nil {
		t.Fatal(err)
	}
	for {
		err := rows.next(nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			continue
		}
		if got := rows.cells(); len(got) != 1 || len(want) == 0 || got[0] != want[0] {
			t.Fatalf("got %q, want %.1q", got, want)
		}
		want = want[1:]
	}
	if len(want) > 0 || cap(rows.in.kept) > 32<<10 {
		t.Errorf("%d rows are missing; %d bytes are kept", len(want), cap(rows.in.kept))
	}
}

// A row without anything in it is no record, and none that is refused: a spreadsheet writes such
// rows below its data.
func TestBareRowsAreSkipped(t *testing.T) {
	m := Mapping{Fields: []Field{{Name: "id"}, {Name: "type"}}, Constants: map[string]string{"type": "cpi"}}
	var got []string
	err := Read(t.Context(), strings.NewReader("id;more\na;1\n;\n ;\t\nb;2\n;3\n"), m, t.TempDir(),
		func([]string, Understanding) {}, func(l *Row) error {
			if l.Skipped != "" {
				return nil
			}
			got = append(got, fmt.Sprintf("%d %s", l.Row, strings.Join(l.Values, " ")))
			return nil
		})
	if want := "1 a cpi, 4 b cpi, 5  cpi"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// The walk over a footer ends where the footer does. If it lost its way, it would overlook what it
// is for.
func TestFooterIsWalked(t *testing.T) {
	type typed struct {
		ID     string   `parquet:"id,dict"`
		Choice *string  `parquet:"choice,optional"`
		Many   []string `parquet:"many"`
	}
	var file bytes.Buffer
	writer := parquet.NewGenericWriter[typed](&file, parquet.KeyValueMetadata("key", strings.Repeat("v", 300)))
	if _, err := writer.Write([]typed{{ID: "a", Many: []string{"b"}}}); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	good := file.Bytes()
	length := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	for name, data := range map[string][]byte{
		"a file's":    good[len(good)-8-length : len(good)-8],
		"a far field": {0x05, 0x40, 0x02, 0x15, 0x02, 0x00}, // number 32 with its value, then one after it
		"of every type": {0x11, 0x12, 0x13, 9, 0x14, 1, 0x16, 0x80, 1, 0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0x18, 1, 'a',
			0},
		"lists": {0x19, 0x25, 1, 2, 0x1a, 0xf3, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
			0x19, 0x12, 1, 0},
		"maps":              {0x1b, 0, 0x1b, 2, 0x85, 1, 'k', 7, 1, 'l', 8, 0},
		"structs in a list": {0x19, 0x2c, 0x15, 1, 0, 0x15, 1, 0, 0x1c, 0, 0},
	} {
		w := thriftSkipper{data: data}
		if w.structure(0); w.bad || len(w.data) > 0 {
			t.Errorf("%s: bad %t, %d bytes are left of %d", name, w.bad, len(w.data), len(data))
		}
		for n := range len(data) - 1 {
			cut := thriftSkipper{data: data[:n]}
			if cut.structure(0); !cut.bad {
				t.Errorf("%s: cut after %d bytes of %d, and not bad", name, n, len(data))
			}
		}
	}
	deep := thriftSkipper{data: append(bytes.Repeat([]byte{0x1c}, 40), make([]byte, 41)...)}
	if deep.structure(0); !deep.bad {
		t.Error("forty structures in each other aren't bad")
	}
}
