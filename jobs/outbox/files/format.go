package files

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/reportferry/reportferry/internal/dateform"
)

// A Format says how a file is written, as far as the file doesn't say so itself. The zero Format
// fits what most programs write.
type Format struct {
	Encoding  string // utf-8, utf-16le, utf-16be or windows-1252; empty: UTF-8, or UTF-16 when its mark says so
	Separator rune   // of a CSV file's cells: comma, semicolon or tab; 0: the one most frequent in the row of names
	Decimal   rune   // of numbers that are text; 0: a point, and refusals of a comma explain this setting
	// Thousands stands between groups of three digits of such numbers: a comma, a point, a blank or
	// an apostrophe; 0: nothing does.
	Thousands rune
	// Dates is how times that are text are written, such as DD.MM.YYYY HH:mm; empty: in a form that
	// the kind of job accepts.
	Dates string
	Sheet string         // sheet of an XLSX file; empty: the one with the wanted columns
	Zone  *time.Location // of times that name none; nil: UTC
}

// Separators, Decimals and Thousands hold the words for these signs in a config.
var (
	Separators = map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t'}
	Decimals   = map[string]rune{"point": '.', "comma": ','}
	Thousands  = map[string]rune{"comma": ',', "point": '.', "space": ' ', "apostrophe": '\''}
)

// An Understanding is how a file was understood.
type Understanding struct {
	Kind      string // CSV, JSON Lines, JSON array, Parquet or XLSX
	Encoding  string // encoding of a text file
	Separator rune   // of a CSV file
	Sheet     string // of an XLSX file
	Alike     int    // number of other sheets whose columns fit as well, if the config names no sheet
}

// wordFor returns the config's word for a sign; empty if there is none.
func wordFor(words map[string]rune, sign rune) string {
	for name, r := range words {
		if r == sign {
			return name
		}
	}
	return ""
}

// SeparatorWord returns the config's word for the separator; empty if there is none.
func (u Understanding) SeparatorWord() string { return wordFor(Separators, u.Separator) }

// String describes how the file was understood, in the words of a config.
func (u Understanding) String() string {
	var parts []string
	for _, s := range []string{u.Kind, u.Encoding, wordFor(Separators, u.Separator)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if u.Sheet != "" {
		parts = append(parts, fmt.Sprintf("sheet %q", u.Sheet))
	}
	return strings.Join(parts, ", ")
}

// A speller converts values that are text into the spelling that a kind of job reads. Values of
// typed columns need no conversion.
type speller struct {
	decimal   rune           // see Format.Decimal
	thousands string         // all variants of Format.Thousands
	layout    string         // dates, as package time spells it; empty: times are left as they are
	dates     string         // see Format.Dates
	zone      *time.Location // of times; never nil
}

// thousandsVariants holds, for each separator of thousands, the variants that programs write, such
// as a no-break space or a typographic apostrophe.
var thousandsVariants = map[rune]string{',': ",", '.': ".", ' ': " \u00a0\u2009\u202f", '\'': "'’"}

// speller returns the speller for texts in this format.
func (f Format) speller() (speller, error) {
	s := speller{decimal: f.Decimal, thousands: thousandsVariants[f.Thousands], dates: f.Dates, zone: f.Zone}
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

// Spell returns the plain spelling of a field's text, as reading a file in this format would, or
// the reason why there is none.
func (f Format) Spell(field Field, text string) (string, *Refusal) {
	s, err := f.speller()
	if err != nil {
		return "", &Refusal{field.Name, err.Error()}
	}
	return s.spell(&field, text)
}

// spell returns the plain spelling of a field's text, or the reason why there is none.
func (s *speller) spell(f *Field, text string) (plain string, refused *Refusal) {
	switch {
	case f.Number:
		if s.plain(text) {
			return text, nil
		}
		sign, digits := CutSign(text)
		digits, refused = s.number(f, digits)
		return sign + digits, refused
	case f.Time && s.layout != "" && text != "":
		at, err := dateform.Parse(s.layout, text, s.zone)
		if err != nil {
			return "", &Refusal{f.Name, fmt.Sprintf("isn't written as %s, which is the job's format: {date}", s.dates)}
		}
		return at.Format(time.RFC3339Nano), nil
	}
	return text, nil
}

// plain reports whether a text is already in the plain spelling of a number, as nearly all are.
func (s *speller) plain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c == '-':
		case c == '.' && s.decimal != ',' && s.thousands != ".":
		default:
			return false
		}
	}
	return true
}

