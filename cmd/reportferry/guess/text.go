package guess

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/reportferry/reportferry/internal/lazy"
)

// separators are the signs that may stand between cells, with the config's words for them.
var separators = []struct {
	sign rune
	word string
}{{',', "comma"}, {';', "semicolon"}, {'\t', "tab"}}

// text reads the beginning of a file of cells.
func (f *File) text(head []byte) error {
	whole := len(head) < mostHead
	text, err := f.decode(head)
	if err != nil {
		return err
	}
	if end := strings.LastIndexByte(text, '\n'); !whole && end > 0 {
		text = text[:end+1] // the last line is cut
	}
	best := 0
	for _, s := range separators {
		names, rows := cut(text, s.sign)
		same := 0
		for _, row := range rows {
			if len(row) == len(names) {
				same++
			}
		}
		// As many rows as possible are as long as the names; of several such separators, the one that makes most columns.
		if score := (same+1)*1000/(len(rows)+1)*1000 + min(len(names), 999); len(names) > 0 && (f.Names == nil || len(names) > 1 && score > best) {
			f.Names, f.Rows, f.Separator = names, rows, s.word
			if best = score; len(names) < 2 {
				best = 0
			}
		}
	}
	if f.Names == nil {
		return errors.New("its first line can't be cut into names of columns")
	}
	return nil
}

// decode gives the text, and says what it took it for.
func (f *File) decode(head []byte) (string, error) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		f.Encoding = "utf-16le"
		var order binary.ByteOrder = binary.LittleEndian
		if head[0] == 0xfe {
			f.Encoding, order = "utf-16be", binary.BigEndian
		}
		var units []uint16
		for i := 2; i+1 < len(head); i += 2 {
			units = append(units, order.Uint16(head[i:]))
		}
		return string(utf16.Decode(units)), nil
	case bytes.IndexByte(head, 0) >= 0:
		return "", errors.New("it holds NUL bytes: it is no CSV, JSON Lines, XLSX or Parquet")
	}
	valid := head
	for cut := 0; cut < utf8.UTFMax && len(head) == mostHead && !utf8.Valid(valid); cut++ {
		valid = valid[:len(valid)-1] // the last character may be cut
	}
	if utf8.Valid(valid) {
		f.Encoding = "utf-8"
		return strings.TrimPrefix(string(valid), "\ufeff"), nil
	}
	f.Encoding = "windows-1252"
	f.Notes = append(f.Notes, "the file isn't UTF-8 and doesn't say what it is; it was taken for Windows-1252: look whether names with accents are right")
	text, err := charmap.Windows1252.NewDecoder().Bytes(head)
	return string(text), err
}

// cut gives the names and the first rows; none where the first line can't be cut.
func cut(text string, separator rune) (names []string, rows [][]string) {
	in := csv.NewReader(strings.NewReader(text))
	in.Comma, in.FieldsPerRecord = separator, -1
	names, err := in.Read()
	if err != nil {
		return nil, nil
	}
	for len(rows) < mostRows {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		rows = append(rows, row) // one that can't be cut has no cells
	}
	return names, rows
}

// Amounts that can be read in one way only. Three digits behind a single sign may be decimals or a thousand.
var (
	withComma = lazy.Regexp(`^[+-]?(\d{1,3}(\.\d{3})+,\d+|\d+,(\d{1,2}|\d{4,}))$`)
	withPoint = lazy.Regexp(`^[+-]?(\d{1,3}(,\d{3})+\.\d+|\d*\.(\d{1,2}|\d{4,}))$`)
	withOne   = lazy.Regexp(`^[+-]?\d{1,3},\d{3}$`)
)

// decimals finds out which sign stands before the decimals of amounts.
func (f *File) decimals() {
	commas, points, unclear := 0, 0, 0
	for at, name := range f.Names {
		if rank, _ := named("cost_amount", name, func(string) bool { return true }); rank < 0 {
			continue
		}
		for _, row := range f.Rows {
			if at >= len(row) {
				continue
			}
			switch cell := strings.TrimSpace(row[at]); {
			case withComma().MatchString(cell):
				commas++
			case withPoint().MatchString(cell):
				points++
			case withOne().MatchString(cell):
				unclear++
			}
		}
	}
	switch {
	case commas > 0 && points == 0:
		f.Decimal = "comma"
	case commas > 0:
		f.Notes = append(f.Notes, fmt.Sprintf("%d amounts have a decimal comma, and %d a decimal point: all are taken for points", commas, points))
	case points == 0 && unclear > 0:
		f.Notes = append(f.Notes, "amounts such as 1,250 may be a thousand and more, or one and a quarter: say which under format, decimal")
	}
}

// Duplicate names a column that is there twice; empty: none is.
func (f *File) Duplicate() string {
	for i, name := range f.Names {
		if slices.Contains(f.Names[i+1:], name) {
			return name
		}
	}
	return ""
}
