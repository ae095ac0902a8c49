package push

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/guess"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/cmd/reportferry/want"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/internal/terminal"
)

// A sketch is what a job will be that pushes files like one.
type sketch struct {
	file     *guess.File
	path     string
	into     string // the config's file; empty: the standard output
	fields   []guess.Field
	currency string // that the name of a column says
}

// needs says what a field that no column fits takes, and an example of it.
var needs = map[string][2]string{
	"cost_id":       {"the ID that the click or impression was served with; each record has its own, so a column must have it", "click_id"},
	"cost_type":     {"cpc, cpi, cpe or cpm: what is paid for", "cpi"},
	"cost_currency": {"a code of ISO 4217", "EUR"},
	"cost_amount":   {"what a record costs", "1.25"},
	"tag":           {"a label for finding the records again", "partner-a"},
}

// byName tells whether a field has one value, which the name of the amount's column says.
func (d sketch) byName(f guess.Field) bool {
	return f.Name == "cost_currency" && f.Column == "" && d.currency != ""
}

var dayInName = lazy.Regexp(`\d{4}-\d{2}-\d{2}`)

// config is the job as a draft.
func (d sketch) config() draft.Config {
	var columns, constants []draft.Key
	filled := false
	for _, f := range d.fields {
		need := needs[f.Name]
		switch {
		case f.Column != "":
			columns = append(columns, draft.Key{Name: f.Name, Value: f.Column})
		case d.byName(f):
			constants = append(constants, draft.Key{Name: f.Name, Value: d.currency, Comment: "as the name of the amount's column says"})
			filled = true
		case f.Name == "cost_id":
			columns = append(columns, draft.Key{Name: f.Name, Value: draft.Off{Value: need[1]}, Comment: "required: name the column"})
		case need[0] != "":
			constants = append(constants, draft.Key{Name: f.Name, Value: draft.Off{Value: need[1]}, Comment: "required: " + need[0]})
		}
	}
	more := []draft.Key{
		{Name: "source", Value: d.source(), Comment: "{date} is a day such as 2026-01-31; * any characters but a slash"},
	}
	more = append(more, d.format()...)
	more = append(more, section("columns", columns, len(columns) > 0 && d.fields[0].Column == "", "Columns of the files, by the fields of a record.")...)
	more = append(more, section("constants", constants, !filled, "One value for all records.")...)
	more = append(more, draft.Key{Name: "rejects", Value: "file://./rejects", Comment: "rows that weren't taken, and why"})
	return draft.Config{
		Comment: []string{"Spend as in " + strings.ReplaceAll(filepath.Base(d.path), "\n", " ") + "."},
		Service: draft.Service{More: []draft.Key{
			{Name: "cost_url", Value: "https://app.adjust.com", Comment: "where spend is pushed to"},
			{Name: "spend", Value: draft.Off{Value: []draft.Key{{Name: "token", Value: "${PARTNER_KEY}"}}}, Comment: "The partner's own key, where the service asks for one."},
		}},
		Ledger: "file://./ledger",
		Jobs:   []draft.Job{{Name: "spend", Kind: "spend", Schedule: "30 2 * * *", More: more}},
	}
}

// format says how the files are written, as far as a job has to be told or a person wants to see it.
func (d sketch) format() []draft.Key {
	var keys []draft.Key
	f := d.file
	if f.Kind == "CSV" {
		keys = append(keys, draft.Key{Name: "encoding", Value: f.Encoding}, draft.Key{Name: "separator", Value: f.Separator})
	}
	if f.Kind != "Parquet" {
		keys = append(keys, draft.Key{Name: "decimal", Value: f.Decimal})
	}
	if f.Date != "" {
		keys = append(keys, draft.Key{Name: "date", Value: f.Date})
	}
	return section("format", keys, false, "How the files are written.")
}

// section is a mapping, or nothing, or a comment when all of it is one.
func section(name string, keys []draft.Key, off bool, comment string) []draft.Key {
	if len(keys) == 0 {
		return nil
	}
	for _, k := range keys {
		_, isOff := k.Value.(draft.Off)
		off = off && isOff
	}
	if off {
		for i := range keys {
			keys[i].Value = keys[i].Value.(draft.Off).Value
		}
		return []draft.Key{{Name: name, Value: draft.Off{Value: keys}, Comment: comment}}
	}
	return []draft.Key{{Name: name, Value: keys, Comment: comment}}
}

// source is the URL of files like this one: those of other days, if its name has one.
func (d sketch) source() string {
	path := want.RelativeTo(filepath.Dir(d.into), d.path)
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "../") {
		path = "./" + path
	}
	return "file://" + dayInName().ReplaceAllString(path, "{date}")
}

// tell says what was found, what is missing, and what comes next. config is the file that was written; empty: none was.
func (d sketch) tell(w io.Writer, config string) {
	say := func(format string, args ...any) {
		fmt.Fprintln(w, human.Fold(terminal.Line(fmt.Sprintf(format, args...)), 80))
	}
	f := d.file
	how := f.Kind
	if f.Kind == "CSV" {
		how += ", " + f.Encoding + ", a " + f.Separator + " between cells"
	}
	if f.Kind != "Parquet" {
		how += ", a " + f.Decimal + " before decimals"
	}
	if f.Date != "" {
		how += ", times as " + f.Date
	}
	say("%s: %s; %s looked at", d.path, how, human.Plural(len(f.Rows), "row"))
	grid := human.Grid{Heads: []string{"  field", "column"}, Most: []int{0, 60}}
	for _, x := range d.fields {
		from := cmp.Or(x.Column, "-")
		if d.byName(x) {
			from = "(" + d.currency + ", as the amount's column is called)"
		}
		grid.Rows = append(grid.Rows, []string{"  " + x.Name, from})
	}
	grid.Write(w)
	missing := false
	for _, x := range d.fields {
		if len(x.Also) > 0 {
			say("%s: %s would fit as well; %s was taken", x.Name, strings.Join(x.Also, ", "), x.Column)
		}
		if x.Wrong != "" && x.Column == "" {
			say("%s: %s fits by its name, and not by its cells: %s", x.Name, x.Wrong, x.Why)
		}
		need := needs[x.Name]
		switch {
		case x.Column != "" || need[0] == "" || d.byName(x):
			continue
		case x.Name == "cost_id":
			say("%s is required: %s", x.Name, need[0])
		default:
			say("%s is required: %s; constants can give it, such as constants: {%s: %s}", x.Name, need[0], x.Name, need[1])
		}
		missing = true
	}
	for _, note := range f.Notes {
		say("%s", note)
	}
	var first []string
	if config == "" {
		config = "spend.yml"
		first = append(first, "with the config saved as "+config)
	}
	if missing {
		first = append(first, "with what is required filled in")
	}
	next := strings.TrimSuffix("Next, "+strings.Join(first, " and "), ", ") + ":"
	fmt.Fprintf(w, "%s\n  reportferry spend check --config %s %s\n", next, config, terminal.Line(d.path))
}
