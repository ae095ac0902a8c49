package emulator

import (
	"io"
	"strconv"
	"strings"
)

// csvWriter writes RFC 4180 with LF and no more quotes than needed, in large pieces.
type csvWriter struct {
	out   io.Writer
	buf   []byte
	cells int // of the current line
	err   error
}

const csvPiece = 32 << 10

func (w *csvWriter) sep() {
	if w.cells > 0 {
		w.buf = append(w.buf, ',')
	}
	w.cells++
}

func (w *csvWriter) text(s string) {
	w.sep()
	w.buf = appendText(w.buf, s)
}

func appendText(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

func (w *csvWriter) whole(n int64) {
	w.sep()
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// micros prints millionths with one to six decimals.
func (w *csvWriter) micros(n int64) {
	w.sep()
	w.buf = appendMicros(w.buf, n)
}

func appendMicros(b []byte, n int64) []byte {
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	b = strconv.AppendInt(b, n/million, 10)
	b = append(b, '.')
	rest := n % million
	for div := int64(million / 10); ; div /= 10 {
		b = append(b, byte('0'+rest/div))
		if rest %= div; rest == 0 {
			return b
		}
	}
}

// real prints the shortest decimal that reads back as x, with at least one decimal.
func (w *csvWriter) real(x float64) {
	w.sep()
	start := len(w.buf)
	w.buf = strconv.AppendFloat(w.buf, x, 'f', -1, 64)
	if !strings.Contains(string(w.buf[start:]), ".") {
		w.buf = append(w.buf, ".0"...)
	}
}

func (w *csvWriter) endLine() error {
	w.buf = append(w.buf, '\n')
	w.cells = 0
	if len(w.buf) >= csvPiece {
		return w.flush()
	}
	return w.err
}

func (w *csvWriter) flush() error {
	if w.err == nil {
		_, w.err = w.out.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}
