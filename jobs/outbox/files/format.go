package files

import (
	"fmt"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/dateform"
)

// A Format is how a file is written, where it doesn't say it itself. The zero Format is what most programs write.
type Format struct {
	Encoding  string // utf-8, utf-16le, utf-16be or windows-1252; empty: UTF-8, or UTF-16 when its mark says so
	Separator rune   // of a CSV file's cells: comma, semicolon or tab; 0: whichever the row of names has most often
	Decimal   rune   // of numbers that are text; 0: a point, and why a comma is refused is said
	Dates     string // a form such as DD.MM.YYYY HH:mm of times that are text; empty: as the kind takes them
	Sheet     string // of an XLSX file; empty: the one that has the wanted columns
	Zone      *time.Location
}

// Separators and Decimals are the words for them in a config.
var (
	Separators = map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t'}
	Decimals   = map[string]rune{"point": '.', "comma": ','}
)

// An Understanding is what a file was read as.
type Understanding struct {
	Kind      string // CSV, JSON Lines, JSON array, Parquet or XLSX
	Encoding  string // of text
	Separator rune   // of a CSV file
	Sheet     string // of an XLSX file
}

// word is the word of a config for a sign.
func word(words map[string]rune, sign rune) string {
	for name, r := range words {
		if r == sign {
			return name
		}
	}
	return ""
}

// String says what was understood, in the words of a config.
func (u Understanding) String() string {
	var parts []string
	for _, s := range []string{u.Kind, u.Encoding, word(Separators, u.Separator)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if u.Sheet != "" {
		parts = append(parts, fmt.Sprintf("sheet %q", u.Sheet))
	}
	return strings.Join(parts, ", ")
}

// A speller brings values that are text into the spelling that a kind reads. Values of columns with types need none.
type speller struct {
	decimal rune
	layout  string
	dates   string
	zone    *time.Location
}

func (f Format) speller() (speller, error) {
	s := speller{decimal: f.Decimal, dates: f.Dates, zone: f.Zone}
	if s.zone == nil {
		s.zone = time.UTC
	}
	if f.Dates == "" {
		return s, nil
	}
	var err error
	if s.layout, err = dateform.Layout(f.Dates); err != nil {
		return s, fmt.Errorf("format: date: %w", err)
	}
	return s, nil
}

// spell gives the plain spelling of a field's text, or the reason why it has none.
func (s *speller) spell(f *Field, text string) (plain string, refused *Refusal) {
	switch {
	case f.Number:
		if strings.IndexByte(text, ',') < 0 && (s.decimal != ',' || strings.IndexByte(text, '.') < 0) {
			return text, nil
		}
		return s.number(f, text)
	case f.Time && s.layout != "" && text != "":
		at, err := time.ParseInLocation(s.layout, text, s.zone)
		if err != nil {
			return "", &Refusal{f.Name, fmt.Sprintf("isn't written as %s, which is the job's format: {date}", s.dates)}
		}
		return at.Format(time.RFC3339Nano), nil
	}
	return text, nil
}

// number reads a decimal comma where it is declared. A comma that isn't may stand between thousands: nothing is guessed.
func (s *speller) number(f *Field, text string) (string, *Refusal) {
	points, commas := strings.Count(text, "."), strings.Count(text, ",")
	switch {
	case points+commas > 1:
		return "", &Refusal{f.Name, "has separators of thousands, which are not taken: they mean something else elsewhere"}
	case s.decimal == ',' && points > 0:
		return "", &Refusal{f.Name, "has a point, and the job's format says decimal: comma"}
	case s.decimal == ',':
		return strings.Replace(text, ",", ".", 1), nil
	case s.decimal == '.':
		return "", &Refusal{f.Name, "has a comma, and the job's format says decimal: point"}
	}
	return "", &Refusal{f.Name, "has a comma: if it is the decimal sign, say so by format: {decimal: comma}; if it separates thousands, the file must do without"}
}
