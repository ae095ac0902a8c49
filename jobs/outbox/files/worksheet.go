package files

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// sheetRows reads the rows of a sheet of an XLSX file. The names are in the first row that isn't
// blank, or below titles. Blank rows don't count.
type sheetRows struct {
	workbook *workbook
	sheet    string // name of the sheet that is read
	alike    int    // other sheets whose names of columns fit as well
	in       *partReader
	mapping  Mapping
	speller  speller
	columns  []string
	at       []int  // by field: the index of its column; -1: none
	row      []cell // the row that advance has read
	count    int64  // rows so far, without that of the names
}

// openSheet finds the sheet to read, and its names. The next row is the first one below them.
func openSheet(b *workbook, m Mapping) (*sheetRows, error) {
	s, err := m.Format.speller()
	if err != nil {
		return nil, err
	}
	r := &sheetRows{workbook: b, mapping: m, speller: s}
	if err = r.findNames(); err == nil {
		r.at, err = m.find(r.columns)
	}
	return r, err
}

// findNames finds the row of names and moves there. It is the first row that has all wanted
// columns, of the one sheet that has such a row; two such sheets are an error. If there is none, it
// is the row that has most of them, or else the first row of the first sheet.
func (r *sheetRows) findNames() error {
	type place struct{ sheet, row, score int }
	var best place
	whole := 0 // sheets that have all wanted columns
	for i := range r.workbook.sheets {
		if r.open(i) != nil {
			continue // an unreadable sheet is an error only if it is the one to be read
		}
		top := place{sheet: i}
		for row := 0; row < mostAbove && r.advance() == nil; row++ {
			score, is := r.mapping.matchNames(r.cells())
			if score > top.score || is {
				top = place{i, row, score}
			}
			if is {
				top.score += mostColumns // a higher score than that of any row that lacks a column
				whole++
				break
			}
		}
		switch {
		case top.score > best.score:
			best, r.alike = top, 0
		case top.score > 0 && top.score == best.score:
			r.alike++
		}
		_ = r.in.close.Close() // only read
	}
	if whole > 1 {
		return fmt.Errorf("has %d sheets with the columns that the job wants; say which one counts by format: "+
			"{sheet: NAME}", whole)
	}
	err := r.open(best.sheet)
	for row := 0; err == nil && row <= best.row; row++ {
		err = r.advance()
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("has a sheet that is empty: not even names of columns")
	}
	if err == nil {
		r.columns, r.count = r.cells(), 0
	}
	return err
}

// open opens sheet i at its beginning.
func (r *sheetRows) open(i int) (err error) {
	r.sheet, r.row, r.count = r.workbook.sheets[i].name, nil, 0
	r.in, err = r.workbook.openPart(r.workbook.sheets[i].part)
	return err
}

func (r *sheetRows) header() ([]string, Understanding) {
	return r.columns, Understanding{Kind: "XLSX", Sheet: r.sheet, Alike: r.alike}
}

func (r *sheetRows) cells() []string {
	texts := make([]string, max(len(r.row), len(r.columns))) // rows end at their last cell
	for i, c := range r.row {
		texts[i] = c.plain(r.workbook)
	}
	return texts
}

func (r *sheetRows) next(values []string) error {
	if err := r.advance(); err != nil {
		return err
	}
	for f, i := range r.at {
		values[f] = ""
		if i < 0 || i >= len(r.row) {
			continue
		}
		var refused *Refusal
		if values[f], refused = r.value(r.mapping.Fields[f], r.row[i]); refused != nil {
			return refused
		}
	}
	return nil
}

// advance goes to the next row that isn't blank.
func (r *sheetRows) advance() error {
	for {
		start, end, err := r.in.next()
		switch {
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return err
		case start == nil && end == "sheetData": // the rest is read only to have its checksum checked
			if _, err := io.Copy(io.Discard, r.in.in.r); err != nil {
				return err
			}
			return io.EOF
		case start == nil || start.Name.Local != "row":
			continue
		}
		if err := r.readRow(); err != nil {
			return err
		}
		r.in.refill()
		if blank(r.row) {
			continue
		}
		r.count++
		return nil
	}
}

// readRow reads the cells of a row up to its end.
func (r *sheetRows) readRow() error {
	r.row = r.row[:0]
	next := 0 // column of a cell without a reference: it follows the cell before it, which may be empty
	for {
		start, end, err := r.in.next()
		switch {
		case err != nil:
			return fmt.Errorf("row %d: %w", r.count+1, noEnd(err))
		case end == "row":
			return nil
		case start == nil || start.Name.Local != "c":
			continue
		}
		at := next
		if ref := attribute(*start, "r"); ref != "" {
			at = columnOf(ref)
		}
		next = at + 1
		if at < len(r.row) {
			return fmt.Errorf("row %d has cells that aren't in the order of their columns", r.count+1)
		}
		c, err := r.readCell(start)
		if err != nil {
			return fmt.Errorf("row %d: %w", r.count+1, noEnd(err))
		}
		switch {
		case c == cell{}:
			continue
		case at >= mostColumns:
			return fmt.Errorf("row %d has a cell beyond column %d", r.count+1, mostColumns)
		}
		for len(r.row) < at {
			r.row = append(r.row, cell{})
		}
		r.row = append(r.row, c)
	}
}

// readCell reads a cell up to its end.
func (r *sheetRows) readCell(c *xml.StartElement) (out cell, err error) {
	kind := attribute(*c, "t")
	var value string
	formula, has := false, false
	for {
		start, end, err := r.in.next()
		switch {
		case err != nil:
			return cell{}, err
		case end == "c":
			return r.workbook.cell(kind, attribute(*c, "s"), value, has, formula)
		case start == nil:
			continue
		}
		switch start.Name.Local {
		case "v", "is":
			value, err = r.in.text()
			has = true
		case "f":
			_, err = r.in.text()
			formula = true
		}
		if err != nil {
			return cell{}, err
		}
	}
}

// columnOf returns the column of a reference such as AB12, counted from 0. With too many letters,
// or others than A to Z, it is beyond mostColumns; with none, it is -1.
func columnOf(ref string) int {
	n := 0
	for _, r := range strings.TrimRight(ref, "0123456789") {
		if n = n*26 + int(r-'A') + 1; r < 'A' || r > 'Z' || n > 1<<20 {
			return 1 << 20
		}
	}
	return n - 1
}

// blank reports whether all cells of a row are empty.
func blank(row []cell) bool {
	for _, c := range row {
		if c.kind != ofText || c.text != "" {
			return false
		}
	}
	return true
}

// noEnd turns io.EOF into an error, because it would end the rows in the middle of one.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// index parses a number that isn't negative.
func index(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0
}
