package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// csvWriter writes CSV by RFC 4180, in large pieces. If the readings choose nothing else, lines end
// with LF, and there are no more quotes than needed, as in the service's answers.
type csvWriter struct {
	out   io.Writer
	form  csvForm
	buf   []byte
	cells int   // of the current line
	err   error // the first error of a write
}

// csvPiece is how many bytes are gathered before they are written out.
const csvPiece = 32 << 10

// sep writes the comma before every cell but a line's first.
func (w *csvWriter) sep() {
	if w.cells > 0 {
		w.buf = append(w.buf, ',')
	}
	w.cells++
}

// text writes a cell of text.
func (w *csvWriter) text(s string) {
	w.sep()
	if w.form.quoted {
		w.buf = appendQuoted(w.buf, s)
		return
	}
	w.buf = appendText(w.buf, s)
}

// appendText quotes a text only when it has to be.
func appendText(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(b, s...)
	}
	return appendQuoted(b, s)
}

// appendQuoted appends a text between quotes.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// whole writes an integer.
func (w *csvWriter) whole(n int64) {
	w.sep()
	w.setNumber(strconv.AppendInt(w.buf, n, 10))
}

// micros prints millionths with one to six decimals.
func (w *csvWriter) micros(n int64) {
	w.sep()
	w.setNumber(appendMicros(w.buf, n))
}

// appendMicros appends millionths as a decimal of one to six places.
func appendMicros(b []byte, n int64) []byte {
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	b = strconv.AppendInt(b, n/facts.Million, 10)
	b = append(b, '.')
	rest := n % facts.Million
	for div := int64(facts.Million / 10); ; div /= 10 {
		b = append(b, byte('0'+rest/div))
		if rest %= div; rest == 0 {
			return b
		}
	}
}

// number prints what SQLite gave for a metric.
func (w *csvWriter) number(v any, u metrics.Unit) error {
	w.sep()
	b, err := appendNumber(w.buf, v, u)
	w.setNumber(b)
	return err
}

// appendNumber prints a metric's value: integers plainly, all else with a decimal point.
func appendNumber(b []byte, v any, u metrics.Unit) ([]byte, error) {
	switch v := v.(type) {
	case float64:
		return appendReal(b, v), nil
	case int64:
		if u == metrics.Micros {
			return appendMicros(b, v), nil
		}
		return strconv.AppendInt(b, v, 10), nil
	default:
		return b, fmt.Errorf("a metric is a %T", v)
	}
}

// appendReal prints the shortest decimal that reads back as x, with at least one decimal.
func appendReal(b []byte, x float64) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, x, 'f', -1, 64)
	if !bytes.ContainsRune(b[start:], '.') {
		b = append(b, ".0"...)
	}
	return b
}

// endLine ends a row; once enough has gathered it is written out.
func (w *csvWriter) endLine() error {
	w.buf = append(w.buf, w.form.lineEnd...)
	w.cells = 0
	if len(w.buf) >= csvPiece {
		return w.flush()
	}
	return w.err
}

// flush writes out what has gathered, and returns the first error of any write.
func (w *csvWriter) flush() error {
	if w.err == nil {
		_, w.err = w.out.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}
