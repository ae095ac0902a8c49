// Package dateform reads how people write down a form of dates, such as DD.MM.YYYY HH:mm. Without
// it, a config would have to spell such forms as Go does, by a day in January 2006, and the
// config's check would know other forms than the reader of files.
package dateform

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// words are what a form consists of, and how Go spells each. What two words have in common stands
// once in a form.
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

// Layout is the layout of package time for a form. A form has year, month and day, and says
// whatever it says once.
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
	// What stands side by side could mean something else to package time.
	want := time.Date(2023, 11, 28, 0, 0, 0, 0, time.UTC)
	if got, err := time.Parse(layout.String(), want.Format(layout.String())); err != nil || !got.Equal(want) {
		return "", errForm
	}
	return layout.String(), nil
}

// spellings are the ways of writing AM and PM, and the blanks before them, that programs have in
// English.
var spellings = strings.NewReplacer("\u202f", " ", "\u00a0", " ", "A.M.", "AM", "P.M.", "PM", "A. M.", "AM", "P. M.",
	"PM")

// Parse reads a time by a layout of Layout. Where the layout has AM or PM, it takes them in any
// capitals, as a.m. and p.m., and behind any blank. A time without a zone is of zone.
func Parse(layout, text string, zone *time.Location) (time.Time, error) {
	if i := strings.Index(strings.ToUpper(layout), "PM"); i >= 0 {
		layout = layout[:i] + "PM" + layout[i+2:]
		text = spellings.Replace(strings.ToUpper(text))
	}
	return time.ParseInLocation(layout, text, zone)
}
