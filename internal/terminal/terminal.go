// Package terminal makes texts from elsewhere safe to print: names of campaigns and events, names
// of files, answers of services. Without it, such a text could move the cursor, set the window's
// title, reverse the text around it or forge lines of the program.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Line makes a text from elsewhere safe to print within a line: characters that control a terminal
// are replaced by \u and four digits, also tabs and line ends.
func Line(s string) string { return escaped(s, false) }

// Text is like Line but keeps tabs and line ends, for texts that the program has put together.
func Text(s string) string { return escaped(s, true) }

func escaped(s string, layout bool) string { return string(appendEscaped(nil, []byte(s), layout)) }

// appendEscaped appends text to b. It escapes unsafe characters as JSON does, so that a JSON text
// still has the same values. A byte that isn't UTF-8, which some terminals take for a control
// character, becomes \x and two digits: it isn't allowed in JSON anyway.
func appendEscaped(b, text []byte, layout bool) []byte {
	from := 0
	for at := 0; at < len(text); {
		if c := text[at]; c >= ' ' && c < 0x7f {
			at++
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		if unsafe(r, size, layout) {
			b = append(b, text[from:at]...)
			if r == utf8.RuneError {
				b = fmt.Appendf(b, `\x%02x`, text[at])
			} else {
				b = fmt.Appendf(b, `\u%04x`, r)
			}
			from = at + size
		}
		at += size
	}
	return append(b, text[from:]...)
}

// unsafe reports whether a terminal may obey a character. layout allows tabs and line ends.
func unsafe(r rune, size int, layout bool) bool {
	switch {
	case r == '\n', r == '\t':
		return !layout
	case r < ' ', r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r == utf8.RuneError:
		return size == 1
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // bidi marks
		return true
	}
	return r == 0x2028 || r == 0x2029 // separators of lines and paragraphs
}

// A Writer escapes all unsafe characters that are written to it, except tabs and line ends, which
// are the program's own layout. It may be used by several goroutines.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte // the beginning of a character whose end is still to come
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Write writes p. An error may come after a part of it was written.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
	}
	whole := len(text)
	for cut := 1; cut < utf8.UTFMax && cut <= len(text); cut++ {
		if tail := text[len(text)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				whole -= cut
			}
			break
		}
	}
	_, err := w.to.Write(appendEscaped(nil, text[:whole], true))
	w.rest = append(w.rest[:0:0], text[whole:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the beginning of a character whose end never came.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.rest
	w.rest = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := w.to.Write(appendEscaped(nil, rest, true))
	return err
}

// Data returns the writer for data that isn't text for people: a file or a pipe gets them as they
// are, and a terminal gets them escaped.
func Data(w io.Writer) io.Writer {
	if own, ok := w.(*Writer); ok && !Is(w) {
		return own.to
	}
	return w
}

// Is reports whether a reader or a writer leads to a terminal.
func Is(stream any) bool {
	if own, ok := stream.(*Writer); ok {
		stream = own.to
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Draws reports whether w leads to a terminal that progress bars can be drawn on. On a terminal of
// unknown size, as in some containers, they wouldn't be seen.
func Draws(w io.Writer) bool {
	file, ok := Raw(w).(*os.File)
	if !ok {
		return false
	}
	width, height, err := term.GetSize(int(file.Fd()))
	return err == nil && width > 0 && height > 0
}

// Raw returns what w writes to, without escaping, for progress bars, which move the cursor.
func Raw(w io.Writer) io.Writer {
	if own, ok := w.(*Writer); ok {
		return own.to
	}
	return w
}
