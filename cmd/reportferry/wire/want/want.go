// Package want has the flags that say which numbers of the service are wanted. The command report
// prints these numbers, and run --to keeps them as a table. Without it, a parameter could have a
// flag in one of the two and mean nothing to the other.
//
//	--dimensions, --metrics, ... ── Report ──┬── adjust.ReportQuery     report
//	--to, --name, --start        ── Table  ──┴── draft.Config ── YAML   run --to, --print-config
package want

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/lazy"
)

// Filters says how --filter is written, for the help of a command.
const Filters = `A filter is a dimension or metric, two underscores, and an operator:
  dimensions  in, not_in, contains, exclude, starts_with, not_starts_with,
              ends_with, not_ends_with
  metrics     lt, lte, gt, gte, eq, ne`

// A Report holds the flags that a report and a table have in common. Complete makes a query of
// them.
type Report struct {
	Query   adjust.ReportQuery
	filters []string // values of --filter, as they were given
	drop    []string // columns to leave out; only a Table sets it
}

// AddFlags adds the flags of a Report, in the order of the service's document.
func (r *Report) AddFlags(fs *pflag.FlagSet) {
	q := &r.Query
	fs.StringSliceVar(&q.Dimensions, "dimensions", nil,
		"what rows are grouped by: `a,b`; weeks run from Sunday to Saturday")
	fs.StringSliceVar(&q.Metrics, "metrics", nil, "what is counted: `a,b`")
	fs.StringArrayVar(&r.filters, "filter", nil, "`d__op=value`, repeatable; see above")
	fs.StringVar(&q.Currency, "currency", "",
		"of money, such as `USD`; a table needs it, a report has the account's without")
	AddZone(fs, &q.UTCOffset, &q.TimezoneID)
	q.Parameters = kinds.DefaultParameters()
	for _, p := range kinds.Parameters() {
		f := fs.VarPF(&parameterFlag{Parameter: p, values: q.Parameters}, strings.ReplaceAll(p.Name, "_", "-"), "",
			p.Usage())
		if p.Flag {
			f.NoOptDefVal = "true"
		}
	}
}

// AddZone adds the flags that say where days begin and end.
func AddZone(fs *pflag.FlagSet, utcOffset, timezoneID *string) {
	fs.StringVar(utcOffset, "utc-offset", "+00:00", "where days begin: `+HH:MM`, the same all year")
	fs.StringVar(timezoneID, "timezone-id", "",
		"instead of --utc-offset: a `zone` such as Europe/Berlin, or the service's number of one")
}

// Complete checks the flags, and parses the filters into Query. command is the name of the command,
// for the advice to ask for its help.
func (r *Report) Complete(fs *pflag.FlagSet, command string) error {
	q := &r.Query
	switch {
	case len(q.Dimensions) == 0 && len(q.Metrics) == 0:
		return fmt.Errorf("--dimensions and --metrics: at least one of each; `%s --help` shows an example", command)
	case len(q.Dimensions) == 0:
		return fmt.Errorf("--dimensions: at least one, such as day; `%s --help` shows an example", command)
	case len(q.Metrics) == 0:
		return fmt.Errorf("--metrics: at least one, such as installs; `%s --help` shows an example", command)
	}
	if q.TimezoneID != "" {
		if fs.Changed("utc-offset") {
			return errors.New("--timezone-id and --utc-offset exclude each other")
		}
		q.UTCOffset = ""
	}
	q.Filters = map[string][]string{}
	for _, text := range r.filters {
		name, value, found := strings.Cut(text, "=")
		if !found || value == "" {
			return fmt.Errorf("--filter %q: want a name, = and a value, such as country_code__in=US,DE", text)
		}
		at := strings.LastIndex(name, "__")
		if at < 1 || !slices.Contains(adjust.Operators, name[at+2:]) {
			return fmt.Errorf("--filter %q: want a name, two underscores and one of %s", text,
				strings.Join(adjust.Operators, ", "))
		}
		if _, twice := q.Filters[name]; twice {
			return fmt.Errorf("--filter %s is given twice; a list goes into one: %s=a,b", name, name)
		}
		if held := quotedComma().FindStringSubmatch(value); held != nil {
			return fmt.Errorf("--filter %s: %s holds a comma, which the service takes for the end of a value", name,
				held[1])
		}
		q.Filters[name] = []string{value}
		if strings.HasSuffix(name, "__in") || strings.HasSuffix(name, "__not_in") {
			q.Filters[name] = strings.Split(value, ",")
		}
	}
	return nil
}

// quotedComma finds a value of a list that is in quotes because it holds a comma. The service has
// no escape for a comma: it would take the value for two, which match nothing.
var quotedComma = lazy.Regexp(`(?:^|,)("[^",]*,[^"]*")(?:,|$)`)

// A parameterFlag sets one of the parameters that the config declares. The first use of a list
// replaces its default.
type parameterFlag struct {
	kinds.Parameter
	values map[string][]string // of all parameters, by name
	given  bool                // the flag was given before
}

// String implements pflag.Value. It returns the parameter's values.
func (f *parameterFlag) String() string { return strings.Join(f.values[f.Name], ",") }

// Set takes nearly any text, because a wrong one is refused later: by the service for a report, by
// the config for a table.
func (f *parameterFlag) Set(text string) error {
	if held := quotedComma().FindStringSubmatch(text); held != nil && f.List {
		return fmt.Errorf("%s holds a comma, which the service takes for the end of a value", held[1])
	}
	switch {
	case f.Flag:
		on, err := strconv.ParseBool(text)
		f.values[f.Name] = []string{strconv.FormatBool(on)}
		return err
	case f.List && f.given:
		f.values[f.Name] = append(f.values[f.Name], strings.Split(text, ",")...)
	case f.List:
		f.values[f.Name] = strings.Split(text, ",")
	default:
		f.values[f.Name] = []string{text}
	}
	f.given = true
	return nil
}

// Type returns what help shows as the kind of the value.
func (f *parameterFlag) Type() string {
	switch {
	case f.Flag:
		return "bool"
	case f.List:
		return "a,b"
	}
	return "string"
}
