package config

import (
	"slices"
	"strings"
	"unicode/utf8"

	money "github.com/bojanz/currency"
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Spend is what a job of kind spend pushes to the service's cost endpoint.
type Spend struct {
	Push
	Columns    SpendFields // field -> column of the files; a field that is empty in both has the column of its own name
	Constants  SpendFields // field -> its value in every record
	Currencies []string    // codes beside those of ISO 4217
	SendOther  bool        // a Cost ID with other content than before is sent too; else it is rejected
}

// SpendFields has one text for each field of a record of spend; empty: not said.
type SpendFields struct{ CostID, CostType, CostCurrency, CostAmount, Tag, EngagedAt string }

// Map gives what is said, by the fields' names.
func (f SpendFields) Map() map[string]string {
	m := map[string]string{}
	for _, p := range f.parts() {
		if *p.value != "" {
			m[p.name] = *p.value
		}
	}
	return m
}

type spendField struct {
	name, doc string
	value     *string
}

func (f *SpendFields) parts() []spendField {
	return []spendField{
		{"cost_id", "The Cost ID, which the click or impression carried: 12 to 256 characters.", &f.CostID},
		{"cost_type", "cpc, cpi, cpe or cpm.", &f.CostType},
		{"cost_currency", "Currency code of ISO 4217.", &f.CostCurrency},
		{"cost_amount", "Amount, of at most five decimals.", &f.CostAmount},
		{"tag", "Label for finding the records again, at most 128 characters.", &f.Tag},
		{"engaged_at", "Time of the click or impression. It isn't sent; when it is more than seven days ago, nor is the record.", &f.EngagedAt},
	}
}

// spendKeys are the keys of kind spend.
func spendKeys(j *Job) object {
	s := &Spend{Push: pushDefaults}
	j.Spend = s
	onConflict := "reject"
	return object{
		fields: append(s.keys("because its answer was lost: resend it, which the Cost ID makes the same spend, or park it for a person."),
			optional("columns", spendFields("columns", text, nil), &s.Columns, "Column of the files that a record's field is taken from, when it isn't of the same name."),
			optional("constants", spendFields("constants", word, (*decoder).checkConstants), &s.Constants, "Value of a field in every record, instead of a column."),
			optional("currencies", textsOf(currencyCode), &s.Currencies, "Currency codes to take beside those of ISO 4217."),
			optional("on_conflict", oneOf("reject", "send"), &onConflict, "A Cost ID that was sent with other content before: reject it, or send it too."),
		),
		check: func(d *decoder, _ ast.Node, at map[string]ast.Node) {
			s.SendOther = onConflict == "send"
			constants := s.Constants.Map()
			for name := range s.Columns.Map() {
				if constants[name] != "" {
					d.fail(at["constants"], "constants: %s is taken from a column already", name)
				}
			}
			if code := strings.ToUpper(constants["cost_currency"]); isCurrencyCode.MatchString(code) && !money.IsValid(code) && !slices.ContainsFunc(
				s.Currencies, func(more string) bool { return catalog.SameWord(code, more) }) {
				d.fail(at["constants"], "constants: cost_currency %s is no currency of ISO 4217, nor listed under currencies", code)
			}
		},
	}
}

// spendFields reads texts for fields of a record; look checks them, with their places.
func spendFields(what string, s shape[string], look func(d *decoder, f SpendFields, at map[string]ast.Node)) shape[SpendFields] {
	object := func(f *SpendFields) object {
		o := object{what: what}
		for _, p := range f.parts() {
			o.fields = append(o.fields, optional(p.name, s, p.value, p.doc))
		}
		if look != nil {
			o.check = func(d *decoder, _ ast.Node, at map[string]ast.Node) { look(d, *f, at) }
		}
		return o
	}
	return shape[SpendFields]{
		func(d *decoder, n ast.Node, _ string) (SpendFields, bool) {
			var f SpendFields
			return f, d.object(n, object(&f)) != nil
		},
		func() *jsonschema.Schema { return object(new(SpendFields)).schema() },
	}
}

var (
	constantAmount = expr(`^0*[0-9]{1,12}(\.[0-9]{0,5}0*)?$`)
	controls       = expr(`\p{Cc}`)
)

// checkConstants finds what would be the reason to refuse every record.
func (d *decoder) checkConstants(f SpendFields, at map[string]ast.Node) {
	for _, name := range []string{"cost_id", "engaged_at"} {
		if at[name] != nil {
			d.fail(at[name], "constants: %s is another one in each record", name)
		}
	}
	known := []string{"cpc", "cpi", "cpe", "cpm"}
	if f.CostType != "" && !strings.Contains(" "+strings.Join(known, " ")+" ", " "+catalog.Fold(f.CostType)+" ") {
		d.fail(at["cost_type"], "constants: cost_type %q; allowed: %s", f.CostType, strings.Join(known, ", "))
	}
	if f.CostCurrency != "" && !isCurrencyCode.MatchString(f.CostCurrency) {
		d.fail(at["cost_currency"], "constants: cost_currency %q %s", f.CostCurrency, notACode)
	}
	if f.CostAmount != "" && !constantAmount.MatchString(f.CostAmount) {
		d.fail(at["cost_amount"], "constants: cost_amount %q is no plain decimal number of at most five decimals", f.CostAmount)
	}
	if strings.TrimSpace(f.Tag) != f.Tag || controls.MatchString(f.Tag) || utf8.RuneCountInString(f.Tag) > 128 {
		d.fail(at["tag"], "constants: tag: want at most 128 characters, no control characters, and no blank at its ends")
	}
}

var (
	isCurrencyCode = expr(`^[A-Za-z]{3}$`)
	currencyCode   = matching(isCurrencyCode, notACode)
)

const notACode = "is no currency code; want three letters, such as USD"

// checkSpend makes the checks of spend jobs that need the rest of the file.
func (d *decoder) checkSpend(c *Config, at map[string]ast.Node) {
	for _, j := range c.Jobs {
		if j.Spend == nil {
			continue
		}
		if s := c.Service; at["service"] != nil && !s.Embedded && (s.CostURL == "" || s.Spend.Token == "") {
			d.fail(at["service"], "service: job %s pushes spend, so cost_url and spend: {token: ...} are needed", j.Name)
		}
	}
}
