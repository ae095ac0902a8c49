// Package dateform turns date formats as people write them, such as DD.MM.YYYY HH:mm, into layouts
// of package time. Without it, a config would have to spell formats as Go does, by a day in January
// 2006, and the config's check might take other formats than the reader of files.
package dateform

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// words are the words of a form: how Go spells each, and the part of a time that it says. A form
// has at most one word for each part.
var words = map[string]struct{ layout, part string }{
	"YYYY": {"2006", "year"}, "YY": {"06", "year"}, "MMM": {"Jan", "month"}, "MM": {"01", "month"}, "M": {"1", "month"},
	"DD": {"02", "day"}, "D": {"2", "day"},
	"HH": {"15", "hour"}, "H": {"15", "hour"}, "hh": {"03", "half"}, "h": {"3", "half"}, "mm": {"04", "minute"},
	"ss": {"05", "second"},
	"A":  {"PM", "AM or PM"}, "a": {"pm", "AM or PM"}, "Z": {"Z07:00", "zone"}, "ZZ": {"-0700", "zone"},
}

// between are the characters that stand for themselves.
const between = " .,/:-T"

var errForm = errors.New("want a form such as DD.MM.YYYY HH:mm: YYYY or YY, MM or M, or MMM for Jan, DD or D; HH, " +
	"or hh with A; mm, ss; Z for +02:00, ZZ for +0200")

// Layout returns the layout of package time for a form. A form has year, month and day, and says no
// part of a time twice.
func Layout(form string) (string, error) {
	var layout strings.Builder
	seen := map[string]bool{}
	for rest := form; rest != ""; {
		n := 1
		for n < len(rest) && rest[n] == rest[0] {
			n++
		}
		word := rest[:n]
		known, ok := words[word]
		switch {
		case ok && seen[known.part]:
			return "", fmt.Errorf("says the %s twice; MM are months and mm are minutes", known.part)
		case ok:
			seen[known.part] = true
			layout.WriteString(known.layout)
		case strings.Contains(between, rest[:1]):
			layout.WriteString(word)
		default:
			return "", errForm
		}
		rest = rest[n:]
	}
	switch {
	case !seen["year"] || !seen["month"] || !seen["day"]:
		return "", errForm
	case seen["hour"] && seen["half"], seen["half"] != seen["AM or PM"]:
		return "", errors.New("says hours twice, or hh without A; HH goes from 00 to 23, hh A from 12 AM to 11 PM")
	case seen["minute"] && !seen["hour"] && !seen["half"], seen["second"] && !seen["minute"]:
		return "", errors.New("has minutes without hours, or seconds without minutes")
	}
	// Adjacent words could together mean something else to package time.
	want := time.Date(2023, 11, 28, 0, 0, 0, 0, time.UTC)
	if got, err := time.Parse(layout.String(), want.Format(layout.String())); err != nil || !got.Equal(want) {
		return "", errForm
	}
	return layout.String(), nil
}

// spellings replaces the ways in which programs write AM and PM in English, and the blanks before
// them.
var spellings = strings.NewReplacer("\u202f", " ", "\u00a0", " ", "A.M.", "AM", "P.M.", "PM", "A. M.", "AM", "P. M.",
	"PM")

// Parse reads a time by a layout that Layout returned. Where the layout has AM or PM, it takes them
// in upper or lower case, as a.m. and p.m., and after any kind of blank. A time without a zone is
// in zone.
func Parse(layout, text string, zone *time.Location) (time.Time, error) {
	if i := strings.Index(strings.ToUpper(layout), "PM"); i >= 0 {
		layout = layout[:i] + "PM" + layout[i+2:]
		text = spellings.Replace(strings.ToUpper(text))
	}
	return time.ParseInLocation(layout, text, zone)
}
