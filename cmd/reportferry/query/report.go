// Package query has the commands that ask the service once and print its answer: report and events. Without it, a person
// would need another program to look at a number before a job is written for it. Nothing here reads or writes the ledger.
package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/terminal"
)

// Report makes the command report.
func Report(p *wire.Program) *cobra.Command {
	r := &adHoc{}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Ask the service for one report, with any of its parameters",
		Long: `Ask the service for one report, with any of its parameters, and print it or
write it to a file. Nothing goes through the ledger. The defaults are those of
jobs, and are sent. Control characters in names are escaped in tables, JSON and
on a terminal; a file of CSV or Parquet, or a pipe, gets them as they are.

It needs no job, and no config: without one it asks --base-url, with the token
that the variable of --token-env holds.

A filter is a dimension or metric, two underscores, and an operator:
  dimensions  in, not_in, contains, exclude, starts_with, not_starts_with,
              ends_with, not_ends_with
  metrics     lt, lte, gt, gte, eq, ne`,
		Example: `  ADJUST_TOKEN=... reportferry report --dimensions day,network \
      --metrics installs,cost --currency USD
  reportferry report --dimensions day,network --metrics installs,cost \
      --date-period 2026-01-01:2026-01-31 --currency EUR \
      --filter app_token__in=abc123 --filter installs__gt=10 -o january.parquet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd, p) },
	}
	r.addFlags(cmd)
	p.AddService(cmd)
	return cmd
}

// adHoc holds the flags of the command report.
type adHoc struct {
	query   adjust.ReportQuery
	filters []string
	format  string
	output  string
}

// addFlags adds the flags in the order of the service's document.
func (r *adHoc) addFlags(cmd *cobra.Command) {
	q, fs := &r.query, cmd.Flags()
	fs.SortFlags = false
	list := func(to *[]string, name string, preset []string, usage string) {
		fs.StringSliceVar(to, name, preset, usage)
	}
	list(&q.Dimensions, "dimensions", nil, "what rows are grouped by: `a,b`")
	list(&q.Metrics, "metrics", nil, "what is counted: `a,b`")
	fs.StringVar(&q.DatePeriod, "date-period", "-7d:-1d", "both ends included: `FROM:TO` as dates or -7d, or today, yesterday, this_week, last_week, ...")
	fs.StringArrayVar(&r.filters, "filter", nil, "`d__op=value`, repeatable; see above")
	fs.StringVar(&q.Currency, "currency", "", "of money, such as `USD`; default: the account's")
	fs.StringVar(&q.UTCOffset, "utc-offset", "+00:00", "where days begin: `+HH:MM`")
	fs.StringVar(&q.TimezoneID, "timezone-id", "", "instead of --utc-offset: the service's `ID` of a zone")
	fs.StringVar(&q.HourBetween, "hour-between", "", "hours relative to now, such as `-10h:-0h`")
	q.Parameters = config.DefaultParameters()
	for _, p := range config.Parameters() {
		f := fs.VarPF(&parameterFlag{Parameter: p, values: q.Parameters}, strings.ReplaceAll(p.Name, "_", "-"), "", p.Usage())
		if p.Flag {
			f.NoOptDefVal = "true"
		}
	}
	list(&q.Sort, "sort", nil, "order of the rows: `a,-b`; default: dates first")
	list(&q.Index, "index", nil, "dimensions that come first in the order: `a,b`")
	fs.StringVar(&q.PeriodOverPeriod, "period-over-period", "", "compare with this `period`, such as previous_week")
	fs.BoolVar(&q.ReadableNames, "readable-names", false, "head columns by names for people")
	fs.BoolVar(&q.FormatDates, "format-dates", false, "dates as the service formats them for people")
	fs.StringVar(&r.format, "format", "", "csv, table, jsonl or parquet; default: by the file's ending, a table on a terminal, else csv")
	fs.StringVarP(&r.output, "output", "o", "", "`file`, whole or not there; default: standard output")
}

// A parameterFlag sets one of the parameters that the config declares. The first use of a list replaces its default.
type parameterFlag struct {
	config.Parameter
	values map[string][]string
	set    bool
}

func (f *parameterFlag) String() string { return strings.Join(f.values[f.Name], ",") }

// Set takes any text: this command leaves it to the service to refuse one.
func (f *parameterFlag) Set(text string) error {
	switch {
	case f.Flag:
		on, err := strconv.ParseBool(text)
		f.values[f.Name] = []string{strconv.FormatBool(on)}
		return err
	case f.List && f.set:
		f.values[f.Name] = append(f.values[f.Name], strings.Split(text, ",")...)
	case f.List:
		f.values[f.Name] = strings.Split(text, ",")
	default:
		f.values[f.Name] = []string{text}
	}
	f.set = true
	return nil
}

// Type is what help shows as the kind of the value.
func (f *parameterFlag) Type() string {
	switch {
	case f.Flag:
		return "bool"
	case f.List:
		return "a,b"
	}
	return "string"
}

// run fetches the answer into the spool folder and writes it from there.
func (r *adHoc) run(cmd *cobra.Command, p *wire.Program) error {
	if err := r.complete(cmd); err != nil {
		return err
	}
	return p.Asking(cmd, func(ctx context.Context, s *wire.Session) error {
		if err := s.OpenSpool(); err != nil {
			return err
		}
		a, err := fetchAnswer(ctx, s.Client, r.query, s.Spool)
		if err != nil {
			return withNear(err, r.query)
		}
		if a.path == "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "reportferry: the report has no rows")
		}
		out := cmd.OutOrStdout()
		if r.format == "csv" || r.format == "parquet" { // escapes would change the data
			out = terminal.Data(out)
		}
		return a.writeTo(ctx, r.format, r.output, out)
	})
}

// complete checks the flags, and sets those that weren't given.
func (r *adHoc) complete(cmd *cobra.Command) error {
	if len(r.query.Dimensions) == 0 || len(r.query.Metrics) == 0 {
		return errors.New("--dimensions and --metrics: at least one of each; `reportferry report --help` shows an example")
	}
	if r.query.TimezoneID != "" {
		if cmd.Flags().Changed("utc-offset") {
			return errors.New("--timezone-id and --utc-offset exclude each other")
		}
		r.query.UTCOffset = ""
	}
	r.query.Filters = map[string][]string{}
	for _, text := range r.filters {
		name, value, found := strings.Cut(text, "=")
		if !found || value == "" {
			return fmt.Errorf("--filter %q: want a name, = and a value, such as country_code__in=US,DE", text)
		}
		at := strings.LastIndex(name, "__")
		if at < 1 || !slices.Contains(adjust.Operators, name[at+2:]) {
			return fmt.Errorf("--filter %q: want a name, two underscores and one of %s", text, strings.Join(adjust.Operators, ", "))
		}
		if _, twice := r.query.Filters[name]; twice {
			return fmt.Errorf("--filter %s is given twice; a list goes into one: %s=a,b", name, name)
		}
		r.query.Filters[name] = []string{value}
		if strings.HasSuffix(name, "__in") || strings.HasSuffix(name, "__not_in") {
			r.query.Filters[name] = strings.Split(value, ",")
		}
	}
	if r.format == "" {
		r.format = defaultFormat(r.output, cmd.OutOrStdout())
	}
	if r.format == "" {
		return fmt.Errorf("--output %s: its ending names no format; add --format csv, table, jsonl or parquet", r.output)
	}
	if info, err := os.Stat(r.output); err == nil && info.IsDir() {
		return fmt.Errorf("--output %s: this is a folder; want the name of a file", r.output)
	}
	if _, known := formats[r.format]; !known {
		return fmt.Errorf("--format %q: want csv, table, jsonl or parquet", r.format)
	}
	if r.format == "parquet" && r.query.ReadableNames {
		return errors.New("--readable-names: Parquet columns are named by slug; leave it out, or take another --format")
	}
	if r.format == "parquet" && r.query.FormatDates {
		return errors.New("--format-dates: Parquet columns hold dates, not texts for people; leave it out, or take another --format")
	}
	return nil
}

// defaultFormat goes by the ending of the file's name, and is empty for an unknown one. Without a file, a terminal gets a table.
func defaultFormat(path string, stdout io.Writer) string {
	if path != "" {
		ending := strings.TrimPrefix(filepath.Ext(path), ".")
		if formats[ending] == nil {
			return ""
		}
		return ending
	}
	if terminal.Is(stdout) {
		return "table"
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
	if !q.ReadableNames { // those are the service's choice
		a.header = asAsked(a.header, slices.Concat(q.Dimensions, q.Metrics))
	}
	return a, checkHeader(a.header, q)
}

// asAsked writes the columns of a header as they were asked for, where only their case differs.
func asAsked(header, asked []string) []string {
	out := slices.Clone(header)
	for i, name := range out {
		at := slices.IndexFunc(asked, func(want string) bool { return strings.EqualFold(want, name) })
		if at >= 0 && !slices.Contains(header, asked[at]) {
			out[i] = asked[at]
		}
	}
	return out
}

// checkHeader refuses an answer that lacks a column that was asked for, or has another one. Readable names can't be checked:
// the service chooses them.
func checkHeader(header []string, q adjust.ReportQuery) error {
	if q.ReadableNames {
		return nil
	}
	asked := slices.Concat(q.Dimensions, q.Metrics)
	for _, name := range asked {
		if !slices.Contains(header, name) {
			return fmt.Errorf("the answer has no column %s, which was asked for; its columns are %s", name, terminal.Line(strings.Join(header, ", ")))
		}
	}
	for _, name := range header {
		if !slices.Contains(asked, name) && q.PeriodOverPeriod == "" {
			return fmt.Errorf("the answer has a column %s that wasn't asked for", terminal.Line(name))
		}
	}
	return nil
}

// withNear adds similar names to the error of a metric or a dimension that the service doesn't know.
func withNear(err error, q adjust.ReportQuery) error {
	var refused *adjust.Error
	if !errors.As(err, &refused) {
		return err
	}
	name, names := refused.Metric, catalog.Metrics()
	if name == "" && refused.AnyDays { // it isn't about the days
		for _, d := range q.Dimensions {
			if _, known := catalog.Dimension(d); !known && strings.Contains(refused.Message, d) {
				name, names = d, catalog.Dimensions()
			}
		}
	}
	if near := catalog.Nearest(name, names); name != "" && len(near) > 0 {
		return fmt.Errorf("%w; near %s: %s", err, name, strings.Join(near, ", "))
	}
	return err
}
