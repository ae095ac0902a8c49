package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestEscapes(t *testing.T) {
	for _, c := range []struct{ text, line, kept string }{
		{"", "", ""},
		{"Grüße, 東京 👩‍🚀 50% \\u202e", "Grüße, 東京 👩‍🚀 50% \\u202e", "Grüße, 東京 👩‍🚀 50% \\u202e"},
		{"a\x1b[31mb", `a\u001b[31mb`, `a\u001b[31mb`},
		{"a\n\tb\r\n", `a\u000a\u0009b\u000d\u000a`, "a\n\tb\\u000d\n"},
		{"\x00\x7f\u0080\u009b\u009f\u00a0", "\\u0000\\u007f\\u0080\\u009b\\u009f\u00a0",
			"\\u0000\\u007f\\u0080\\u009b\\u009f\u00a0"},
		{"\u202a\u202e\u2066\u2069\u200e\u200f\u061c", `\u202a\u202e\u2066\u2069\u200e\u200f\u061c`,
			`\u202a\u202e\u2066\u2069\u200e\u200f\u061c`},
		{"\u2028\u2029\u200d\u2065", "\\u2028\\u2029\u200d\u2065", "\\u2028\\u2029\u200d\u2065"},
		{"\x9b2J\xff \ufffd \xe2\x80", "\\x9b2J\\xff \ufffd \\xe2\\x80", "\\x9b2J\\xff \ufffd \\xe2\\x80"},
	} {
		if got := Line(c.text); got != c.line {
			t.Errorf("Line(%q) is %q, want %q", c.text, got, c.line)
		}
		if got := Text(c.text); got != c.kept {
			t.Errorf("Text(%q) is %q, want %q", c.text, got, c.kept)
		}
		// Written in pieces of any size, it is the same.
		for size := 1; size <= len(c.text)+1; size++ {
			var out bytes.Buffer
			w := NewWriter(&out)
			for rest := c.text; rest != ""; {
				n := min(size, len(rest))
				if wrote, err := w.Write([]byte(rest[:n])); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			if err := w.Flush(); err != nil || out.String() != c.kept {
				t.Errorf("%q in pieces of %d is %q, want %q, %v", c.text, size, &out, c.kept, err)
			}
		}
	}
}

// What is escaped in a text of JSON stands for the same value.
func TestJSONStaysTheSame(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r < 0x3000; r++ {
		all.WriteRune(r)
		all.WriteString(`\`)
	}
	var out bytes.Buffer
	w := NewWriter(&out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := errors.Join(enc.Encode(all.String()), w.Flush()); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != all.String() {
		t.Errorf("other than before: %v", err)
	}
	if line := strings.TrimSuffix(out.String(), "\n"); Line(line) != line {
		t.Error("something unsafe is left")
	}
}

func TestWriterTellsOfErrors(t *testing.T) {
	read, write := io.Pipe()
	_ = read.Close()
	w := NewWriter(write)
	if n, err := w.Write([]byte("text\xe2")); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := w.Flush(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Flush says %v", err)
	}
}

func TestSeveralWrite(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				_, _ = io.WriteString(w, "\x1bline\n")
			}
		})
	}
	all.Wait()
	if out.String() != strings.Repeat(`\u001bline`+"\n", 800) {
		t.Error("lines are mixed")
	}
}

// A file and a pipe are given data as they are; neither is a terminal.
func TestData(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	if w := NewWriter(file); Data(w) != io.Writer(file) || Raw(w) != io.Writer(file) || Is(w) || Is(file) {
		t.Error("a file is taken for a terminal")
	}
	if Data(file) != io.Writer(file) || Raw(file) != io.Writer(file) {
		t.Error("what isn't wrapped is changed")
	}
}
