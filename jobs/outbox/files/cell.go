package files

import (
	"encoding/xml"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// A cell is a cell of a sheet, as it is stored and not as it is displayed.
type cell struct {
	kind  kind
	style style
	text  string // for a number, its digits
}

// A kind says what a cell holds.
type kind int

const (
	ofText kind = iota
	ofNumber
	ofISO     // a time as ISO 8601 text
	ofFault   // an error of the spreadsheet, such as #N/A
	ofNothing // a formula whose value isn't stored
)

// A style says what a number means, as far as its display format shows it.
type style int

const (
	general style = iota // the format says nothing more about the number
	dated                // the number counts days
	padded               // it may be shown with digits that aren't stored
)

// cell returns the cell for what the sheet says: its type (kind, as in the attribute t), the index
// of its style, its value if hasValue, and whether it has a formula.
func (b *workbook) cell(kind, styleIndex, value string, hasValue, formula bool) (cell, error) {
	var c cell
	if i, ok := index(styleIndex); ok && i < len(b.styles) {
		c.style = b.styles[i]
	}
	switch {
	case !hasValue && formula:
		return cell{kind: ofNothing}, nil
	case !hasValue || value == "" && kind != "s":
		return cell{}, nil
	}
	switch kind {
	case "s":
		i, ok := index(strings.TrimSpace(value))
		if !ok || i >= len(b.shared) {
			return c, errors.New("a cell's text isn't among those that cells share")
		}
		return cell{text: b.shared[i]}, nil
	case "str", "inlineStr":
		return cell{text: value}, nil
	case "b":
		return cell{text: map[bool]string{true: "true", false: "false"}[value == "1"]}, nil
	case "d":
		return cell{kind: ofISO, text: value}, nil
	case "e":
		return cell{kind: ofFault, text: value}, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return c, errors.New("a cell that should be a number isn't one")
	}
	// A spreadsheet keeps fifteen digits; what is stored beyond them is a rounding error of the
	// binary fraction.
	if n, err = strconv.ParseFloat(strconv.FormatFloat(n, 'e', 14, 64), 64); err != nil {
		return c, errors.New("a cell that should be a number isn't one")
	}
	c.kind, c.text = ofNumber, strconv.FormatFloat(n, 'f', -1, 64)
	return c, nil
}

// plain returns the text of a cell as a person expects it in a rejects file: a day as a date.
func (c cell) plain(b *workbook) string {
	if c.kind == ofNumber && c.style == dated {
		if at, ok := b.day(c.text, time.UTC); ok {
			return at.Format("2006-01-02T15:04:05.999")
		}
	}
	return c.text
}

// value returns the field's value from a cell, or the reason why it isn't accepted.
func (r *sheetRows) value(f Field, c cell) (string, *Refusal) {
	switch c.kind {
	case ofFault:
		return "", &Refusal{f.Name, "is an error of the spreadsheet, such as #N/A"}
	case ofNothing:
		return "", &Refusal{f.Name, "is a formula whose value isn't stored; open the file in a spreadsheet and save it"}
	case ofText:
		return r.speller.spell(&f, c.text)
	case ofISO:
		return c.text, nil
	}
	switch {
	case f.Time && c.style == dated:
		at, ok := r.workbook.day(c.text, r.speller.zone)
		if !ok {
			return "", &Refusal{f.Name, "is no day that a spreadsheet knows"}
		}
		return at.Format(time.RFC3339Nano), nil
	case c.style == dated:
		return "", &Refusal{f.Name, "is a date; the spreadsheet may have made it of something else"}
	case f.Number || f.Time:
		return c.text, nil
	case c.style == padded:
		return "", &Refusal{f.Name, "is a number that is displayed in a way of its own; make the column one of texts"}
	case len(strings.TrimLeft(c.text, "-")) > 15:
		return "", &Refusal{f.Name, "is a number of more than 15 digits, of which a spreadsheet keeps 15; make the " +
			"column one of texts"}
	}
	return c.text, nil
}

// day returns the time for a number that counts days; false if there is no such day. A
// spreadsheet's times have no zone, so the time is taken in zone.
func (b *workbook) day(digits string, zone *time.Location) (time.Time, bool) {
	n, err := strconv.ParseFloat(digits, 64)
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, zone)
	if b.from1904 {
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, zone)
	}
	if err != nil || n < 61 || n >= 2958466 { // Excel treats 1900 as a leap year, and its days end with the year 9999
		return time.Time{}, false
	}
	whole := math.Floor(n)
	ms := int(math.Round((n - whole) * 86_400_000))
	return time.Date(first.Year(), first.Month(), first.Day()+int(whole), 0, 0, 0, ms*int(time.Millisecond), zone), true
}

// readStyles reads which styles display a number as a date, or with a format that may add digits.
func (b *workbook) readStyles(part string) error {
	if part == "" {
		return nil
	}
	forms := map[string]string{}
	inside := false
	return b.each(part, func(_ *partReader, at xml.StartElement) error {
		switch at.Name.Local {
		case "numFmt":
			forms[attribute(at, "numFmtId")] = attribute(at, "formatCode")
		case "cellXfs", "cellStyleXfs", "cellStyles", "dxfs":
			inside = at.Name.Local == "cellXfs"
		case "xf":
			if inside {
				id := attribute(at, "numFmtId")
				b.styles = append(b.styles, styleOf(id, forms[id]))
			}
		}
		if len(forms)+len(b.styles) > 100_000 {
			return errors.New("has more than 100000 styles")
		}
		return nil
	})
}

// styleOf returns what the format of a number says about it (ECMA-376, 18.8.30).
func styleOf(id, form string) style {
	if form == "" {
		n, _ := index(id)
		switch {
		case n >= 14 && n <= 22, n >= 27 && n <= 36, n >= 45 && n <= 47, n >= 50 && n <= 58:
			return dated
		case n <= 1 || n == 49:
			return general
		}
		return padded
	}
	var bare strings.Builder // the format without quoted texts, brackets and escaped characters
	for i := 0; i < len(form); i++ {
		switch c := form[i]; c {
		case '"', '[':
			end := strings.IndexByte(form[i+1:], map[byte]byte{'"': '"', '[': ']'}[c])
			if inside := form[i+1:][:max(end, 0)]; c == '[' && inside != "" &&
				strings.Trim(strings.ToLower(inside), "hms") == "" {
				return dated // a duration, such as [h]:mm
			}
			i += max(end, 0) + 1
		case '\\', '_', '*':
			i++
		default:
			bare.WriteByte(c)
		}
	}
	code := strings.ToLower(bare.String())
	switch {
	case code == "general" || code == "0" || code == "@" || code == "#":
		return general
	case strings.ContainsAny(strings.ReplaceAll(code, "general", ""), "ymdhs"):
		return dated
	}
	return padded
}

// attribute returns the value of an attribute, or an empty string.
func attribute(at xml.StartElement, name string) string {
	for _, a := range at.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
