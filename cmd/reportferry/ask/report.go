package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/internal/zone"
)

// Report makes the command report.
func Report(p *wire.Program) *cobra.Command {
	r := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Ask the service for one report, with any of its parameters",
		Long: `Ask the service for one report, with any of its parameters, and print it or
write it to a file. Nothing goes through the ledger. The defaults are those of
jobs, and are sent. Control characters in names are escaped in tables, JSON and
on a terminal; a file of CSV or Parquet, or a pipe, gets them as they are.

It needs no job, and no config: without one it asks --base-url, with the token
that the variable of --token-env holds. With --embedded it asks a made-up
account in this process, without a config or a token.

To keep such a report as a table, give its flags to run --to ./out; the config
of that table is what --print-config prints.

` + want.Filters,
		Example: `  reportferry report --embedded --currency USD \
      --dimensions day,network --metrics installs,cost
  ADJUST_TOKEN=... reportferry report --dimensions day,network \
      --metrics installs,cost --currency USD
  reportferry report --dimensions day,network --metrics installs,cost \
      --date-period 2026-01-01:2026-01-31 --currency EUR \
      --filter app_token__in=abc123 --filter installs__gt=10 \
      --out january.parquet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd, p) },
	}
	r.addFlags(cmd, p)
	p.AddAsking(cmd)
	return cmd
}

// A reportFlags holds the flags of the command report.
type reportFlags struct {
	want.Report
	printConfig bool
	plot        bool
	form        *wire.Output
	format      string // csv, parquet or one of the forms of package wire; set by complete
	out         string // the file to write; empty: standard output
}

// addFlags adds the flags in the order of the service's document.
func (r *reportFlags) addFlags(cmd *cobra.Command, p *wire.Program) {
	q, fs := &r.Query, cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&q.DatePeriod, "date-period", "-7d:-1d",
		"both ends included: `FROM:TO` as dates or -7d, or today, yesterday, this_week, last_week, ...")
	r.AddFlags(fs)
	fs.StringVar(&q.HourBetween, "hour-between", "", "hours relative to now, such as `-10h:-0h`")
	fs.StringSliceVar(&q.Sort, "sort", nil, "order of the rows: `a,-b`; default: dates first")
	fs.StringSliceVar(&q.Index, "index", nil, "dimensions that come first in the order: `a,b`")
	fs.StringVar(&q.PeriodOverPeriod, "period-over-period", "", "compare with this `period`, such as previous_week")
	fs.BoolVar(&q.ReadableNames, "readable-names", false, "head columns by names for people")
	fs.BoolVar(&q.FormatDates, "format-dates", false, "dates as the service formats them for people")
	r.form = p.AddOutput(cmd, "one object a row; default: by the file's ending, a table on a terminal, else csv",
		map[string]any{}, "csv", "parquet")
	fs.Lookup("output").DefValue = ""
	fs.StringVar(&r.out, "out", "", "`file`, whole or not there; default: standard output")
	fs.BoolVar(&r.plot, "plot", false, "on a terminal: draw the first metrics by date too")
	fs.BoolVar(&r.printConfig, "print-config", false, "print the config of a table like this report, and ask nothing")
}

// run fetches the answer into the spool folder and writes it from there.
func (r *reportFlags) run(cmd *cobra.Command, p *wire.Program) error {
	if r.printConfig {
		return r.printTable(cmd, p)
	}
	if err := r.complete(cmd); err != nil {
		return err
	}
	return p.Asking(cmd, func(ctx context.Context, s *wire.Session) error {
		if err := s.OpenSpool(); err != nil {
			return err
		}
		a, err := fetchAnswer(ctx, s.Client, r.Query, s.Spool)
		if err != nil {
			return withSuggestion(err, r.Query)
		}
		for _, name := range a.extra {
			p.Note(cmd.ErrOrStderr(),
				"reportferry: the answer has a column "+terminal.Line(name)+" that wasn't asked for; Parquet leaves "+
					"it out")
		}
		if a.path == "" {
			p.Note(cmd.ErrOrStderr(), "reportferry: the report has no rows")
		}
		out := cmd.OutOrStdout()
		if r.format == "csv" || r.format == "parquet" { // escapes would change the data
			out = terminal.Data(out)
		}
		if err := a.writeTo(ctx, r.format, r.out, out); err != nil || !r.plot || !terminal.Is(out) {
			return err
		}
		return a.plot(out)
	})
}

// notInTables lists the flags that --print-config refuses, because a table's rows are in partitions
// and its columns are named by slug.
var notInTables = []string{"hour-between", "sort", "index", "period-over-period", "readable-names", "format-dates",
	"output", "out", "plot"}

// dayOfFrom matches the first day of a period that is given by its days.
var dayOfFrom = lazy.Regexp(`^(-[0-9]+d|[0-9]{4}-[0-9]{2}-[0-9]{2}):`)

// printTable prints the config of a table like this report. The table begins with the report's
// first day and has no last day.
func (r *reportFlags) printTable(cmd *cobra.Command, p *wire.Program) error {
	if at := slices.IndexFunc(notInTables, cmd.Flags().Changed); at >= 0 {
		return fmt.Errorf("--print-config: a table has no --%s; leave it out", notInTables[at])
	}
	start := want.UsualStart
	if cmd.Flags().Changed("date-period") {
		from := dayOfFrom().FindStringSubmatch(r.Query.DatePeriod)
		if from == nil {
			return fmt.Errorf("--date-period %s: with --print-config want FROM:TO as dates or -7d, because a table "+
				"begins on a day", r.Query.DatePeriod)
		}
		start = from[1]
	}
	return r.PrintTable(cmd, p, start)
}

// complete checks the flags, and sets those that weren't given to their defaults.
func (r *reportFlags) complete(cmd *cobra.Command) error {
	if err := r.Complete(cmd.Flags(), "reportferry report"); err != nil {
		return err
	}
	if err := resolveZone(&r.Query, time.Now()); err != nil {
		return err
	}
	if r.format = r.form.Given(); r.format == "" {
		r.format = defaultFormat(r.out, cmd.OutOrStdout())
	}
	if r.format == "" {
		return fmt.Errorf("--out %s: its ending names no form; add --output text, json, csv or parquet", r.out)
	}
	if info, err := os.Stat(r.out); err == nil && info.IsDir() {
		return fmt.Errorf("--out %s: this is a folder; want the name of a file", r.out)
	}
	if r.format == "parquet" && r.Query.ReadableNames {
		return errors.New("--readable-names: Parquet columns are named by slug; leave it out, or take another --output")
	}
	if r.format == "parquet" && r.Query.FormatDates {
		return errors.New("--format-dates: Parquet columns hold dates, not texts for people; leave it out, or take " +
			"another --output")
	}
	return nil
}

// resolveZone replaces a zone that is given by name by the offset that it has on all days asked
// for, because the service isn't known to take names.
func resolveZone(q *adjust.ReportQuery, now time.Time) error {
	if _, err := strconv.Atoi(q.TimezoneID); q.TimezoneID == "" || err == nil {
		return nil
	}
	loc, err := time.LoadLocation(q.TimezoneID)
	if err != nil {
		return fmt.Errorf("--timezone-id %s: want a zone such as Europe/Berlin, or the service's number of one",
			q.TimezoneID)
	}
	// The days, as dates in the zone.
	today := civil.DateOf(now.In(loc))
	days := map[string]string{"today": "-0d:-0d", "yesterday": "-1d:-1d"}[q.DatePeriod]
	ends := strings.Split(cmp.Or(days, q.DatePeriod), ":")
	var dates []civil.Date
	for _, end := range ends {
		d, err := civil.ParseDate(end)
		if n, ago := strings.CutSuffix(end, "d"); ago {
			var days int
			days, err = strconv.Atoi(n)
			d = today.AddDays(days)
		}
		if err != nil || len(ends) != 2 {
			return fmt.Errorf("--date-period %s: with the zone %s want FROM:TO as dates or -7d, because its offset "+
				"depends on the days", q.DatePeriod, loc)
		}
		dates = append(dates, d)
	}
	// The pieces of time in which the zone has one offset.
	pieces := zone.Pieces(loc, dates[0], dates[1].AddDays(1))
	if len(pieces) > 1 || len(pieces) == 1 && pieces[0].First != "" {
		return fmt.Errorf("--timezone-id %s: its clocks change in %s to %s, and one report has one offset; ask for "+
			"the days before and after %s by themselves, "+
			"or let run --to keep them as a table, which adds that day up", loc, dates[0], dates[1],
			firstClockChange(pieces))
	}
	if len(pieces) == 1 { // without a piece the days are wrong, and the service says how
		q.DatePeriod, q.UTCOffset, q.TimezoneID = dates[0].String()+":"+dates[1].String(), pieces[0].Offset, ""
	}
	return nil
}

// firstClockChange returns the day of the first change of clocks.
func firstClockChange(pieces []zone.Piece) civil.Date {
	return pieces[max(0, slices.IndexFunc(pieces, func(p zone.Piece) bool { return p.First != "" }))].From
}

// defaultFormat returns the format that the ending of the file's name stands for, or an empty
// string for an unknown ending. Without a file it is a table on a terminal, and CSV elsewhere.
func defaultFormat(path string, stdout io.Writer) string {
	if path != "" {
		return map[string]string{".csv": "csv", ".jsonl": wire.JSON, ".parquet": "parquet"}[filepath.Ext(path)]
	}
	if terminal.Is(stdout) {
		return wire.Text
	}
	return "csv"
}

// fetchAnswer fetches one report into a file in dir.
func fetchAnswer(ctx context.Context, client *adjust.Client, q adjust.ReportQuery, dir string) (a answer, err error) {
	a.dir, a.asked = dir, q.Dimensions
	file, err := os.CreateTemp(dir, "answer-*.csv")
	if err != nil {
		return a, err
	}
	got, err := client.CSVReport(ctx, q, func(from io.Reader) error {
		if err := file.Truncate(0); err != nil { // this is another attempt
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(file, from)
		return err
	})
	if err := errors.Join(err, file.Close()); err != nil {
		return a, err
	}
	if got.Empty {
		a.header = slices.Concat(q.Dimensions, q.Metrics)
		return a, nil
	}
	a.path = file.Name()
	if a.header, err = readHeader(a.path); err != nil {
		return a, err
	}
	if !q.ReadableNames { // readable names are the service's choice
		a.header = spelledAsAsked(a.header, slices.Concat(q.Dimensions, q.Metrics))
	}
	a.extra, err = checkHeader(a.header, q)
	return a, err
}

// spelledAsAsked returns a header with each column written as it was asked for, where only its case
// differs.
func spelledAsAsked(header, asked []string) []string {
	out := slices.Clone(header)
	for i, name := range out {
		at := slices.IndexFunc(asked, func(want string) bool { return strings.EqualFold(want, name) })
		if at >= 0 && !slices.Contains(header, asked[at]) {
			out[i] = asked[at]
		}
	}
	return out
}

// checkHeader refuses an answer that lacks a column that was asked for, and returns the columns
// that it has besides. Readable names can't be checked: the service chooses them.
func checkHeader(header []string, q adjust.ReportQuery) (extra []string, _ error) {
	if q.ReadableNames {
		return nil, nil
	}
	asked := slices.Concat(q.Dimensions, q.Metrics)
	for _, name := range asked {
		if !slices.Contains(header, name) {
			return nil, fmt.Errorf("the answer has no column %s, which was asked for; its columns are %s", name,
				terminal.Line(strings.Join(header, ", ")))
		}
	}
	for _, name := range header {
		if !slices.Contains(asked, name) && q.PeriodOverPeriod == "" {
			extra = append(extra, name)
		}
	}
	return extra, nil
}

// withSuggestion adds similar names to the error of a metric or a dimension that the service
// doesn't know.
func withSuggestion(err error, q adjust.ReportQuery) error {
	var refused *adjust.Error
	if !errors.As(err, &refused) {
		return err
	}
	text := catalog.Suggestion(refused.Metric)
	if refused.Metric == "" && refused.AnyDays { // the refusal isn't about the days
		for _, d := range q.Dimensions {
			if _, known := catalog.Dimension(d); !known && strings.Contains(refused.Message, d) {
				if near := catalog.Nearest(d, catalog.Dimensions()); len(near) > 0 {
					text = "did you mean " + strings.Join(near, " or ") + "?"
				}
			}
		}
	}
	if text != "" {
		return fmt.Errorf("%w; %s", err, text)
	}
	return err
}
