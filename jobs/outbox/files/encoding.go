package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// These are the names of encodings in a config.
const (
	utf8Name        = "utf-8"
	utf16leName     = "utf-16le"
	utf16beName     = "utf-16be"
	windows1252Name = "windows-1252"
)

// marks are the byte order marks, with which a file says its encoding itself.
var marks = []struct{ mark, name string }{{"\ufeff", utf8Name}, {"\xff\xfe", utf16leName}, {"\xfe\xff", utf16beName}}

// decode returns a text file converted to UTF-8, and the encoding that it had. It is an error if
// the mark contradicts the declared encoding, or if bytes mean nothing in the encoding. In UTF-8
// such bytes are no error here: only rows that have them in a field are refused, later.
func decode(in *bufio.Reader, declared string) (*bufio.Reader, string, error) {
	name := declared
	head, err := in.Peek(len("\ufeff"))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	for _, m := range marks {
		if !bytes.HasPrefix(head, []byte(m.mark)) {
			continue
		}
		// A rejects file is UTF-8 with a mark, whatever the job declares; that mark counts.
		if declared != "" && declared != m.name && m.name != utf8Name {
			return nil, "", fmt.Errorf("begins with the mark of %s, and the job's format says encoding: %s", m.name,
				declared)
		}
		name = m.name
		_, _ = in.Discard(len(m.mark)) // Peek has returned these bytes already
		break
	}
	p := place{line: 1}
	switch name {
	case utf16leName, utf16beName:
		return bufio.NewReaderSize(&fromUTF16{in: in, big: name == utf16beName, place: p}, readAhead), name, nil
	case windows1252Name:
		return bufio.NewReaderSize(&fromWindows{in: bufio.NewReaderSize(in, longestRow), place: p}, readAhead), name,
			nil
	}
	return in, utf8Name, nil
}

// A place is the position of the next character in a text. Columns are counted in characters;
// String counts from 1.
type place struct{ line, column int }

func (p *place) next(r rune) {
	if p.column++; r == '\n' {
		p.line, p.column = p.line+1, 0
	}
}

func (p place) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.column+1) }

// fromUTF16 converts UTF-16 to UTF-8.
type fromUTF16 struct {
	in    *bufio.Reader
	big   bool   // UTF-16BE, not UTF-16LE
	place place  // of the next character
	ready []byte // converted, and not yet returned by Read
	err   error  // what Read returns after ready
}

// unit returns the next 16 bits.
func (f *fromUTF16) unit() (rune, error) {
	a, err := f.in.ReadByte()
	if err != nil {
		return 0, err
	}
	b, err := f.in.ReadByte()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: the file ends in the middle of a character; it was cut, or isn't UTF-16", f.place)
	}
	if f.big {
		a, b = b, a
	}
	return rune(b)<<8 | rune(a), err
}

func (f *fromUTF16) Read(p []byte) (int, error) {
	for len(f.ready) == 0 || len(f.ready) < min(len(p), readAhead) && f.err == nil {
		if f.err != nil {
			return 0, f.err
		}
		r, err := f.unit()
		if err == nil && utf16.IsSurrogate(r) {
			var low rune
			if low, err = f.unit(); err == nil || errors.Is(err, io.EOF) {
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					err = fmt.Errorf("%s: half a character; the file isn't UTF-16, or is damaged", f.place)
				}
			}
		}
		if f.err = err; err == nil {
			f.ready = utf8.AppendRune(f.ready, r)
			f.place.next(r)
		}
	}
	n := copy(p, f.ready)
	f.ready = f.ready[:copy(f.ready, f.ready[n:])]
	return n, nil
}

// fromWindows converts Windows-1252 to UTF-8, line by line. A line with letters beyond ASCII that
// is valid UTF-8 shows that the declared encoding is wrong.
type fromWindows struct {
	in    *bufio.Reader
	place place  // of the next character
	ready []byte // converted, and not yet returned by Read
	buf   []byte // reused for ready
	err   error  // what Read returns after ready
}

func (f *fromWindows) Read(p []byte) (int, error) {
	for len(f.ready) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		line, err := f.in.ReadSlice('\n')
		if f.err = err; errors.Is(err, bufio.ErrBufferFull) {
			f.err = fmt.Errorf("line %d %w", f.place.line, errLongRow)
			continue
		}
		if err := f.decode(line); err != nil {
			f.err = err
		}
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// decode converts one line into ready.
func (f *fromWindows) decode(line []byte) error {
	f.buf = f.buf[:0]
	beyond := bytes.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf })
	if beyond >= 0 && utf8.Valid(line) {
		f.place.column = beyond
		return fmt.Errorf("%s: this line is UTF-8, and the job's format says encoding: windows-1252", f.place)
	}
	for _, b := range line {
		r := charmap.Windows1252.DecodeByte(b)
		if !inWindows(b) {
			return fmt.Errorf("%s: the byte 0x%02X stands for nothing in Windows-1252", f.place, b)
		}
		f.buf = utf8.AppendRune(f.buf, r)
		f.place.next(r)
	}
	f.ready = f.buf
	return nil
}

// inWindows reports whether Windows-1252 has a character for a byte.
func inWindows(b byte) bool { return strings.IndexByte("\x81\x8d\x8f\x90\x9d", b) < 0 }

// notUTF8 returns a reason that says where a text stops being UTF-8, and what encoding it may have
// instead. The reason contains nothing of the text.
func notUTF8(line int, text string) string {
	at := place{line: line}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				break
			}
		}
		at.next(r)
	}
	reason := fmt.Sprintf("is not UTF-8, first on %s", at)
	for i := range len(text) {
		if !inWindows(text[i]) {
			return reason
		}
	}
	return reason + "; if the file is Windows-1252, say so by format: {encoding: windows-1252}"
}

// inUTF8 returns the cells of a row in UTF-8, whatever the file's encoding is. A text that isn't
// UTF-8, without a declared encoding, is most likely Windows-1252; a byte that means nothing there
// becomes U+FFFD, which no field accepts.
func inUTF8(cells []string) []string {
	cells = slices.Clone(cells)
	for i, cell := range cells {
		if utf8.ValidString(cell) {
			continue
		}
		var text strings.Builder
		for _, b := range []byte(cell) {
			if r := charmap.Windows1252.DecodeByte(b); inWindows(b) {
				text.WriteRune(r)
			} else {
				text.WriteRune(utf8.RuneError)
			}
		}
		cells[i] = text.String()
	}
	return cells
}
