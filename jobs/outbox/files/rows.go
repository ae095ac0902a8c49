package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// rows are those of one file. Its errors stop the file; a *Refusal is about one row alone.
type rows interface {
	// next reads one row, and its fields into values; io.EOF after the last.
	next(values []string) error
	// header names the original cells.
	header() []string
	// cells are the original ones of the row that next has read, until the next call.
	cells() []string
}

// longestRow is what one row may have of bytes. What a record needs is less than two thousand.
const longestRow = 256 << 10

var errLongRow = fmt.Errorf("is longer than %d bytes; is a quote or a line end missing?", longestRow)

// openRows tells by its first bytes what a file is, and by nothing else: names lie. dir is for a Parquet file's copy.
func openRows(in io.Reader, m Mapping, dir string) (rows, func(), error) {
	none := func() {}
	plain, done, err := decompress(in)
	if err != nil {
		return nil, none, err
	}
	head, err := plain.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		done()
		return nil, none, err
	}
	var r rows
	err = nil // a short file ended while it was peeked into
	switch {
	case len(head) == 0:
		err = errors.New("is empty: not even names of columns")
	case bytes.HasPrefix(head, []byte("PAR1")):
		defer done() // all of it is copied
		p, remove, err := openParquet(plain, m, dir)
		if err != nil {
			return nil, none, err
		}
		return p, remove, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		err = errors.New("is UTF-16; want UTF-8")
	case bytes.IndexByte(head, 0) >= 0:
		err = errors.New("holds NUL bytes: it is UTF-16, or no text at all; want CSV, JSON Lines or Parquet, plain or under gzip or zstd")
	default:
		skipMark(plain)
		if first := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(mark)), " \t\r\n"); len(first) > 0 && first[0] == '{' {
			r = newJSONRows(plain, m)
		} else {
			r, err = newCSVRows(plain, m)
		}
	}
	if err != nil {
		done()
		return nil, none, err
	}
	return r, done, nil
}

// mark is the byte order mark that some programs write before UTF-8.
const mark = "\ufeff"

func skipMark(r *bufio.Reader) {
	if head, _ := r.Peek(len(mark)); string(head) == mark {
		_, _ = r.Discard(len(mark)) // it has just been seen
	}
}
