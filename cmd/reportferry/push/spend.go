package push

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/spend"
)

// Spend makes the command spend and those below it.
func Spend(p *wire.Program) *cobra.Command {
	g := &group{Program: p, kind: "spend", conflict: "whose cost_id was pushed with other content"}
	cmd := g.command("Push files of ad spend, and see what became of them", `Push files of ad spend to the service, record by record. What became of each
record is in the ledger: no record is sent twice but those whose answer was
lost, and none of a file that was stopped half way is left out.`)
	cmd.AddCommand(g.reconcile())
	return cmd
}

// costMetrics gives, for each cost type of a record, the metric in which reports show it.
var costMetrics = map[string]string{"cpc": "click_cost", "cpm": "impression_cost", "cpi": "install_cost", "cpe": "event_cost"}

// reconcile makes the command spend reconcile.
func (g *group) reconcile() *cobra.Command {
	var from, to, network string
	cmd := &cobra.Command{
		Use:   "reconcile --from <day> [--to <day>]",
		Short: "Show what was pushed beside what the service's reports say cost is",
		Long: `Show what was accepted, by day, type and currency, beside what csv_report says
was spent that way on that day (UTC), and by how much they differ: of cpc it is
click_cost, of cpm impression_cost, of cpi install_cost, of cpe event_cost. The
report's figure is all spend of that type, of other partners too, in that
currency; --network narrows it: a report that has more is no fault. The service
may take a while to match spend with clicks and impressions. The exit code is 3
when a report has less than what was pushed. A day is a date, days before today
such as -30d, yesterday or today, in UTC.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			first, last, err := wire.ParseRange(from, to, civil.DateOf(time.Now().UTC()))
			if err != nil {
				return err
			}
			return g.on(cmd, wire.PushAsk{}, func(ctx context.Context, s *wire.Session, c config.Job, k wire.Pusher) error {
				files, err := k.Outbox().Files(ctx)
				if err != nil {
					return err
				}
				rows, err := pushedSums(files, first, last)
				if err != nil {
					return err
				}
				if len(rows) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: nothing was accepted for %s\n", c.Name, human.Range(first, last))
					return nil
				}
				if err := reported(ctx, s.Client, rows, first, last, network); err != nil {
					return err
				}
				if writeSums(cmd.OutOrStdout(), rows) {
					return exit.Silent(jobs.ExitSome)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first `day`")
	cmd.Flags().StringVar(&to, "to", "", "last `day`; default: yesterday")
	cmd.Flags().StringVar(&network, "network", "", "only what was spent on this `network`, in the report's figure")
	cmd.MarkFlagsOneRequired("from")
	return cmd
}

// A spendSum is the spend of one day, type and currency: as it was accepted, and as the report has it.
type spendSum struct {
	spend.Key
	records  int64
	amount   big.Int // in units of spend.Decimals
	reported string
}

// pushedSums adds up what the service accepted for the days from first to last, over all files.
func pushedSums(files []outbox.File, first, last civil.Date) ([]*spendSum, error) {
	byKey := map[spend.Key]*spendSum{}
	var sums []*spendSum
	for _, f := range files {
		for text, sum := range f.Sums {
			key, err := spend.ParseKey(text)
			if err != nil {
				return nil, err
			}
			if key.Day < first.String() || key.Day > last.String() {
				continue
			}
			s := byKey[key]
			if s == nil {
				s = &spendSum{Key: key}
				byKey[key], sums = s, append(sums, s)
			}
			s.records += sum.Records
			s.amount.Add(&s.amount, sum.Amount)
		}
	}
	slices.SortFunc(sums, func(a, b *spendSum) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Currency, b.Currency))
	})
	return sums, nil
}

// reported fills in the report's figures. Each currency takes a report of its own, because a report converts to one currency.
func reported(ctx context.Context, client *adjust.Client, sums []*spendSum, first, last civil.Date, network string) error {
	q := adjust.ReportQuery{
		Dimensions: []string{"day"}, Metrics: []string{"click_cost", "impression_cost", "install_cost", "event_cost"},
		From: first, Until: last.AddDays(1), UTCOffset: "+00:00", Parameters: config.DefaultParameters(),
	}
	if network != "" {
		q.Filters = map[string][]string{"network__in": {network}}
	}
	answers := map[string]map[string]string{} // by currency, then by day and metric
	for _, s := range sums {
		if answers[s.Currency] == nil {
			q.Currency = strings.ToUpper(s.Currency)
			figures, err := dailyFigures(ctx, client, q)
			if err != nil {
				return err
			}
			answers[s.Currency] = figures
		}
		s.reported = answers[s.Currency][s.Day+" "+costMetrics[s.Type]]
	}
	return nil
}

// dailyFigures fetches a report by day, as cells under keys such as "2026-01-31 click_cost".
func dailyFigures(ctx context.Context, client *adjust.Client, q adjust.ReportQuery) (figures map[string]string, err error) {
	figures = map[string]string{}
	_, err = client.CSVReport(ctx, q, func(body io.Reader) error {
		clear(figures) // this is another attempt, and the last one may have broken off half way
		r := csv.NewReader(body)
		header, err := r.Read()
		if err != nil {
			return err
		}
		day := slices.Index(header, "day")
		if day < 0 {
			return errors.New("the answer has no column day, which was asked for")
		}
		for {
			cells, err := r.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for i, metric := range header {
				figures[cells[day]+" "+metric] = cells[i]
			}
		}
	})
	return figures, err
}

// writeSums writes a row for each sum with its verdict, then how many have which. short tells whether any report has less than
// what was pushed.
func writeSums(w io.Writer, sums []*spendSum) (short bool) {
	g := human.Grid{
		Heads: []string{"day", "type", "currency", "records", "pushed", "report", "difference", "verdict"},
		Right: []bool{false, false, false, true, true, true, true, false},
	}
	times := map[string]int{}
	for _, s := range sums {
		difference, verdict := s.compare()
		times[verdict]++
		g.Rows = append(g.Rows, []string{
			s.Day, s.Type, strings.ToUpper(s.Currency), human.Count(s.records), decimal(&s.amount, spend.Decimals), cmp.Or(s.reported, "-"),
			difference, verdict,
		})
	}
	g.Write(w)
	fmt.Fprintf(w, "%s: %d equal, %d with more in the report, %d with less\n", human.Plural(len(sums), "sum"), times[isEqual], times[isMore], times[isLess])
	return times[isLess] > 0
}

// The verdicts on a report's figure.
const isEqual, isMore, isLess = "equal", "more", "less"

// compare subtracts what was pushed from the report's figure. The service may round its figure, so a difference of up to half
// of the figure's last decimal counts as equal. A missing figure counts as 0.
func (s *spendSum) compare() (difference, verdict string) {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(spend.Decimals), nil)
	pushed, reported := new(big.Rat).SetFrac(&s.amount, scale), new(big.Rat)
	whole, decimals, _ := strings.Cut(s.reported, ".")
	if _, ok := reported.SetString(whole + "." + decimals); !ok {
		reported.SetInt64(0)
	}
	d := reported.Sub(reported, pushed)
	half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(decimals))), nil)))
	difference = d.FloatString(max(spend.Decimals, len(decimals)))
	if strings.Contains(difference, ".") {
		difference = strings.TrimSuffix(strings.TrimRight(difference, "0"), ".")
	}
	switch {
	case s.reported != "" && new(big.Rat).Abs(d).Cmp(half) <= 0:
		return difference, isEqual
	case d.Sign() > 0:
		return difference, isMore
	}
	return difference, isLess
}

// decimal writes n / 10^decimals exactly, without zeros at the end.
func decimal(n *big.Int, decimals int) string {
	text := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)).FloatString(decimals)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
