package push

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/spend"
)

// init makes the command spend init.
func (g *group) init() *cobra.Command {
	var d sketch
	var columns, constants []string
	var costType, tag string
	cmd := &cobra.Command{
		Use:   "init <file>",
		Short: "Write the config of a job that pushes files such as this one",
		Long: `Look at a partner's file of spend, find out how it is written and which of its
columns are which fields of a record, and write the config of a job that pushes
such files. Nothing is sent.

The row of names may stand below titles, on any sheet. Columns are found by
their names, in English, German and French, and by what their cells hold;
--column says what isn't found. A field that no column has gets one value for
all records by --constant, --cost-type or --tag. The type of the cost is never
guessed, and the tag is the file's name if nothing else is said. When a field is
still missing, or the file has sums of a day, which the service doesn't take
without Cost IDs, nothing is written and the exit code is 2.

The config goes to standard output, or with --out into a new file; one that is
there is never written over. What was found goes to the other of the two.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.outFile != "" {
				if _, err := os.Lstat(d.outFile); err == nil {
					return text.RefusedError(fmt.Errorf("%s is there already, and isn't written over; name a new file "+
						"with --out", d.outFile))
				}
			}
			var err error
			if d.columns, err = fieldsOf("--column", columns, nil); err == nil {
				d.constants, err = fieldsOf("--constant", constants,
					map[string]string{"cost_type": costType, "tag": tag})
			}
			if err != nil {
				return text.UsageError(err)
			}
			d.path, d.job = args[0], cmp.Or(g.job, "spend")
			if d.file, err = openSpendFile(cmd.Context(), d.path, os.TempDir()); err == nil {
				err = d.findColumns()
			}
			if err != nil {
				return text.RefusedError(fmt.Errorf("look at %s: %w", d.path, err))
			}
			out := cmd.OutOrStdout()
			if d.outFile == "" {
				out = cmd.ErrOrStderr()
			}
			d.print(out)
			if missing := d.missing(); missing != nil {
				return text.RefusedError(fmt.Errorf("no config is written: %w", missing))
			}
			written := d.config().YAML()
			if _, err := config.Parse(cmp.Or(d.outFile, "the config"), written,
				func(string) (string, bool) { return "x", true }); err != nil {
				return text.RefusedError(fmt.Errorf("the config that was made of %s isn't right: %w", d.path, err))
			}
			if d.outFile == "" {
				_, err = terminal.Data(cmd.OutOrStdout()).Write(written)
			} else {
				err = create(d.outFile, written)
			}
			if err == nil {
				d.printNext(out)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&d.outFile, "out", "", "`file` to write, which mustn't be there yet; default: standard output")
	fs.StringArrayVar(&columns, "column", nil, "`field=name` of the column that a field of a record is taken from")
	fs.StringArrayVar(&constants, "constant", nil,
		"`field=value` that is the same in all records, such as cost_currency=EUR")
	fs.StringVar(&costType, "cost-type", "", "what is paid for: cpc, cpi, cpe or cpm")
	fs.StringVar(&tag, "tag", "", "label for finding the records again; default: the file's name")
	fs.StringVar(&d.baseURL, "base-url", "", "`URL` of the service's reports, where it isn't the usual one")
	fs.StringVar(&d.costURL, "cost-url", "", "`URL` that spend is pushed to, where it isn't the usual one")
	fs.StringVar(&d.keyVariable, "key", "",
		"environment `variable` with the partner's own key, where the service asks for one")
	return cmd
}

// fieldsOf returns the values of fields, by field: said are the arguments field=value of a flag,
// and own are the values of fields that have flags of their own.
func fieldsOf(flag string, said []string, own map[string]string) (map[string]string, error) {
	fields := map[string]string{}
	for name, value := range own {
		if value != "" {
			fields[name] = value
		}
	}
	for _, one := range said {
		name, value, is := strings.Cut(one, "=")
		switch {
		case !is || value == "" || !slices.Contains(spend.Fields(), name):
			return nil, fmt.Errorf("%s %s: want a field and its value, such as %s=...; the fields are %s", flag, one,
				spend.Fields()[0], strings.Join(spend.Fields(), ", "))
		case fields[name] != "":
			return nil, fmt.Errorf("%s: %s is said twice", flag, name)
		}
		fields[name] = value
	}
	return fields, nil
}
