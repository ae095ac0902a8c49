package see

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
)

// A ledgerObject is a line of the command ledger list as JSON.
type ledgerObject struct {
	Key      string    `json:"key"`
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
}

// Ledger makes the command ledger.
func Ledger(p *wire.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "List the objects of the ledger, or print one of them",
		Long: `List the objects of the ledger, or print one of them as JSON, without its
checksum and unpacked. Nothing is changed, and nothing is asked of the service.
jobs/ledger/README.md says what the objects hold.`,
	}
	var form *wire.Output
	list := &cobra.Command{
		Use:   "list [prefix]",
		Short: "List the objects whose keys begin with a prefix, with sizes and times",
		Example: `  reportferry ledger list
  reportferry ledger list tables/campaigns_daily/`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				prefix := ""
				if len(args) == 1 {
					prefix = args[0]
				}
				list, err := s.Ledger.Objects(ctx, prefix)
				if form.JSON() {
					var lines []ledgerObject
					for _, o := range list {
						lines = append(lines, ledgerObject{o.Key, o.Size, o.Modified.UTC()})
					}
					return errors.Join(err, text.JSONLines(cmd.OutOrStdout(), lines))
				}
				for _, o := range list {
					fmt.Fprintf(cmd.OutOrStdout(), "%9d  %s  %s\n", o.Size,
						o.Modified.UTC().Format("2006-01-02 15:04:05"), o.Key)
				}
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), text.Plural(len(list), "object"))
				}
				return err
			})
		},
	}
	form = p.AddOutput(list, "one object a line", ledgerObject{})
	cmd.AddCommand(list, &cobra.Command{
		Use:     "show <key>",
		Short:   "Print an object as JSON",
		Example: `  reportferry ledger show tables/campaigns_daily/months/2026-11.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				text, err := s.Ledger.Show(ctx, args[0])
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), text)
				}
				return err
			})
		},
	})
	return cmd
}
