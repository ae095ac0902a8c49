package push

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/terminal"
)

// printLine writes a message for people, folded at 80 columns.
func printLine(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, text.Fold(terminal.Line(fmt.Sprintf(format, args...)), 80))
}

// print writes what was found in the file: its form, the column or value of each field, and notes.
func (d *sketch) print(w io.Writer) {
	f := d.file
	// How the file is written.
	how := f.Read.String()
	if f.Read.Kind != "Parquet" {
		how += "; a " + f.Decimal + " before decimals"
		if f.Thousands != "" {
			how += " and a " + f.Thousands + " between thousands"
		}
	}
	if f.Date != "" {
		how += "; times as " + f.Date
	}
	looked := text.Plural(len(f.Rows), "row") + " looked at"
	if f.Skipped > 0 {
		looked += fmt.Sprintf(", and %d of totals and notes skipped", f.Skipped)
	}
	printLine(w, "%s: %s; %s", d.path, how, looked)
	// Where the fields come from, and what is unsure.
	grid := text.Grid{Heads: []string{"  field", "from"}, Most: []int{0, 60}}
	for _, x := range d.fields {
		from := "-"
		switch value := d.constants[x.Name]; {
		case x.Column != "":
			from = "column " + x.Column
		case value != "":
			from = value + " in all records"
		}
		grid.Rows = append(grid.Rows, []string{"  " + x.Name, from})
	}
	grid.Write(w)
	printLine(w, "columns: %s", d.columnNames())
	for _, x := range d.fields {
		if len(x.Also) > 0 {
			printLine(w, "%s: %s would fit as well; %s was taken", x.Name, strings.Join(x.Also, ", "), x.Column)
		}
		if x.Wrong != "" && x.Column == "" {
			printLine(w, "%s: %s fits by its name, and not by its cells: %s", x.Name, x.Wrong, x.Why)
		}
	}
	for _, note := range f.Notes {
		printLine(w, "%s", note)
	}
}

// printNext writes the commands to run next.
func (d *sketch) printNext(w io.Writer) {
	saved, config := "", d.outFile
	if config == "" {
		config = "spend.yml"
		saved = ", with the config saved as " + config
	}
	fmt.Fprintf(w, "Next%[1]s:\n  reportferry spend check --config %[2]s %[3]s\n  reportferry spend push --config "+
		"%[2]s %[3]s\n", saved, config, terminal.Line(d.path))
}

// create writes a file that isn't there yet.
func create(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return text.RefusedError(fmt.Errorf("%s is there already, and isn't written over", path))
	}
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	return err
}
