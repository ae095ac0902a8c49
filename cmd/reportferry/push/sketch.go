package push

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/spend"
)

// A sketch collects what is needed to write the config of a job that pushes files such as a given
// one: the flags, and what is found in the file.
type sketch struct {
	file        *spendFile
	path        string            // of the file
	outFile     string            // the config's file; empty: the standard output
	columns     map[string]string // those that a person has named, by field
	constants   map[string]string // values for all records, by field
	job         string            // the job's name
	keyVariable string            // environment variable with the partner's key; empty: there is none
	baseURL     string            // empty: the usual one
	costURL     string            // empty: the usual one

	fields   []spendField // which column each field is taken from
	currency string       // from the name or the cells of the amount's column
}

// needs has, by name, the fields that a record must have: what each holds, and the flag that gives
// it when no column fits. engaged_at isn't needed, and tag has a default.
var needs = map[string][2]string{
	"cost_id":       {"the ID that the click or impression was served with", "--column cost_id=NAME"},
	"cost_type":     {"what is paid for", "--cost-type cpc, or cpi, cpe or cpm"},
	"cost_currency": {"a code of ISO 4217", "--constant cost_currency=EUR"},
	"cost_amount":   {"what a record costs", "--column cost_amount=NAME, or --constant cost_amount=1.25"},
}

// findColumns finds the columns of the fields, and refuses a file that no config can be made for.
func (d *sketch) findColumns() error {
	if name := d.file.Duplicate(); name != "" {
		return fmt.Errorf("two of its columns are %q; rename one of them", name)
	}
	given := maps.Clone(d.columns)
	for name := range d.constants {
		if given[name] != "" {
			return fmt.Errorf("%s is taken from column %q, and is to have one value for all records as well; want "+
				"one of the two", name, given[name])
		}
		given[name] = ""
	}
	for _, name := range slices.Sorted(maps.Keys(d.columns)) {
		if !slices.Contains(d.file.Names, d.columns[name]) {
			return fmt.Errorf("none of its columns is %q; it has %s", d.columns[name], d.columnNames())
		}
	}
	d.fields, d.currency = d.file.columns(given)
	for _, f := range d.fields {
		if f.Column == "" && f.Wrong != "" && d.columns[f.Name] != "" {
			return fmt.Errorf("column %q can't be %s: %s", f.Wrong, f.Name, f.Why)
		}
	}
	if by, sums := d.file.findSums(); sums && d.fields[0].Column == "" {
		return fmt.Errorf("it has sums by %s, and no ID of a click or impression. The service takes spend for "+
			"single clicks and impressions alone: "+
			"its interface /cost wants the Cost ID of each, and has no place for the sum of a day. Ask the platform "+
			"for a report or log by click or impression "+
			"with that ID; if one of the columns is the ID, name it by --column cost_id=NAME. The columns are %s", by,
			d.columnNames())
	}
	if d.constants["tag"] == "" && d.fields[slices.Index(spend.Fields(), "tag")].Column == "" {
		d.constants["tag"] = d.defaultTag()
	}
	if d.currency != "" && d.constants["cost_currency"] == "" &&
		d.fields[slices.Index(spend.Fields(), "cost_currency")].Column == "" {
		d.constants["cost_currency"] = d.currency
	}
	return nil
}

// columnNames lists the names of the file's columns for a message, at most 40 of them.
func (d *sketch) columnNames() string {
	most := 40
	names := d.file.Names[:min(len(d.file.Names), most)]
	text := strings.Join(names, ", ")
	if more := len(d.file.Names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// defaultTag returns the file's name without its day and its endings, or the job's name if nothing
// is left or the service wouldn't take it.
func (d *sketch) defaultTag() string {
	stem, _, _ := strings.Cut(filepath.Base(d.path), ".")
	stem = strings.Trim(dayInName().ReplaceAllString(stem, ""), " -_")
	if stem == "" || spend.Fits("tag", stem, files.Format{}) != "" {
		return d.job
	}
	return stem
}

// missing returns an error that names the needed fields without a column or a value, or nil.
func (d *sketch) missing() error {
	var all []string
	for _, f := range d.fields {
		if need, is := needs[f.Name]; is && f.Column == "" && d.constants[f.Name] == "" {
			all = append(all, fmt.Sprintf("%s is missing (%s); give it by %s", f.Name, need[0], need[1]))
		}
	}
	if all == nil {
		return nil
	}
	return fmt.Errorf("%s. The columns are %s", strings.Join(all, ". "), d.columnNames())
}

// dayInName matches a day in a file's name.
var dayInName = lazy.Regexp(`\d{4}-\d{2}-\d{2}`)

// config returns the config with the job, as a draft.
func (d *sketch) config() draft.Config {
	var columns, constants []draft.Key
	for _, f := range d.fields {
		switch value := d.constants[f.Name]; {
		case f.Column != "":
			columns = append(columns, draft.Key{Name: f.Name, Value: f.Column})
		case value != "":
			constants = append(constants, draft.Key{Name: f.Name, Value: value})
		}
	}
	more := []draft.Key{
		{Name: "source", Value: d.source(),
			Comment: "{date} is a day such as 2026-01-31; * any characters but a slash"},
	}
	more = append(more, d.format()...)
	more = append(more, draft.Key{Name: "columns", Value: columns,
		Comment: "Columns of the files, by the fields of a record."})
	if constants != nil {
		more = append(more, draft.Key{Name: "constants", Value: constants, Comment: "One value for all records."})
	}
	more = append(more, draft.Key{Name: "rejects", Value: "file://./rejects",
		Comment: "rows that weren't taken, and why"})
	key := draft.Key{Name: "spend", Value: draft.Off{Value: []draft.Key{{Name: "token", Value: "${PARTNER_KEY}"}}},
		Comment: "The partner's own key, where the service asks for one."}
	if d.keyVariable != "" {
		key.Value = []draft.Key{{Name: "token", Value: "${" + d.keyVariable + "}"}}
	}
	return draft.Config{
		Comment: []string{"Spend as in " + strings.ReplaceAll(filepath.Base(d.path), "\n", " ") + "."},
		Service: draft.Service{BaseURL: d.baseURL, More: []draft.Key{
			{Name: "cost_url", Value: cmp.Or(d.costURL, "https://app.adjust.com"), Comment: "where spend is pushed to"},
			key,
		}},
		Ledger: "file://./ledger",
		Jobs:   []draft.Job{{Name: d.job, Kind: "spend", Schedule: "30 2 * * *", More: more}},
	}
}

// format returns the config's keys for how the files are written, as far as a job has to be told or
// a person wants to see it.
func (d *sketch) format() []draft.Key {
	var keys []draft.Key
	f := d.file
	add := func(name, value string) {
		if value != "" {
			keys = append(keys, draft.Key{Name: name, Value: value})
		}
	}
	if f.Read.Kind == "CSV" {
		add("encoding", f.Read.Encoding)
		add("separator", f.Read.SeparatorWord())
	}
	if f.Read.Kind != "Parquet" {
		add("decimal", f.Decimal)
		add("thousands", f.Thousands)
	}
	add("date", f.Date)
	if f.Read.Alike > 0 {
		add("sheet", f.Read.Sheet)
	}
	if keys == nil {
		return nil
	}
	return []draft.Key{{Name: "format", Value: keys, Comment: "How the files are written."}}
}

// source returns the URL of files like this one. A day in the file's name stands for any day.
func (d *sketch) source() string {
	path := want.RelativeTo(filepath.Dir(d.outFile), d.path)
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "../") {
		path = "./" + path
	}
	return "file://" + dayInName().ReplaceAllString(path, "{date}")
}
