package config

import (
	"strconv"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

const (
	defaultCodec  = "zstd"
	defaultOffset = "+00:00"
)

func newReport() *Report {
	return &Report{
		Until: "yesterday", OnEmpty: "guard", OnMissingEvent: "fail", NewColumns: "now", Codec: defaultCodec,
		Filters: map[string][]string{}, Types: map[string]catalog.Type{},
		UTCOffset: defaultOffset, Parameters: DefaultParameters(),
	}
}

// refusedParameters are parameters of the service that a job can't have, because its rows would not be partitions.
var refusedParameters = map[string]string{
	"hour__between":      "jobs refuse it, because a partition is a whole period; it is for the report command",
	"period_over_period": "jobs refuse it, because it puts two periods into one row; it is for the report command",
	"index":              "jobs refuse it; it is for the report command",
	"readable_names":     "jobs refuse it, because columns are named by slug; it is for the report command",
	"format_dates":       "jobs refuse it, because dates are stored as dates; it is for the report command",
	"sort":               "jobs sort by date; it is for the report command",
	"date_period":        "jobs make it from start, until and page",
}

// reportKeys are the keys of kind report.
func reportKeys(j *Job) object {
	r, p := newReport(), &parts{lookback: lookback{auto: true}}
	j.Report = r
	return object{
		refused: refusedParameters,
		check:   func(d *decoder, n ast.Node, at map[string]ast.Node) { d.checkReport(j, n, at, p) },
		rules:   reportRules,
		fields: append([]field{
			required("start", start, &r.Start, "First day wanted: a date such as 2026-01-31, or days before today such as -30d."),
			optional("until", oneOf("yesterday", "today"), &r.Until, "Last day wanted. Today's numbers are unfinished, and fetched again."),
			optional("lookback", lookbackShape, &p.lookback, "How long a finished period is fetched again, because the service still restates it. auto (the "+
				"default): for 7 days, 14 with a metric of network cost, then once more after each cohort period among the metrics. Or a number of days."),
			optional("page", page, &r.Page, "Length of what one request asks for: 7d, 4w, 1m, 1q or 1y, in the unit of the finest date dimension."),
			optional("on_empty", oneOf("guard", "clear", "keep"), &r.OnEmpty, "A period that had rows and has none now: guard fails it, clear empties it, keep keeps the old rows."),
			optional("on_missing_event", oneOf("fail", "null"), &r.OnMissingEvent, "An event that is gone: fail the job, or null for columns of NULLs."),
			optional("new_columns", oneOf("now", "later"), &r.NewColumns, "Partitions from before a metric was added: fetched again now, by the next run, or later, by backfill --missing-columns."),
			required("dimensions", list(dimension), &p.dimensions, "What rows are grouped by. The finest date among them is the table's period; without a date the table "+
				"is one partition."),
			optional("metrics", list(metric), &p.metrics, "Slugs of metrics, such as installs or retention_rate_d7."),
			optional("events", events(&p.events), &r.Events, "Metrics of in-app events, found in the account by slug, name, token, section or pattern."),
			optional("filters", filters(&p.filtered), &r.Filters, "Rows wanted: <dimension>__in and other operators, and <metric>__gt and other comparisons."),
			optional("types", types(&p.types), &r.Types, "Types of columns, in place of the catalogue's, and of metrics that it doesn't know."),
			optional("codec", codec, &r.Codec, "Compression of the files."),
			optional("utc_offset", utcOffset, &r.UTCOffset, "Where the report's days begin and end, the same all year: -12:00 to +14:00. Or timezone_id."),
			optional("timezone_id", timezoneID, &r.TimezoneID, "Where the report's days begin and end, with summer time: an IANA name, or the service's number of a zone "+
				"together with zone. Or utc_offset."),
			required("currency", currency, &r.Currency, "Currency of money, as a three-letter code such as USD."),
		}, parameterFields(r.Parameters)...),
	}
}

// reportRules is what a schema can say of the rules across keys.
func reportRules(s *jsonschema.Schema) {
	s.AnyOf = []*jsonschema.Schema{{Required: []string{"metrics"}}, {Required: []string{"events"}}}
	s.Not = &jsonschema.Schema{Required: []string{"utc_offset", "timezone_id"}}
}

var codec = oneOf(defaultCodec, "snappy", "none")

// value is one value of a list that goes to the service joined by commas, for which it has no escape.
var value = checked(word, func(d *decoder, n ast.Node, key, s string) bool {
	if strings.Contains(s, ",") {
		d.fail(n, "%s: %q holds a comma, which the service takes for the end of a value", key, s)
	}
	return !strings.Contains(s, ",")
})

var startPattern = expr(`^(-[0-9]{1,4}d|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))$`)

// The service began in 2012; an earlier start is a slip that would make the plan thousands of empty windows long.
var earliestStart = civil.Date{Year: 2010, Month: 1, Day: 1}

const noDay = "is no day; want a date such as 2026-01-31, or days before today such as -30d"

var start = func() shape[Start] {
	form := matching(startPattern, noDay)
	return shape[Start]{func(d *decoder, n ast.Node, key string) (Start, bool) {
		s, ok := form.read(d, n, key)
		if !ok {
			return Start{}, false
		}
		if days, ok := strings.CutPrefix(s, "-"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(days, "d")) // four digits at most
			return Start{DaysAgo: n}, true
		}
		date, err := civil.ParseDate(s)
		switch {
		case err != nil: // such as 30 February
			d.fail(n, "%s: %q %s", key, s, noDay)
		case date.Before(earliestStart):
			d.fail(n, "%s: %s is before %s", key, s, earliestStart)
		default:
			return Start{Date: date}, true
		}
		return Start{}, false
	}, form.schema}
}()

var (
	offsetPattern   = expr(`^(-(0[0-9]|1[0-2])|\+(0[0-9]|1[0-4])):(00|15|30|45)$`)
	utcOffset       = matching(offsetPattern, "is no offset; want one from -12:00 to +14:00, such as +02:00")
	currencyPattern = expr(`^[A-Z]{3}$`)
	currency        = matching(currencyPattern, "is no currency code; want three capital letters, such as USD")
)