// CutSign splits a number from a currency's sign before or after it, such as "EUR", "€" or "Rs.". A
// point right after a letter belongs to an abbreviation. A text without a digit is returned as
// digits, without a sign.
func CutSign(text string) (sign, digits string) {
	first, last := -1, 0
	var before rune
	for i, r := range text {
		switch digit := r >= '0' && r <= '9'; {
		case digit, r == '-' && first < 0, (r == '.' || r == ',') && !unicode.IsLetter(before):
			if first < 0 {
				first = i
			}
			if r != '-' {
				last = i + 1
			}
		}
		before = r
	}
	if first == 0 && last == len(text) || !strings.ContainsAny(text, "0123456789") || last <= first {
		return "", text // nearly all texts
	}
	ahead, behind := text[:first], text[last:]
	switch sign = strings.TrimFunc(ahead, unicode.IsSpace) + strings.TrimFunc(behind, unicode.IsSpace); {
	case sign == "", ahead != "" && behind != "" && sign != ahead && sign != behind,
		strings.ContainsAny(sign, "0123456789,-"):
		return "", text // only blanks, or different texts before and after
	}
	return sign, text[first:last]
}

// number removes the separators of thousands and turns the decimal comma into a point, where they
// are declared. An undeclared comma is refused, because it could be either.
func (s *speller) number(f *Field, text string) (string, *Refusal) {
	// Remove the separators of thousands, if they stand before groups of three digits.
	if s.thousands != "" {
		point := strings.LastIndexByte(text, '.')
		if s.decimal == ',' {
			point = strings.LastIndexByte(text, ',')
		}
		whole, decimals := text, ""
		if point >= 0 {
			whole, decimals = text[:point], text[point:]
		}
		groups := strings.Split(strings.Map(func(r rune) rune {
			if strings.ContainsRune(s.thousands, r) {
				return ','
			}
			return r
		}, strings.TrimPrefix(whole, "-")), ",")
		for i, g := range groups {
			if len(groups) > 1 && (len(g) > 3 || len(g) == 0 || i > 0 && len(g) < 3) {
				return "", &Refusal{f.Name,
					"has a separator of thousands that doesn't stand before three digits, which is the job's " +
						"format: {thousands}"}
			}
		}
		text = strings.Repeat("-", len(whole)-len(strings.TrimPrefix(whole, "-"))) + strings.Join(groups, "") + decimals
	}
	// Turn a decimal comma into a point. Any other sign that is left is refused.
	points, commas := strings.Count(text, "."), strings.Count(text, ",")
	switch {
	case points+commas > 1:
		return "", &Refusal{f.Name, "has separators of thousands: say which sign they are by format: {thousands: " +
			"comma}, or point, space or apostrophe"}
	case s.decimal == ',' && points > 0:
		return "", &Refusal{f.Name, "has a point, and the job's format says decimal: comma"}
	case commas == 0:
		return text, nil
	case s.decimal == ',':
		return strings.Replace(text, ",", ".", 1), nil
	case s.decimal == '.':
		return "", &Refusal{f.Name, "has a comma, and the job's format says decimal: point"}
	}
	return "", &Refusal{f.Name, "has a comma: if it is the decimal sign, say so by format: {decimal: comma}; if it " +
		"separates thousands, by format: {thousands: comma}"}
}
