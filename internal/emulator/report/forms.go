package report

import (
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/reading"
)

// csvForm is the form of an answer's CSV, as far as the interface document leaves it open.
type csvForm struct {
	lineEnd     string
	quoted      bool   // every cell is quoted
	blank       bool   // a blank line ends the answer
	numbers     string // the reading of report-numbers
	zero        string // written in place of 0 if replaceZero is set
	replaceZero bool
	upper       bool // the header is in capitals
	more        bool // there is a column that nobody asked for
	cut         bool // names of campaigns end with half a character
}

// newCSV begins an answer in the form of the chosen readings.
func newCSV(out io.Writer, chosen reading.Set) *csvWriter {
	form := csvForm{
		lineEnd: "\n", quoted: chosen.Is(reading.ReportForm, "quoted"), blank: chosen.Is(reading.ReportForm, "blank"),
		numbers: chosen.Of(reading.ReportNumbers), upper: chosen.Is(reading.ReportHeader, "upper"),
		more: chosen.Is(reading.MoreColumns, "one"), cut: chosen.Is(reading.CutTexts, "cut"),
	}
	form.zero = map[string]string{"empty": "", "null": "null", "nan": "NaN"}[chosen.Of(reading.NoNumber)]
	form.replaceZero = !chosen.Is(reading.NoNumber, "zero")
	if chosen.Is(reading.ReportForm, "crlf") {
		form.lineEnd = "\r\n"
	}
	w := &csvWriter{out: out, form: form}
	if chosen.Is(reading.ReportForm, "mark") {
		w.buf = append(w.buf, "\ufeff"...)
	}
	return w
}

// arranged returns the columns of a CSV in the order of the chosen reading.
func arranged(columns []column, chosen reading.Set) []column {
	if !chosen.Is(reading.ReportHeader, "metrics-first") {
		return columns
	}
	var first, then []column
	for _, c := range columns {
		if c.text {
			then = append(then, c)
		} else {
			first = append(first, c)
		}
	}
	return append(first, then...)
}

// header writes the CSV's first line.
func (w *csvWriter) header(columns []column) {
	for _, c := range columns {
		if w.form.upper {
			c.head = strings.ToUpper(c.head)
		}
		w.text(c.head)
	}
	if w.form.more {
		w.text("note")
	}
	_ = w.endLine() // the error stays in w
}

// end writes out all that is left.
func (w *csvWriter) end() error {
	if w.form.blank {
		w.buf = append(w.buf, w.form.lineEnd...)
	}
	return w.flush()
}

// setNumber takes w.buf with a number appended to it, and keeps it with the number in the answer's
// form.
func (w *csvWriter) setNumber(b []byte) {
	if f := &w.form; f.numbers == "decimal" && !f.replaceZero && !f.quoted {
		w.buf = b
		return
	}
	text := w.form.number(string(b[len(w.buf):]))
	if w.form.quoted {
		text = `"` + text + `"`
	}
	w.buf = append(w.buf, text...)
}

// number returns a number's text in the answer's form.
func (f *csvForm) number(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case x == 0 && f.replaceZero:
		return f.zero
	case f.numbers == "shortest":
		return strings.TrimSuffix(text, ".0")
	case f.numbers == "float" && x != 0 && (math.Abs(x) < 1e-4 || math.Abs(x) >= 1e16): // as Python's repr has it
		return strconv.FormatFloat(x, 'e', -1, 64)
	case f.numbers == "float":
		return string(appendReal(nil, x))
	}
	return text
}
