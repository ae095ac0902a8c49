// Package setup has the command init, which writes a config. Without it, a person's first table
// would begin with an empty file and a page of keys.
//
//	flags ──────────────┐
//	                    ├── answers ── config/draft ── text ── config.Parse ── file ── check
//	questions, answers ─┘   presets
//
// Nothing is written before all answers are given and make a valid config, and an existing file is
// replaced only with --force.
package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/config/preset"
	"github.com/reportferry/reportferry/internal/terminal"
)

// New makes the command init.
func New(p *wire.Program) *cobra.Command {
	a := defaultAnswers()
	var force bool
	var answerFlags []string // the flags that answer a question
	cmd := &cobra.Command{
		Use:   "init [file]",
		Short: "Write a config, of what it asks for or of flags",
		Long: `Write a config, and do what check does on it. The file is reportferry.yml, or
what --config or REPORTFERRY_CONFIG names, or the one given here. A file that is
there is left alone. Beside it is then a schema.json, by which editors complete
and check it.

On a terminal it asks one question at a time: whose numbers, which apps, which
tables, from which day, where days begin, where to and when. With any of the
flags below, or without a terminal, it asks nothing, and what the flags leave
out is usual: all apps, in USD, by days of UTC, into ./out, looked for each
morning at six, UTC.

The tables are those of presets, one of your own, or both. A preset is a table
or two with dimensions and metrics that go well together; init --preset list
prints them. Whatever it writes is yours to change.`,
		Example: `  reportferry init
  reportferry init --embedded --preset spend
  reportferry init --preset spend,cohorts --currency EUR --to gs://bucket/adjust
  reportferry init mine.yml --dimensions day,network --metrics installs,cost`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(a.presets, "list") {
				presetTable(false).Write(cmd.OutOrStdout())
				return nil
			}
			if len(args) == 1 {
				if cmd.Flags().Changed("config") {
					return text.UsageError(fmt.Errorf("init %s: --config names the file too; leave out one of them",
						args[0]))
				}
				p.ConfigFile = args[0]
			}
			w := &writer{cmd: cmd, program: p, answers: a, force: force}
			if !slices.ContainsFunc(answerFlags, cmd.Flags().Changed) && terminal.Is(cmd.InOrStdin()) &&
				terminal.Is(cmd.OutOrStdout()) {
				w.ask = runInterview
			}
			return w.write()
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&a.presets, "preset", nil, "tables that are ready: `a,b`; list prints them")
	fs.StringSliceVar(&a.dimensions, "dimensions", nil, "of a table of your own: `a,b`")
	fs.StringSliceVar(&a.metrics, "metrics", nil, "of that table: `a,b`")
	fs.StringVar(&a.name, "name", "", "`name` of that table; default: its dimensions")
	fs.StringArrayVar(&a.apps, "app", nil, "only this `app`, by token or name; repeatable")
	fs.StringVar(&a.currency, "currency", a.currency, "`currency` of money")
	fs.StringVar(&a.to, "to", a.to, "`folder`, or URL of a bucket or a database: gs://bucket/prefix, "+
		"bigquery://project/dataset, postgres://user@host/database/schema, "+
		"iceberg://catalog/namespace?type=rest&uri=...")
	fs.StringVar(&a.start, "start", "",
		"first `day`: a date, or days ago such as -90d; default: what the preset says, else "+want.UsualStart)
	want.AddZone(fs, &a.utcOffset, &a.timezoneID)
	fs.StringVar(&a.schedule, "schedule", a.schedule, "when to look, as `cron`")
	fs.StringVar(&a.zone, "zone", a.zone,
		"`zone` of the schedule, such as Europe/Berlin; default: that of --timezone-id, else UTC")
	fs.VisitAll(func(f *pflag.Flag) { answerFlags = append(answerFlags, f.Name) })
	p.AddService(cmd)
	answerFlags = append(answerFlags, wire.ServiceFlags...)
	fs.BoolVar(&force, "force", false, "replace the file if there is one")
	var described []string
	for _, one := range preset.All() {
		described = append(described, one.Name+"\t"+one.Summary)
	}
	complete := cobra.FixedCompletions(append(described, "list\tPrint them"), cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("preset", complete); err != nil {
		panic(err) // the flag isn't there
	}
	return cmd
}

// presetTable returns a table of the presets, for people. withOwn adds a row for a table of the
// user's own.
func presetTable(withOwn bool) text.Grid {
	g := text.Grid{Heads: []string{"PRESET", "WHAT IT TELLS, AND ITS TABLES"}}
	for _, p := range preset.All() {
		var tables []string
		for _, j := range p.Jobs {
			tables = append(tables, j.Name)
		}
		g.Rows = append(g.Rows, []string{p.Name, p.Summary}, []string{"", strings.Join(tables, ", ")})
	}
	if withOwn {
		g.Rows = append(g.Rows, []string{ownTable, "A table of your own"})
	}
	return g
}
