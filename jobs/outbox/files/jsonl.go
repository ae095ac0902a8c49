package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// jsonRows reads the rows of a JSON Lines file: one object a line. Blank lines don't count.
type jsonRows struct {
	in      *bufio.Reader
	read    Understanding
	mapping Mapping
	speller speller
	line    int      // lines read so far
	foreign string   // the refusal for texts that aren't UTF-8, once there was one
	keys    []string // by field: its key in the objects; empty: none
	present []bool   // by field: the current object has it
	last    []byte   // the line that next has read
	count   int64    // rows so far
}

func newJSONRows(in io.Reader, m Mapping, s speller, encoding string) *jsonRows {
	keys, _ := m.sources()
	return &jsonRows{in: bufio.NewReaderSize(in, longestRow), read: Understanding{Kind: "JSON Lines",
		Encoding: encoding}, mapping: m, speller: s, keys: keys, present: make([]bool, len(keys))}
}

// header returns one column, whose cells are the lines, because objects needn't have the same keys.
func (r *jsonRows) header() ([]string, Understanding) { return lineColumn, r.read }
func (r *jsonRows) cells() []string                   { return []string{string(r.last)} }

func (r *jsonRows) next(values []string) error {
	for {
		line, err := r.in.ReadSlice('\n')
		r.line++
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("row %d %w", r.count+1, errLongRow)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if r.last = bytes.TrimSpace(line); len(r.last) > 0 {
			r.count++
			return r.take(values)
		}
		if err != nil {
			return io.EOF
		}
	}
}

// take reads the fields of the current line into values.
func (r *jsonRows) take(values []string) error {
	if len(r.last) == 0 || !json.Valid(r.last) || r.last[0] != '{' {
		return &Refusal{Reason: "isn't a JSON object"}
	}
	clear(values)
	clear(r.present)
	s := jsonScanner{r.last, 1}
	for s.more('}') {
		key := s.value()
		value := s.value()
		taken := false
		for f, want := range r.keys {
			if want == "" || !isKey(key, want) {
				continue
			}
			taken = true
			field := r.mapping.Fields[f]
			if r.present[f] {
				return &Refusal{field.Name, "stands twice"}
			}
			r.present[f] = true
			var ok bool
			if values[f], ok = plainText(value); !ok && !field.JSON {
				return &Refusal{field.Name, "is an object or a list; want a text or a number"}
			} else if !ok {
				values[f] = string(value)
			}
			if !utf8.Valid(value) {
				if r.foreign == "" {
					r.foreign = notUTF8(r.line, string(r.last))
				}
				return &Refusal{field.Name, r.foreign}
			}
			if value[0] == '"' {
				var refused *Refusal
				if values[f], refused = r.speller.spell(&r.mapping.Fields[f], values[f]); refused != nil {
					return refused
				}
			}
		}
		if !taken && r.mapping.Strict && !r.ignored(key) {
			return &Refusal{Reason: "has a key that no field is taken from, and that isn't among those to ignore"}
		}
	}
	return nil
}

// ignored reports whether Strict accepts a key that no field is taken from.
func (r *jsonRows) ignored(key []byte) bool {
	return slices.ContainsFunc(r.mapping.Ignore, func(name string) bool { return isKey(key, name) })
}

// isKey reports whether raw, a quoted key, is the wanted one.
func isKey(raw []byte, want string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:len(raw)-1]) == want
	}
	key, _ := plainText(raw)
	return key == want
}

// plainText returns the text of a JSON value: a number as it is written, and an empty text for
// null. It returns false for objects and lists.
func plainText(raw []byte) (string, bool) {
	switch raw[0] {
	case '{', '[':
		return "", false
	case 'n':
		return "", true
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 {
			return string(raw[1 : len(raw)-1]), true
		}
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	}
	return string(raw), true
}

// A jsonScanner walks over JSON that is known to be valid.
type jsonScanner struct {
	data []byte
	pos  int
}

// more skips to the next element, and reports whether there is one before the end mark.
func (s *jsonScanner) more(end byte) bool {
	for ; ; s.pos++ {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n', ',', ':':
		case end:
			return false
		default:
			return true
		}
	}
}

// value skips one value and returns its bytes.
func (s *jsonScanner) value() []byte {
	s.more(0)
	start, depth := s.pos, 0
	for {
		switch s.data[s.pos] {
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case '"':
			s.text()
		case ',', ':', ' ', '\t', '\r', '\n':
			s.pos++
			continue
		default:
			for s.pos < len(s.data) && bytes.IndexByte([]byte(",:}] \t\r\n"), s.data[s.pos]) < 0 {
				s.pos++
			}
		}
		if depth == 0 {
			return s.data[start:s.pos]
		}
	}
}

// text skips a string.
func (s *jsonScanner) text() {
	for s.pos++; s.data[s.pos] != '"'; s.pos++ {
		if s.data[s.pos] == '\\' {
			s.pos++
		}
	}
	s.pos++
}

// An arrayReader converts a JSON array to lines, one for each element. It only looks for the ends
// of elements; jsonRows checks whether they are JSON.
type arrayReader struct {
	in     *bufio.Reader
	depth  int  // brackets and braces that are open
	quoted bool // inside of a string
	escape bool // right after a backslash in a string
	ended  bool // after the array's last bracket
}

func (a *arrayReader) Read(p []byte) (int, error) {
	for n := 0; ; {
		c, err := a.in.ReadByte()
		if errors.Is(err, io.EOF) && !a.ended {
			err = errors.New("is a JSON array that ends before its last bracket; it was cut")
		}
		if err != nil {
			return n, err
		}
		if p[n] = a.next(c); n+1 == len(p) || p[n] == '\n' {
			return n + 1, nil
		}
		n++
	}
}

// next returns the character to put in place of c: a line end for a comma between elements, a blank
// for the opening bracket and for line ends inside elements, and a line end for the closing
// bracket.
func (a *arrayReader) next(c byte) byte {
	switch {
	case a.ended && bytes.IndexByte([]byte(" \t\r\n"), c) < 0:
		return '!' // text after the array becomes a line that isn't JSON
	case a.escape:
		a.escape = false
	case a.quoted:
		a.escape, a.quoted = c == '\\', c != '"'
	case c == '"':
		a.quoted = true
	case c == '[' || c == '{':
		if a.depth++; a.depth == 1 {
			return ' '
		}
	case c == ']' || c == '}':
		if a.depth--; a.depth == 0 {
			a.ended = true
			return '\n'
		}
	case c == ',' && a.depth == 1:
		return '\n'
	case c == '\n' || c == '\r':
		return ' '
	}
	return c
}
