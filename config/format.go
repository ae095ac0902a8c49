package config

import (
	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/dateform"
)

// Format is how files are written, where they don't say it themselves. Empty: as its key says.
type Format struct {
	Encoding  string // utf-8, utf-16le, utf-16be or windows-1252
	Separator string // comma, semicolon or tab
	Decimal   string // point or comma
	Thousands string // comma, point, space or apostrophe
	Dates     string // such as DD.MM.YYYY HH:mm
	Sheet     string // of an XLSX file
}

// formatBlock is the block format.
var formatBlock = strict.ObjectOf(func(f *Format) strict.Object {
	return strict.Object{What: "format", Fields: []strict.Field{
		strict.Optional("encoding", strict.OneOf("utf-8", "utf-16le", "utf-16be", "windows-1252"), &f.Encoding, "windows-1252", "Encoding of text files. Without it a file is UTF-8, or UTF-16 if its mark says so; another one is never guessed."),
		strict.Optional("separator", strict.OneOf("comma", "semicolon", "tab"), &f.Separator, "semicolon", "What stands between the cells of a CSV file. Without it, whichever of the three the row of names has most often."),
		strict.Optional("decimal", strict.OneOf("point", "comma"), &f.Decimal, "comma", "The decimal sign of amounts that are written as text. Without it a point; an amount with a comma is then refused, not guessed at. The sign or the code of the record's currency may stand before or behind it."),
		strict.Optional("thousands", strict.OneOf("comma", "point", "space", "apostrophe"), &f.Thousands, "comma", "What stands between the thousands of amounts that are written as text. Without it nothing: an amount with such a sign is refused."),
		strict.Optional("date", dateForm, &f.Dates, "DD.MM.YYYY HH:mm", "How times are written as text: YYYY or YY, MM or M, or MMM for Jan, DD or D; HH, or hh with A for AM and PM; mm, ss; Z for a zone such as +02:00, ZZ for +0200. Without it as 2026-01-31T08:30:00Z or 2026-01-31 08:30:00, or as seconds since 1970. A time without a zone is of the job's zone."),
		strict.Optional("sheet", strict.Text, &f.Sheet, "Spend", "The sheet of an XLSX file. Without it the one that has the job's columns; where two have them, the file is refused."),
	}, Check: func(d *strict.Decoder, _ strict.Node, at map[string]strict.Node) {
		if f.Thousands != "" && (f.Thousands == f.Decimal || f.Thousands == "point" && f.Decimal == "") {
			d.Fail(at["thousands"], "format: thousands: %s is the decimal sign as well; say the other one, or decimal: comma", f.Thousands)
		}
	}}
})

// dateForm is a form of dates.
var dateForm = strict.Checked(strict.Text, func(d *strict.Decoder, n strict.Node, key, form string) bool {
	if _, err := dateform.Layout(form); err != nil {
		d.Fail(n, "%s: %q: %v", key, form, err)
		return false
	}
	return true
})
