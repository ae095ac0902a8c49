package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/internal/adjust"
)

func newEvents(f *flags) *cobra.Command {
	var q adjust.EventsQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "events [--search text]",
		Short: "List the account's events, whose slugs name metrics",
		Long: `List the account's events. A slug and what it counts make a metric: the event
purchase has purchase_events, purchase_revenue, purchase_d7_revenue_cohort and
more; jobs name them under events:.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			e, err := openService(f, f.logger(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
			q.TokensMapping = asJSON
			list, err := e.client.Events(cmd.Context(), q)
			if err != nil {
				return coded(err)
			}
			slices.SortFunc(list, func(a, b adjust.Event) int { return strings.Compare(a.ID, b.ID) })
			if asJSON || f.logFormat == "json" {
				if list == nil {
					list = []adjust.Event{}
				}
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return coded(enc.Encode(list))
			}
			eventGrid(list).write(cmd.OutOrStdout())
			fmt.Fprintln(cmd.OutOrStdout(), plural(len(list), "event"))
			return nil
		},
	}
	cmd.Flags().StringVar(&q.Contains, "search", "", "only with this `text` in the name, or this slug")
	cmd.Flags().StringSliceVar(&q.AppTokens, "app", nil, "only of these apps: `token,token`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print all fields as JSON")
	return cmd
}

// eventGrid fits into 80 columns.
func eventGrid(list []adjust.Event) grid {
	g := grid{
		heads: []string{"SLUG", "NAME", "SECTION", "FORMAT", "APPS"},
		right: []bool{false, false, false, false, true}, most: []int{24, 20, 12, 8, 0},
	}
	for _, e := range list {
		g.rows = append(g.rows, []string{e.ID, e.Name, e.Section, e.Formatting, fmt.Sprint(len(e.AppTokens))})
	}
	return g
}
