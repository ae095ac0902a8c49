package ask

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/adjust"
)

// Events makes the command events.
func Events(p *wire.Program) *cobra.Command {
	var q adjust.EventsQuery
	var form *wire.Output
	cmd := &cobra.Command{
		Use:   "events [--search text]",
		Short: "List the account's events, whose slugs name metrics",
		Long: `List the account's events. A slug and what it counts make a metric: the event
purchase has purchase_events, purchase_revenue, purchase_d7_revenue_cohort and
more; jobs name them under events:.

It needs no job, and no config: without one it asks --base-url, with the token
that the variable of --token-env holds.`,
		Example: `  ADJUST_TOKEN=... reportferry events --search purchase`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.Asking(cmd, func(ctx context.Context, s *wire.Session) error {
				q.TokensMapping = form.JSON()
				list, err := s.Client.Events(ctx, q)
				if err != nil {
					return err
				}
				slices.SortFunc(list, func(a, b adjust.Event) int { return strings.Compare(a.ID, b.ID) })
				return writeEvents(cmd.OutOrStdout(), list, form.JSON())
			})
		},
	}
	cmd.Flags().StringVar(&q.Contains, "search", "", "only with this `text` in the name, or this slug")
	cmd.Flags().StringSliceVar(&q.AppTokens, "app", nil, "only of these apps: `token,token`")
	form = p.AddOutput(cmd, "all that the service says of them", []adjust.Event{})
	p.AddAsking(cmd)
	return cmd
}

// writeEvents writes a table for people, or all fields as JSON.
func writeEvents(w io.Writer, list []adjust.Event, asJSON bool) error {
	if asJSON {
		return text.JSON(w, append([]adjust.Event{}, list...))
	}
	g := text.Grid{
		Heads: []string{"SLUG", "NAME", "SECTION", "FORMAT", "APPS"},
		Right: []bool{false, false, false, false, true}, Most: []int{24, 20, 12, 8, 0},
	}
	for _, e := range list {
		g.Rows = append(g.Rows, []string{e.ID, e.Name, e.Section, e.Formatting, fmt.Sprint(len(e.AppTokens))})
	}
	g.Write(w)
	fmt.Fprintln(w, text.Plural(len(list), "event"))
	return nil
}
