package config

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	money "github.com/bojanz/currency"
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// Spend is what a job of kind spend pushes to the service's cost endpoint.
type Spend struct {
	Source     string      // URL of files; {date} is a day, * any characters but a slash
	Columns    SpendFields // field -> column of the files; a field that is empty in both has the column of its own name
	Constants  SpendFields // field -> its value in every record
	Rejects    string      // bucket URL of the files with refused rows
	MaxRejects MaxRejects  // of a file, before nothing of it is sent
	Currencies []string    // codes beside those of ISO 4217
	ParkDoubt  bool        // a record whose answer was lost waits for a person; else it is sent again
	SendOther  bool        // a Cost ID with other content than before is sent too; else it is rejected
	WindowDays int         // files of so many days back are looked at
	Quiet      bool        // wait until a file hasn't changed for some minutes
	Rate       float64     // records a second
	InFlight   int         // records at a time
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

// MaxRejects is how much of a file may be refused: a share of its rows when Share is above 0, else a number of them.
type MaxRejects struct {
	Count int
	Share float64 // 0.05 is 5 %
}

// spendKeys are the keys of kind spend.
func spendKeys(j *Job) object {
	s := &Spend{MaxRejects: MaxRejects{Share: 0.5}, WindowDays: 7, Quiet: true, Rate: 10, InFlight: 8}
	j.Spend = s
	onUnknown, onConflict := "resend", "reject"
	return object{
		fields: []field{
			required("source", spendSource, &s.Source, "URL of the files: {date} stands for a day such as 2026-01-31, * for any characters but a slash. "+
				"CSV, JSON Lines or Parquet, plain or under gzip or zstd."),
			optional("columns", spendFields("columns", text, nil), &s.Columns, "Column of the files that a record's field is taken from, when it isn't of the same name."),
			optional("constants", spendFields("constants", word, (*decoder).checkConstants), &s.Constants, "Value of a field in every record, instead of a column."),
			required("rejects", bucketURL, &s.Rejects, "Bucket for files with the rows that were refused, and why."),
			optional("max_rejects", maxRejects, &s.MaxRejects, "How much of a file may be refused, as a number of rows or a share such as 5%, before nothing of it is sent; 50% by default."),
			optional("currencies", textsOf(currencyCode), &s.Currencies, "Currency codes to take beside those of ISO 4217."),
			optional("on_unknown", oneOf("resend", "park"), &onUnknown, "A record that may have been taken, because its answer was lost: resend it, which the Cost ID makes the "+
				"same spend, or park it for a person."),
			optional("on_conflict", oneOf("reject", "send"), &onConflict, "A Cost ID that was sent with other content before: reject it, or send it too."),
			optional("window_days", whole(1, 30), &s.WindowDays, "Days back from today whose files are looked at."),
			optional("wait_until_quiet", boolean, &s.Quiet, "Leave a file that changed in the last minutes for the next run, because it may still be growing."),
			optional("rate", rate, &s.Rate, "Records a second."),
			optional("in_flight", whole(1, 1000), &s.InFlight, "Records at a time."),
		},
		check: func(d *decoder, _ ast.Node, at map[string]ast.Node) {
			s.ParkDoubt, s.SendOther = onUnknown == "park", onConflict == "send"
			constants := s.Constants.Map()
			for name := range s.Columns.Map() {
				if constants[name] != "" {
					d.fail(at["constants"], "constants: %s is taken from a column already", name)
				}
			}
			if code := strings.ToUpper(constants["cost_currency"]); isCurrencyCode.MatchString(code) && !money.IsValid(code) && !slices.ContainsFunc(
				s.Currencies, func(more string) bool { return strings.EqualFold(code, more) }) {
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
	constantAmount = regexp.MustCompile(`^0*[0-9]{1,12}(\.[0-9]{0,5}0*)?$`)
	controls       = regexp.MustCompile(`\p{Cc}`)
)

// checkConstants finds what would be the reason to refuse every record.
func (d *decoder) checkConstants(f SpendFields, at map[string]ast.Node) {
	for _, name := range []string{"cost_id", "engaged_at"} {
		if at[name] != nil {
			d.fail(at[name], "constants: %s is another one in each record", name)
		}
	}
	known := []string{"cpc", "cpi", "cpe", "cpm"}
	if f.CostType != "" && !strings.Contains(" "+strings.Join(known, " ")+" ", " "+strings.ToLower(f.CostType)+" ") {
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
	isCurrencyCode = regexp.MustCompile(`^[A-Za-z]{3}$`)
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

var sourceWords = regexp.MustCompile(`[{}]|\*\*`)

// spendSource is the URL of files. Messages don't repeat it: its query may hold a secret.
var spendSource = checked(bucketURL, func(d *decoder, n ast.Node, key, s string) bool {
	path, _, _ := strings.Cut(s, "?")
	_, rest, _ := strings.Cut(path, "://")
	bucket, file, _ := strings.Cut(rest, "/")
	switch {
	case file == "" || strings.HasSuffix(file, "/"):
		d.fail(n, "%s: this is a folder or a bucket; name its files, such as gs://bucket/spend/{date}/*.csv", key)
	case strings.ContainsAny(bucket, "{}*"):
		d.fail(n, "%s: the bucket itself can't vary", key)
	case sourceWords.MatchString(strings.ReplaceAll(file, "{date}", "")):
		d.fail(n, "%s: want {date} for a day and * for any characters but a slash; no other braces, and no **", key)
	default:
		return true
	}
	return false
})

var sharePattern = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]+)?%$`)

// maxRejects is a number of rows, or a share with a percent sign.
var maxRejects = shape[MaxRejects]{
	func(d *decoder, n ast.Node, key string) (MaxRejects, bool) {
		if s, ok := d.textOf(n); ok {
			share, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
			if sharePattern.MatchString(s) && err == nil && share > 0 && share <= 100 {
				return MaxRejects{Share: share / 100}, true
			}
			d.fail(n, "%s: %q is neither a number of rows nor a share above 0%% and up to 100%%, such as 5%%", key, s)
			return MaxRejects{}, false
		}
		count, ok := d.whole(n, key, 0, 1_000_000_000)
		return MaxRejects{Count: count}, ok
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: json.Number("0"), Maximum: json.Number("1000000000")},
			{Type: "string", Pattern: sharePattern.String()},
		}}
	},
}
