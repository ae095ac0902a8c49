package text

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// Plural writes a number of things: "1 window", "2 windows". The noun's plural ends in s.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Count writes a number with its thousands separated by commas.
func Count(n int64) string {
	digits := fmt.Sprint(n)
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	slices.Reverse(groups)
	return strings.Join(append([]string{digits}, groups...), ",")
}

// Bytes writes a number of bytes in units of a thousand.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// DayRange names a run of partitions by its first and its last one; the partition of a table
// without periods is "all".
func DayRange(first, last civil.Date) string {
	switch first {
	case sinks.Whole:
		return "all"
	case last:
		return first.String()
	}
	return first.String() + ".." + last.String()
}

// Ago writes how long before now something happened, to the second.
func Ago(now, at time.Time) string { return now.Sub(at).Round(time.Second).String() + " ago" }

// Labeled writes a text under a label. The text's later lines are indented below its first one, so
// that a line end in a name of the account can't begin a line that looks like one of the program's
// own.
func Labeled(w io.Writer, label, text string) {
	fmt.Fprintf(w, "  %-10s  %s\n", label, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 14)))
}

// Fold breaks a text between words into lines of at most width bytes. A longer word has a line of
// its own.
func Fold(text string, width int) string {
	var lines []string
	for len(text) > width {
		at := strings.LastIndex(text[:width+1], " ")
		if at < 0 {
			at = strings.Index(text, " ")
		}
		if at < 0 {
			break
		}
		lines, text = append(lines, text[:at]), text[at+1:]
	}
	return strings.Join(append(lines, text), "\n")
}

// Cut shortens a text to width bytes, and ends it with three dots. A shorter text stays as it is.
func Cut(text string, width int) string {
	if len(text) <= width {
		return text
	}
	return strings.ToValidUTF8(text[:width-3], "") + "..."
}

// FirstLine shortens a message that joins several errors to its first one and the number of the
// others. The closing table of a run shows all of them.
func FirstLine(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if more {
		return fmt.Sprintf("%s (and %d more)", first, strings.Count(rest, "\n")+1)
	}
	return first
}

// JSONLines writes each element of a list as JSON on a line of its own.
func JSONLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, one := range list {
		if err := enc.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// JSON writes a value as indented JSON.
func JSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// Signed writes a difference, a decimal as text, with its sign.
func Signed(delta string) string {
	if delta == "" || delta == "0" || delta[0] == '-' {
		return delta
	}
	return "+" + delta
}
