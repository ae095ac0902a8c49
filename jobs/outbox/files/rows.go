package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// rows reads the rows of one file. A *Refusal as an error is about one row alone; any other error
// stops the file.
type rows interface {
	// next reads one row and sets values to its fields. After the last row it returns io.EOF.
	next(values []string) error
	// header returns the names of the original cells, and how the file was understood.
	header() ([]string, Understanding)
	// cells returns the original cells of the row that next has read. They are valid until the next
	// call.
	cells() []string
}

// longestRow limits a row's bytes. A record needs less than two thousand.
const longestRow = 256 << 10

// errLongRow follows the place of a row in an error.
var errLongRow = fmt.Errorf("is longer than %d bytes; is a quote or a line end missing?", longestRow)

// openRows opens a file in the format that its first bytes show. The name isn't used, because names
// may be wrong. dir is for the copy of a file that is read from its end.
func openRows(in io.Reader, m Mapping, dir string) (rows, func(), error) {
	plain, done, err := decompress(in)
	if err != nil {
		return nil, func() {}, err
	}
	return openPlain(plain, done, m, dir, false)
}

// openPlain opens a file after decompression. zipped says that it is the only file of a ZIP
// archive. done is called once the file's content is no longer needed.
func openPlain(plain *bufio.Reader, done func(), m Mapping, dir string, zipped bool) (r rows, closed func(),
	err error) {
	head, err := plain.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		done()
		return nil, func() {}, err
	}
	closed = done
	switch {
	case len(head) == 0:
		err = errors.New("is empty: not even names of columns")
	case bytes.HasPrefix(head, []byte("PAR1")):
		defer done() // the whole file is copied
		p, remove, err := openParquet(plain, m, dir)
		if err != nil {
			return nil, func() {}, err
		}
		return p, remove, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		defer done()
		return openZip(plain, m, dir, zipped)
	case bytes.HasPrefix(head, []byte("PK\x05\x06")):
		err = errors.New("is a ZIP archive without a file")
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		err = errors.New("is an XLS file of an older Excel, or an XLSX file with a password; save it as XLSX or CSV")
	default:
		r, err = openText(plain, m)
	}
	if err != nil {
		done()
		return nil, func() {}, err
	}
	return r, closed, nil
}

// openText opens a text in the format that it has once its encoding is known.
func openText(plain *bufio.Reader, m Mapping) (rows, error) {
	s, err := m.Format.speller()
	if err != nil {
		return nil, err
	}
	text, encoding, err := decode(plain, m.Format.Encoding)
	if err != nil {
		return nil, err
	}
	head, err := text.Peek(4096)
	switch first := bytes.TrimLeft(head, " \t\r\n"); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case bytes.IndexByte(head, 0) >= 0:
		return nil, errors.New("holds NUL bytes: it is UTF-16 without a mark, as format: {encoding: utf-16le} says, " +
			"or no text at all; " +
			"want CSV, JSON Lines, Parquet or XLSX, plain or under gzip or zstd")
	case len(first) > 0 && first[0] == '{':
		return newJSONRows(text, m, s, encoding), nil
	case len(first) > 0 && first[0] == '[':
		r := newJSONRows(&arrayReader{in: text}, m, s, encoding)
		r.read.Kind = "JSON array"
		return r, nil
	case len(first) > 0 && first[0] == '<':
		return nil, errors.New("is HTML or XML, as some pages give it the name of an Excel file; open it in a " +
			"spreadsheet and save it as XLSX or CSV")
	}
	return newCSVRows(text, m, s, encoding)
}
