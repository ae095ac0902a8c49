package files

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/reportferry/reportferry/internal/dateform"
)

// A Format is how a file is written, where it doesn't say it itself. The zero Format is what most
// programs write.
type Format struct {
	Encoding  string // utf-8, utf-16le, utf-16be or windows-1252; empty: UTF-8, or UTF-16 when its mark says so
	Separator rune   // of a CSV file's cells: comma, semicolon or tab; 0: whichever the row of names has most often
	Decimal   rune   // of numbers that are text; 0: a point, and why a comma is refused is said
	// Between groups of three digits of such numbers: a comma, a point, a blank or an apostrophe;
	// 0: there is none.
	Thousands rune
	Dates     string // a form such as DD.MM.YYYY HH:mm of times that are text; empty: as the kind takes them
	Sheet     string // of an XLSX file; empty: the one that has the wanted columns
	Zone      *time.Location
}

// Separators, Decimals and Thousands are the words for them in a config.
var (
	Separators = map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t'}
	Decimals   = map[string]rune{"point": '.', "comma": ','}
	Thousands  = map[string]rune{"comma": ',', "point": '.', "space": ' ', "apostrophe": '\''}
)

// An Understanding is what a file was read as.
type Understanding struct {
	Kind      string // CSV, JSON Lines, JSON array, Parquet or XLSX
	Encoding  string // of text
	Separator rune   // of a CSV file
	Sheet     string // of an XLSX file
	Alike     int    // its other sheets whose names of columns fit as well, while nobody has named them
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

// SeparatorWord is the word of a config for the separator; empty: there is none.
func (u Understanding) SeparatorWord() string { return word(Separators, u.Separator) }

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

// A speller brings values that are text into the spelling that a kind reads. Values of columns with
// types need none.
type speller struct {
	decimal   rune
	thousands string // all signs that are written for the one
	layout    string
	dates     string
	zone      *time.Location
}

// like are the signs that programs write for one between thousands: a blank that isn't to be
// broken, and a typographic apostrophe.
var like = map[rune]string{',': ",", '.': ".", ' ': " \u00a0\u2009\u202f", '\'': "'’"}

func (f Format) speller() (speller, error) {
	s := speller{decimal: f.Decimal, thousands: like[f.Thousands], dates: f.Dates, zone: f.Zone}
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

// Spell gives the plain spelling of a field's text, as a reading of a file in this format takes it,
// or the reason why it has none.
func (f Format) Spell(field Field, text string) (string, *Refusal) {
	s, err := f.speller()
	if err != nil {
		return "", &Refusal{field.Name, err.Error()}
	}
	return s.spell(&field, text)
}

// spell gives the plain spelling of a field's text, or the reason why it has none.
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

// plain tells whether a number is one in its plain spelling, as nearly all are.
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

// CutSign parts a number from the signs of a currency before and behind it, such as "EUR", "€" or
// "Rs.": a point right behind a letter is one of an abbreviation. What has no digit has no sign.
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
		return "", text // nearly all
	}
	ahead, behind := text[:first], text[last:]
	switch sign = strings.TrimFunc(ahead, unicode.IsSpace) + strings.TrimFunc(behind, unicode.IsSpace); {
	case sign == "", ahead != "" && behind != "" && sign != ahead && sign != behind,
		strings.ContainsAny(sign, "0123456789,-"):
		return "", text // blanks alone, or something on either side
	}
	return sign, text[first:last]
}

// number reads a decimal comma and a separator of thousands where they are declared. A comma that
// isn't may stand between thousands: nothing is guessed.
func (s *speller) number(f *Field, text string) (string, *Refusal) {
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
