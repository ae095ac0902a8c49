package files

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostColumns limits the columns of a file.
const mostColumns = 1000

// csvRows reads the rows of a CSV file (RFC 4180). The names of its columns are in the first row,
// or below lines of titles. Lines end in LF or CRLF, even mixed; blank lines don't count.
type csvRows struct {
	in      *boundedReader
	csv     *csv.Reader
	read    Understanding
	mapping Mapping
	speller speller
	foreign string // the refusal for texts that aren't UTF-8, once there was one
	above   int    // lines of titles above the names
	columns []string
	at      []int             // by field: the index of its column; -1: none
	last    []string          // cells of the row that next has read
	rejects *correctedRejects // nil: it isn't a rejects file
	lines   *jsonRows         // reads rejects that were lines of JSON; nil: there are none
	count   int64             // rows so far, without that of the names
}

// newCSVRows reads the names of the columns, and what is above them. The next row is the first one.
func newCSVRows(in *bufio.Reader, m Mapping, s speller, encoding string) (*csvRows, error) {
	// Find the row of names, and the separator.
	head, err := in.Peek(readAhead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	top, err := m.heading(head)
	if err == nil && top.separator == 0 {
		top.separator, err = separatorOf(head)
	}
	if err != nil {
		return nil, err
	}
	_, _ = in.Discard(top.skip) // Peek has returned these bytes already
	b := &boundedReader{r: in, left: longestRow}
	r := &csvRows{in: b, csv: csv.NewReader(b), mapping: m, speller: s, above: top.lines,
		read: Understanding{Kind: "CSV", Encoding: encoding, Separator: top.separator}}
	r.csv.Comma = top.separator
	r.csv.FieldsPerRecord = -1
	r.csv.ReuseRecord = true

	// Read the names, and find the columns of the fields.
	header, err := r.csv.Read()
	switch {
	case b.over:
		return nil, fmt.Errorf("the row of names %w", errLongRow)
	case errors.Is(err, io.EOF):
		return nil, errors.New("is empty: not even names of columns")
	case isParseError(err):
		return nil, errors.New("the row of names has a quote in the wrong place")
	case err != nil:
		return nil, err
	case !utf8.ValidString(strings.Join(header, "")):
		return nil, errors.New("the row of names " + notUTF8(r.line(), b.text(r.csv.InputOffset())))
	case len(header) > mostColumns:
		return nil, fmt.Errorf("has %d columns; at most %d", len(header), mostColumns)
	}
	r.rejects = newCorrectedRejects(header)
	r.columns, _ = r.rejects.cells(slices.Clone(header))
	if r.rejects.holdsJSONLines(r.columns) {
		r.lines = newJSONRows(nil, m, s, encoding)
		return r, nil
	}
	if r.at, err = m.find(r.columns); err != nil {
		return nil, fmt.Errorf("%w%s", err, strangeEnds(header))
	}
	return r, nil
}

func (r *csvRows) header() ([]string, Understanding) { return r.columns, r.read }
func (r *csvRows) cells() []string                   { return r.last }

func (r *csvRows) next(values []string) error {
	r.in.left, r.in.row = longestRow, r.csv.InputOffset() // a new row begins
	row, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	r.count++
	r.last = row
	if err != nil {
		return r.broken(err)
	}
	row, right := r.rejects.cells(row)
	if !right || len(row) != len(r.columns) {
		return r.uneven(row)
	}
	if r.last = row; r.lines != nil {
		r.lines.last = []byte(row[0])
		return r.lines.take(values)
	}
	for f, i := range r.at {
		values[f] = ""
		if i < 0 {
			continue
		}
		if !utf8.ValidString(row[i]) {
			return r.undecoded(f)
		}
		var refused *Refusal
		if values[f], refused = r.speller.spell(&r.mapping.Fields[f], row[i]); refused != nil {
			return refused
		}
	}
	return nil
}

// line returns the line of the file on which the last row begins.
func (r *csvRows) line() int {
	line, _ := r.csv.FieldPos(0)
	return r.above + line
}

// undecoded refuses a row because a field isn't UTF-8. All such rows of a file get the same reason,
// which has the place of the first.
func (r *csvRows) undecoded(field int) error {
	if r.foreign == "" {
		r.foreign = notUTF8(r.line(), r.in.text(r.csv.InputOffset()))
	}
	return &Refusal{r.mapping.Fields[field].Name, r.foreign}
}

// broken returns the error for a row that can't be split into cells. If certainly only this row is
// affected, that is a Refusal.
func (r *csvRows) broken(err error) error {
	var p *csv.ParseError
	switch {
	case r.in.over:
		return fmt.Errorf("row %d %w", r.count, errLongRow)
	case !errors.As(err, &p):
		return err
	case p.StartLine != p.Line:
		return fmt.Errorf("row %d: a quote opens on line %d and isn't closed rightly; the rows after it can't be "+
			"told apart", r.count, r.above+p.StartLine)
	}
	r.last = []string{r.in.text(r.csv.InputOffset())} // the whole row as it is, because it can't be split
	return &Refusal{Reason: fmt.Sprintf("line %d has a quote in the wrong place", r.above+p.Line)}
}

// uneven refuses a row with too few or too many cells. If the row spans several lines, it stops the
// file, because the row may have swallowed others.
func (r *csvRows) uneven(row []string) error {
	names := len(r.columns)
	if r.rejects != nil {
		names = r.rejects.width
	}
	reason := fmt.Sprintf("has %d cells, the names are %d", len(row), names)
	for _, cell := range row {
		if strings.Contains(cell, "\n") {
			return fmt.Errorf("row %d, from line %d, %s; a quote may be missing, and the rows after it can't be "+
				"told apart", r.count, r.line(), reason)
		}
		if strings.Contains(cell, "\r") {
			reason += "; a carriage return stands alone in it, where lines must end in LF or CRLF"
			break
		}
	}
	return &Refusal{Reason: reason}
}

// isParseError reports whether encoding/csv couldn't split a row into cells.
func isParseError(err error) bool {
	var p *csv.ParseError
	return errors.As(err, &p)
}

// A boundedReader returns at most left bytes, so that encoding/csv, which has no limit, doesn't
// keep an endless row in memory. It remembers what it has returned since the row began, because
// encoding/csv doesn't return a row that it can't split.
type boundedReader struct {
	r    io.Reader
	left int  // bytes that may still be read
	over bool // more was asked for

	plain bool // if set, nothing is remembered

	row  int64  // offset of the row's first byte
	kept []byte // what is remembered: the bytes from offset at on
	at   int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.over = true
		return 0, errLongRow
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	if b.left -= n; b.plain {
		return n, err
	}
	b.kept = append(b.kept[:copy(b.kept, b.kept[b.row-b.at:])], p[:n]...)
	b.at = b.row
	return n, err
}

// text returns the row up to the offset end, without blank lines before it and the line end after
// it.
func (b *boundedReader) text(end int64) string {
	return strings.Trim(string(b.kept[b.row-b.at:end-b.at]), "\r\n")
}
