package push

import (
	"context"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
)

// Spend makes the command spend and those below it.
func Spend(p *wire.Program) *cobra.Command {
	g := &group{Program: p, kind: "spend", conflict: "whose cost_id an earlier row or push has with other content"}
	cmd := g.command("Push files of ad spend, and see what became of them",
		`Push files of ad spend to the service, record by record. What became of each
record is in the ledger: no record is sent twice but those whose answer was
lost, and none of a file that was stopped half way is left out.`)
	cmd.AddCommand(g.reconcile(), g.init())
	return cmd
}

// usualWait is how long the service may take to show spend that it accepted, unless --wait says
// otherwise. The service's documents name no time.
const usualWait = 24 * time.Hour

// reconcile makes the command spend reconcile.
func (g *group) reconcile() *cobra.Command {
	var from, to, network string
	var form *wire.Output
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "reconcile --from <day> [--to <day>]",
		Short: "Show what was pushed beside what the service's reports say cost is",
		Long: `Show what was accepted, by day, type and currency, beside what csv_report says
was spent that way on that day (UTC), by how much they differ, and a verdict. Of
cpc the report's figure is click_cost, of cpm impression_cost, of cpi
install_cost, of cpe event_cost; a cpm amount is the price of a thousand
impressions, so a thousandth of it is compared.

  equal     the report has what was pushed, as far as its decimals go
  waiting   the report has less, and some of it was accepted less than --wait
            ago: the service matches spend with clicks and impressions later on
            and says of no time how long that takes
  more      the report has more. Its figure is all spend of that type in that
            currency, of other partners too, so this is no fault
  differs   the report has less though it had the time; or, with --network,
            which says whose spend the job pushes, it has more

Reports know no tags. Under a sum that differs stand the tags that were pushed
for it, and which of them alone has as much as is missing, if one has. The exit
code is 3 when a sum differs. A day is a date, days before today such as -30d,
yesterday or today, in UTC.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			first, last, err := wire.ParseRange(from, to, civil.DateOf(time.Now().UTC()))
			if err != nil {
				return err
			}
			write := wire.Form(form, map[string]func(io.Writer, []*balance) error{wire.Text: writeBalances,
				wire.JSON: text.JSONLines[*balance], "csv": balancesCSV})
			return g.on(cmd, wire.PushAsk{}, func(ctx context.Context, s *wire.Session, c config.Job,
				k wire.Pusher) error {
				files, err := k.Outbox().Summed(ctx)
				if err != nil {
					return err
				}
				sums, err := pushedSums(files, first, last)
				if err != nil {
					return err
				}
				if len(sums) == 0 && form.String() == wire.Text {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: nothing was accepted for %s\n", c.Name,
						text.DayRange(first, last))
					return nil
				}
				if err := setReports(ctx, s.Client, sums, first, last, network); err != nil {
					return err
				}
				differ := false
				for _, b := range sums {
					b.compare(time.Now(), wait, network != "")
					differ = differ || b.Verdict == differs
				}
				out := cmd.OutOrStdout()
				if form.String() == "csv" {
					out = terminal.Data(out) // escapes would change the data
				}
				if err := write(out, sums); err != nil || !differ {
					return err
				}
				return text.SilentExit(jobs.ExitSome)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&from, "from", "", "first `day`")
	fs.StringVar(&to, "to", "", "last `day`; default: yesterday")
	fs.StringVar(&network, "network", "", "only what was spent on this `network`, in the report's figure")
	fs.DurationVar(&wait, "wait", usualWait, "how long the service may take to show what it accepted")
	form = g.AddOutput(cmd, "one object a sum", balance{}, "csv")
	cmd.MarkFlagsOneRequired("from")
	return cmd
}
