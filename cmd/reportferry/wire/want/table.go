package want

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/lazy"
)

// A Table holds the flags of run --to, which describe a table that no config has.
type Table struct {
	Report
	to, name, start string   // values of the flags of these names
	printOnly       bool     // --print-config
	onlyWithTo      []string // names of the flags that mean something only with --to
}

// UsualStart is the default of --start, the first day of a table.
const UsualStart = "-30d"

// AddTable adds the flags of a Table to a command.
func AddTable(cmd *cobra.Command, p *wire.Program) *Table {
	t := &Table{}
	mine := pflag.NewFlagSet("", pflag.ContinueOnError)
	mine.SortFlags = false
	mine.StringVar(&t.to, "to", "", "without a config: keep the table that the flags below describe in this "+
		"`folder` or sink, such as ./out")
	t.AddFlags(mine)
	mine.StringVar(&t.start, "start", UsualStart, "first `day` of the table: a date, or days before today")
	mine.StringSliceVar(&t.drop, "drop", nil, "take these columns out of every partition of the table: `a,b`")
	mine.StringVar(&t.name, "name", "", "`name` of the table; default: its dimensions")
	mine.BoolVar(&t.printOnly, "print-config", false,
		"print the config that --to and the other flags stand for, and do nothing else")
	mine.VisitAll(func(f *pflag.Flag) { t.onlyWithTo = append(t.onlyWithTo, f.Name) })
	cmd.Flags().AddFlagSet(mine)
	p.AddService(cmd)
	t.onlyWithTo = append(t.onlyWithTo, wire.ServiceFlags...)
	return t
}

// Take gives the program the config that the flags stand for, in place of the file. It returns done
// when the config was only to be printed, and has been. Without --to it leaves the program alone,
// and refuses the flags that would mean nothing.
func (t *Table) Take(cmd *cobra.Command, p *wire.Program, jobs []string) (done bool, err error) {
	set := cmd.Flags()
	if !set.Changed("to") {
		at := slices.IndexFunc(t.onlyWithTo, set.Changed)
		if at >= 0 {
			return false, text.UsageError(fmt.Errorf("--%s: only with --to, which makes a table without a config; a "+
				"job of a config says it there", t.onlyWithTo[at]))
		}
		return false, nil
	}
	switch {
	case set.Changed("config"):
		return false, text.UsageError(errors.New("--to and --config exclude each other: --to makes a table of the " +
			"flags, and reads no config"))
	case len(jobs) > 0:
		return false, text.UsageError(fmt.Errorf("--to makes one table of the flags, and knows no job of a config; "+
			"leave out %s, or --to", strings.Join(jobs, " ")))
	case t.to == "":
		return false, text.UsageError(errors.New("--to: want a folder such as ./out, or a sink's URL such as " +
			"gs://bucket/prefix"))
	}
	written, c, err := t.config(cmd, p, t.to, t.name, t.start)
	switch {
	case err != nil:
		return false, text.UsageError(err)
	case t.printOnly:
		_, err = cmd.OutOrStdout().Write(written)
		return true, err
	}
	return false, p.Take(c)
}

// PrintTable prints the config of a table with the report's numbers, and does nothing else.
func (r *Report) PrintTable(cmd *cobra.Command, p *wire.Program, start string) error {
	written, _, err := r.config(cmd, p, "./out", "", start)
	if err != nil {
		return text.UsageError(err)
	}
	_, err = cmd.OutOrStdout().Write(written)
	return err
}

// config returns the config of the table, as text and parsed. Errors name flags, not keys.
func (r *Report) config(cmd *cobra.Command, p *wire.Program, to, name, start string) ([]byte, *config.Config, error) {
	if err := r.Complete(cmd.Flags(), cmd.CommandPath()); err != nil {
		return nil, nil, err
	}
	if r.Query.Currency == "" {
		return nil, nil, errors.New("--currency: a table needs one, such as USD: without it each app's money would " +
			"be in the app's own, and couldn't be added")
	}
	service, err := p.Whom()
	if err != nil {
		return nil, nil, err
	}
	if name == "" {
		name = NameOf(r.Query.Dimensions)
	}
	text := r.draftTable(service, SinkURL(".", to), name, start).YAML()
	c, err := config.Parse("", text, p.LookupEnv)
	if err != nil {
		return nil, nil, InFlags(cmd.Flags(), err)
	}
	if kind, _, _ := strings.Cut(c.Jobs[0].Sinks[0], ":"); p.Sinks[kind] == nil {
		return nil, nil, fmt.Errorf("--to: no sink begins with %s://; want a folder such as ./out, or the URL of "+
			"one of %s",
			kind, strings.Join(slices.Sorted(maps.Keys(p.Sinks)), ", "))
	}
	return text, c, nil
}

// onLine matches the line number in an error about a config. Flags have no lines.
var onLine = lazy.Regexp(`, first on line [0-9]+`)

// InFlags rewrites the errors about a config, one on a line, which begin with a key: it puts the
// name of the flag in the key's place.
func InFlags(set *pflag.FlagSet, err error) error {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		key, rest, _ := strings.Cut(line, ":")
		flag := strings.ReplaceAll(key, "_", "-")
		switch flag {
		case "filters":
			flag = "filter"
		case "sinks", "ledger":
			flag = "to"
		}
		if set.Lookup(flag) != nil {
			line = "--" + flag + ":" + rest
		}
		// The ledger's URL is made of the sink's.
		if line = onLine().ReplaceAllString(line, ""); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}
