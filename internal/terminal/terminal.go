// Package terminal shows text of others: names of campaigns and events, names of files, answers of
// services. Without it, such a text could move the cursor, set the window's title, turn its
// surroundings around or forge lines of the program.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Line makes a text of others a piece of one line: what a terminal would obey is shown as \u and
// four digits.
func Line(s string) string { return escaped(s, false) }

// Text is Line that keeps tabs and line ends, for texts that the program has put together itself.
func Text(s string) string { return escaped(s, true) }

func escaped(s string, layout bool) string { return string(appendEscaped(nil, []byte(s), layout)) }

// appendEscaped writes what is unsafe as JSON would, so that the bytes of a JSON text stand for the
// same values as before. A byte that is no UTF-8, which some terminals take for a control
// character, isn't JSON anyway.
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

func unsafe(r rune, size int, layout bool) bool {
	switch {
	case r == '\n', r == '\t':
		return !layout
	case r < ' ', r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r == utf8.RuneError:
		return size == 1
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // of direction
		return true
	}
	return r == 0x2028 || r == 0x2029 // separators of lines and paragraphs
}

// A Writer escapes all that is written through it, but tabs and line ends: the program's own
// layout. It may be used by several goroutines.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte // the beginning of a character whose end is still to come
}

// NewWriter makes a Writer to w.
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

// Flush writes the beginning of a character that has no end.
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

// Data is where w leads, for what isn't text for people: a file or a pipe gets data as they are, a
// terminal escaped.
func Data(w io.Writer) io.Writer {
	if own, ok := w.(*Writer); ok && !Is(w) {
		return own.to
	}
	return w
}

// Is says whether a reader or a writer leads to a terminal.
func Is(stream any) bool {
	if own, ok := stream.(*Writer); ok {
		stream = own.to
	}
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Draws says whether w leads to a terminal that progress bars can be drawn on. On one whose size
// isn't known, such as that of some containers, none would be seen.
func Draws(w io.Writer) bool {
	file, ok := Raw(w).(*os.File)
	if !ok {
		return false
	}
	width, height, err := term.GetSize(int(file.Fd()))
	return err == nil && width > 0 && height > 0
}

// Raw is where w leads, for progress bars, which move the cursor themselves.
func Raw(w io.Writer) io.Writer {
	if own, ok := w.(*Writer); ok {
		return own.to
	}
	return w
}
