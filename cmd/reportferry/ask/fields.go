package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/lazy"
)

// fieldOptions holds the flags of the command fields.
type fieldOptions struct {
	search                      string
	dimensions, metrics, events bool
	offline                     bool
	form                        *wire.Output
}

// Fields returns the command "fields".
func Fields(p *wire.Program) *cobra.Command {
	o := &fieldOptions{}
	cmd := &cobra.Command{
		Use:   "fields [name...]",
		Short: "List dimensions, metrics and what is counted of events",
		Long: `List what a report can have: dimensions, metrics, and what events count. With
names, each is shown in whole: its type and unit, whether its rows may be
summed, since when a value is final, and how the service computes it.

A name with braces stands for many: roas_{p} for roas_d7, roas_w1 and more,
{e}_revenue for the revenue of each event. What to put in their place stands
below the list, and --search roas_d7 finds the one that is meant.

The list is the program's own catalogue. With a token, or a config that has a
service, the service is asked too, and a mark says what only one of them has:
  +  the service has it, and the catalogue doesn't: of a metric, a job names
     the type under types:, and a dimension is text
  -  the service doesn't list it; it may take it all the same, and check asks
A service that can't be reached is an error; --offline asks nothing.`,
		Example: `  reportferry fields --search roas
  reportferry fields roas_d7
  ADJUST_TOKEN=... reportferry fields --search purchase`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
			return slices.DeleteFunc(wire.CompleteFields(word),
				func(name string) bool { return slices.Contains(given, name) }), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, names []string) error { return o.run(cmd, p, names) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.search, "search", "", "only with these `words` in the name or the description")
	fs.BoolVar(&o.dimensions, "dimensions", false, "dimensions")
	fs.BoolVar(&o.metrics, "metrics", false, "metrics, but for those of events")
	fs.BoolVar(&o.events, "events", false, "the account's events, and what is counted of each")
	o.form = p.AddOutput(cmd, "all that is known of each", []describedField{})
	fs.BoolVar(&o.offline, "offline", false, "the catalogue alone; nothing is asked")
	p.AddAsking(cmd)
	return cmd
}

// run lists the fields of the catalogue, and those of the service unless there is no token or the
// flags say not to ask it.
func (o *fieldOptions) run(cmd *cobra.Command, p *wire.Program, names []string) error {
	if len(names) > 0 && (o.search != "" || o.dimensions || o.metrics || o.events) {
		return text.UsageError(errors.New("a name is shown in whole: leave it out, or --search and its kin"))
	}
	if !o.dimensions && !o.metrics && !o.events {
		o.dimensions, o.metrics, o.events = true, true, true
	}
	why := "nothing is asked" // why the service isn't asked; empty: it is
	if !o.offline {
		var err error
		if why, err = p.Unasked(cmd); err != nil {
			return err
		}
	}
	l := &fieldList{}
	if why != "" {
		l.source = "the program's own list: " + why
		return text.WithExitCode(o.write(cmd, p, l, names))
	}
	return p.Asking(cmd, func(ctx context.Context, s *wire.Session) error {
		err := l.ask(ctx, s.Client)
		if err != nil {
			return fmt.Errorf("%w; --offline lists what the program itself knows", err)
		}
		return o.write(cmd, p, l, names)
	})
}

// write shows the fields called names in full; without names, it lists those that the search finds.
func (o *fieldOptions) write(cmd *cobra.Command, p *wire.Program, l *fieldList, names []string) error {
	out := cmd.OutOrStdout()
	p.Note(cmd.ErrOrStderr(), "reportferry: "+l.source)
	var entries []fieldEntry
	for _, name := range names {
		e, ok := l.find(name)
		if !ok {
			return text.UsageError(fmt.Errorf("no field %s%s", name, l.nearHint(name)))
		}
		entries = append(entries, e)
	}
	if len(names) == 0 {
		entries = l.search(o)
	}
	switch {
	case o.form.JSON():
		return writeFieldsJSON(out, entries)
	case len(names) > 0:
		for i, e := range entries {
			if i > 0 {
				fmt.Fprintln(out)
			}
			e.writeWhole(out)
		}
	case len(entries) == 0:
		fmt.Fprintf(out, "no field has %q in its name or description%s\n", o.search,
			l.nearHint(strings.ReplaceAll(o.search, " ", "_")))
	default:
		writeFieldTables(out, entries)
	}
	return nil
}

// unitAtEnd matches a cohort's period that is written as 7d. The names of fields have d7.
var unitAtEnd = lazy.Regexp(`(^|_)([0-9]+)([dwm])(_|$)`)

// nearHint returns a hint for an unknown name: the known names that are most like it.
func (l *fieldList) nearHint(name string) string {
	names := append(catalog.Starting("", false), catalog.Starting("", true)...)
	for _, e := range l.events {
		names = append(names, e.Slug)
	}
	near := catalog.Nearest(name, append(names, l.extra...))
	if turned := unitAtEnd().ReplaceAllString(name, "$1$3$2$4"); turned != name {
		if e, ok := l.find(turned); ok {
			near = []string{e.Slug}
		}
	}
	if len(near) == 0 {
		return "; --search finds parts of names"
	}
	return "; near it: " + strings.Join(near, ", ")
}
