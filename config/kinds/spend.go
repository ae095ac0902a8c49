package kinds

import (
	"slices"
	"strings"
	"unicode/utf8"

	money "github.com/bojanz/currency"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/dateform"
)

// Spend is what a job of kind spend pushes to the service's cost endpoint.
type Spend struct {
	Push
	Format     Format
	Currencies []string // codes beside those of ISO 4217
	OnConflict string   // a Cost ID with other content than before: reject, or send
}

// spendFields are the fields of a record of spend.
var spendFields = []recordField{
	{"cost_id", "The Cost ID, which the click or impression carried: 12 to 256 characters."},
	{"cost_type", "Type of the cost: cpc, cpi, cpe or cpm."},
	{"cost_currency", "Currency code of ISO 4217."},
	{"cost_amount", "Amount, with at most five decimals."},
	{"tag", "Label for finding the records again, with at most 128 characters."},
	{"engaged_at", "Time of the click or impression. It isn't sent. A record whose time is more than seven days ago " +
		"isn't sent either. A file needn't have it, unless a column is named here."},
}

// spendKeys returns the keys of kind spend.
func spendKeys(j *Settings) strict.Object {
	s := &Spend{Push: pushDefaults, OnConflict: "reject"}
	j.Spend = s
	return strict.Object{
		Fields: append(s.keys(record{
			fields: spendFields, own: []string{"cost_id", "engaged_at"}, column: "{cost_id: click_id}",
			constant: "{cost_type: cpc}", checkConstants: checkSpendConstants,
			resend: "resend sends it again, which the Cost ID makes the same spend; park leaves it for a person.",
		}),
			strict.Optional("format", formatBlock, &s.Format, "{separator: semicolon, decimal: comma}",
				"How the files are written, where they don't say it themselves."),
			strict.Optional("currencies", strict.TextsOf(currencyCode), &s.Currencies, "[XTS]",
				"Currency codes that are taken beside those of ISO 4217."),
			strict.Optional("on_conflict", strict.OneOf("reject", "send"), &s.OnConflict, "send",
				"What happens to a Cost ID that was sent with other content before."),
		),
		Check: func(d *strict.Decoder, n strict.Node, at map[string]strict.Node) {
			s.checkTwice(d, n, at)
			code := strings.ToUpper(s.Constants["cost_currency"])
			listed := slices.ContainsFunc(s.Currencies, func(more string) bool { return catalog.SameWord(code, more) })
			if codeForm.MatchString(code) && !money.IsValid(code) && !listed {
				d.Fail(at["constants"],
					"constants: cost_currency %s is neither a currency of ISO 4217 nor listed under currencies", code)
			}
		},
	}
}

const wantCode = "a currency code of three letters such as USD"

var (
	codeForm     = strict.Expr(`^[A-Za-z]{3}$`)
	currencyCode = strict.Matching(codeForm, wantCode)
	amountForm   = strict.Expr(`^0*[0-9]{1,12}(\.[0-9]{0,5}0*)?$`)
	controls     = strict.Expr(`\p{Cc}`)
)

// checkSpendConstants refuses constants for which every record would be refused.
func checkSpendConstants(d *strict.Decoder, f map[string]string, at map[string]strict.Node) {
	types := []string{"cpc", "cpi", "cpe", "cpm"}
	if s := f["cost_type"]; s != "" && !slices.Contains(types, catalog.Fold(s)) {
		d.Fail(at["cost_type"], "constants: cost_type %q; allowed: %s", s, strings.Join(types, ", "))
	}
	if s := f["cost_currency"]; s != "" && !codeForm.MatchString(s) {
		d.Fail(at["cost_currency"], "constants: cost_currency: want %s, got %q", wantCode, s)
	}
	if s := f["cost_amount"]; s != "" && !amountForm.MatchString(s) {
		d.Fail(at["cost_amount"], "constants: cost_amount: want a plain decimal number of at most five decimals, "+
			"got %q", s)
	}
	if s := f["tag"]; strings.TrimSpace(s) != s || controls.MatchString(s) || utf8.RuneCountInString(s) > 128 {
		d.Fail(at["tag"], "constants: tag: want at most 128 characters, no control characters, and no blank at its "+
			"ends")
	}
}

// Format says how files are written, where they don't say it themselves. The text of each key says
// what an empty field means.
type Format struct {
	Encoding  string // utf-8, utf-16le, utf-16be or windows-1252
	Separator string // comma, semicolon or tab
	Decimal   string // point or comma
	Thousands string // comma, point, space or apostrophe
	Dates     string // such as DD.MM.YYYY HH:mm
	Sheet     string // of an XLSX file
}

// formatBlock reads the block format.
var formatBlock = strict.ObjectOf(func(f *Format) strict.Object {
	return strict.Object{What: "format", Fields: []strict.Field{
		strict.Optional("encoding", strict.OneOf("utf-8", "utf-16le", "utf-16be", "windows-1252"), &f.Encoding,
			"windows-1252",
			"Encoding of text files. Without it a file is UTF-8, or UTF-16 if its mark says so; another one is "+
				"never guessed."),
		strict.Optional("separator", strict.OneOf("comma", "semicolon", "tab"), &f.Separator, "semicolon",
			"What stands between the cells of a CSV file. Without it, whichever of the three the row of names has "+
				"most often."),
		strict.Optional("decimal", strict.OneOf("point", "comma"), &f.Decimal, "comma",
			"The decimal sign of amounts that are written as text. Without it a point; an amount with a comma is "+
				"then refused. The sign or the code of the record's currency may stand before or behind it."),
		strict.Optional("thousands", strict.OneOf("comma", "point", "space", "apostrophe"), &f.Thousands, "comma",
			"What stands between the thousands of amounts that are written as text. Without it nothing: an amount "+
				"with such a sign is refused."),
		strict.Optional("date", dateForm, &f.Dates, "DD.MM.YYYY HH:mm",
			"How times are written as text: YYYY or YY, MM or M, or MMM for Jan, DD or D; HH, or hh with A for AM "+
				"and PM; mm, ss; Z for a zone such as +02:00, ZZ for +0200. Without it as 2026-01-31T08:30:00Z or "+
				"2026-01-31 08:30:00, or as seconds since 1970. A time without a zone is of the job's zone."),
		strict.Optional("sheet", strict.Text, &f.Sheet, "Spend",
			"The sheet of an XLSX file. Without it the one that has the job's columns; where two have them, the "+
				"file is refused."),
	}, Check: func(d *strict.Decoder, _ strict.Node, at map[string]strict.Node) {
		if f.Thousands != "" && (f.Thousands == f.Decimal || f.Thousands == "point" && f.Decimal == "") {
			d.Fail(at["thousands"], "format: thousands: %s is the decimal sign as well; say the other one, or "+
				"decimal: comma", f.Thousands)
		}
	}}
})

// dateForm reads a form of dates, such as DD.MM.YYYY HH:mm.
var dateForm = strict.Checked(strict.Text, func(d *strict.Decoder, n strict.Node, key, form string) bool {
	if _, err := dateform.Layout(form); err != nil {
		d.Fail(n, "%s: %q: %v", key, form, err)
		return false
	}
	return true
})
