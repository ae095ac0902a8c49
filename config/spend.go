package config

import (
	"slices"
	"strings"
	"unicode/utf8"

	money "github.com/bojanz/currency"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
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
	{"engaged_at", "Time of the click or impression. It isn't sent. A record whose time is more than seven days ago isn't sent either. A file needn't have it, unless a column is named here."},
}

// spendKeys are the keys of kind spend.
func spendKeys(j *Job) strict.Object {
	s := &Spend{Push: pushDefaults, OnConflict: "reject"}
	j.Spend = s
	return strict.Object{
		Fields: append(s.keys(record{
			fields: spendFields, own: []string{"cost_id", "engaged_at"}, column: "{cost_id: click_id}", constant: "{cost_type: cpc}", look: checkSpendConstants,
			resend: "resend sends it again, which the Cost ID makes the same spend; park leaves it for a person.",
		}),
			strict.Optional("format", formatBlock, &s.Format, "{separator: semicolon, decimal: comma}", "How the files are written, where they don't say it themselves."),
			strict.Optional("currencies", strict.TextsOf(currencyCode), &s.Currencies, "[XTS]", "Currency codes that are taken beside those of ISO 4217."),
			strict.Optional("on_conflict", strict.OneOf("reject", "send"), &s.OnConflict, "send", "What happens to a Cost ID that was sent with other content before. reject rejects the record, and send sends it too."),
		),
		Check: func(d *strict.Decoder, n strict.Node, at map[string]strict.Node) {
			s.checkTwice(d, n, at)
			code := strings.ToUpper(s.Constants["cost_currency"])
			listed := slices.ContainsFunc(s.Currencies, func(more string) bool { return catalog.SameWord(code, more) })
			if codeForm.MatchString(code) && !money.IsValid(code) && !listed {
				d.Fail(at["constants"], "constants: cost_currency %s is neither a currency of ISO 4217 nor listed under currencies", code)
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

// checkSpendConstants finds what would be the reason to refuse every record.
func checkSpendConstants(d *strict.Decoder, f map[string]string, at map[string]strict.Node) {
	types := []string{"cpc", "cpi", "cpe", "cpm"}
	if s := f["cost_type"]; s != "" && !slices.Contains(types, catalog.Fold(s)) {
		d.Fail(at["cost_type"], "constants: cost_type %q; allowed: %s", s, strings.Join(types, ", "))
	}
	if s := f["cost_currency"]; s != "" && !codeForm.MatchString(s) {
		d.Fail(at["cost_currency"], "constants: cost_currency: want %s, got %q", wantCode, s)
	}
	if s := f["cost_amount"]; s != "" && !amountForm.MatchString(s) {
		d.Fail(at["cost_amount"], "constants: cost_amount: want a plain decimal number of at most five decimals, got %q", s)
	}
	if s := f["tag"]; strings.TrimSpace(s) != s || controls.MatchString(s) || utf8.RuneCountInString(s) > 128 {
		d.Fail(at["tag"], "constants: tag: want at most 128 characters, no control characters, and no blank at its ends")
	}
}
