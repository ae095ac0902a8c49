package kinds

import (
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// Report is what a job of kind report asks the service for.
type Report struct {
	Start Start  // first day wanted
	Until string // last day wanted: yesterday or today
	// Length of a partition: day (for a report by hour, too), week, month, quarter, year, or whole
	// without a date dimension.
	Period   string
	Lookback int // days before today that are fetched again while late data may still change them
	// Ages in days, ascending, and above Lookback unless Probe is set. A partition is fetched once
	// more when it is older than each of them.
	Horizons       []int
	Page           Page     // length of a window; zero when Period is whole
	OnEmpty        string   // what happens when a period's rows are gone: guard, clear or keep
	BadText        string   // what happens to a text that no table holds: replace or fail
	Guard          Share    // an answer that takes away a larger share of the rows or of a metric is held back
	OnMissingEvent string   // what happens when an event is gone: fail or null
	NewColumns     string   // when older partitions get a new metric: now or later
	Contract       string   // whether columns may change: evolve or freeze
	Drop           []string // columns that are taken out of every partition
	Probe          bool     // inside Lookback, partitions whose totals haven't moved aren't fetched
	Reconcile      Reconcile
	FinalAfter     int // days after its end from which a partition is final; -1: as the catalogue says
	Drift          Drift
	Raw            Raw

	Dimensions []string
	Metrics    []string
	Events     []EventSelector
	Filters    map[string][]string // parameter, such as app_token__in or installs__gt -> values
	Rename     map[string]string   // dimension or metric -> its column's name
	// Column, by the service's name -> String, Int64, Decimal or Double: as configured, or as
	// guessed for a metric that the catalogue lacks.
	Types map[string]catalog.Type
	Codec string // zstd, snappy or none
	Extra Extra  // columns about the fetch

	UTCOffset  string              // such as +02:00; empty with TimezoneID
	AppScope   string              // how all apps are asked for: account or listed
	TimezoneID string              // the service's number of a zone, or an IANA name; Job.Zone is then its IANA name
	Currency   string              // three capital letters
	Parameters map[string][]string // name of a Parameter -> its values; every declared one is there
}

// Extra says which columns a table has besides those that the service is asked for.
type Extra struct {
	LoadedAt bool // _loaded_at: when the fetch of the rows began
	Run      bool // _run: the run that fetched them
}

// parts are those values of a report that are checked across keys, with their places in the file.
// The fields without a comment have all values of the key of that name.
type parts struct {
	dimensions, metrics, types []strict.Item
	filtered                   []strict.Item // metrics that a filter compares
	filteredDimensions         []strict.Item // dimensions that a filter names and the catalogue lacks
	events                     []strict.Node
	renamed                    []strict.Entry // of the key rename
	lookback                   lookback
}

// refusedParameters are parameters of the service that a job can't have, because its rows wouldn't
// fit its partitions.
var refusedParameters = map[string]string{
	"hour__between":      "jobs refuse it, because a partition is a whole period; it is for the report command",
	"period_over_period": "jobs refuse it, because it puts two periods into one row; it is for the report command",
	"index":              "jobs refuse it; it is for the report command",
	"readable_names":     "jobs refuse it, because columns are named by slug; it is for the report command",
	"format_dates":       "jobs refuse it, because dates are stored as dates; it is for the report command",
	"sort":               "jobs sort by date; it is for the report command",
	"date_period":        "jobs make it from start, until and page",
}

// reportKeys returns the keys of kind report. Parameters that are sent to the service as they are
// have their declarations in parameter.go.
func reportKeys(j *Settings) strict.Object {
	r := &Report{
		Until: "yesterday", OnEmpty: "guard", BadText: "replace", Guard: 0.5, OnMissingEvent: "fail", NewColumns: "now",
		Contract: "evolve", Codec: "zstd", UTCOffset: "+00:00", AppScope: "account",
		Reconcile: usualReconcile, FinalAfter: -1, Drift: Drift{Days: watchedDays},
		Filters: map[string][]string{}, Types: map[string]catalog.Type{}, Parameters: DefaultParameters(),
	}
	j.Report = r
	p := &parts{lookback: lookback{auto: true}}
	return strict.Object{
		Refused: ReportRefused(),
		Unknown: ColumnKey,
		Check: func(d *strict.Decoder, n strict.Node, at map[string]strict.Node) {
			checkReport(d, j, n, at, p)
		},
		Rules: func(s *jsonschema.Schema) {
			s.AnyOf = []*jsonschema.Schema{{Required: []string{"metrics"}}, {Required: []string{"events"}}}
			s.Not = &jsonschema.Schema{Required: []string{"utc_offset", "timezone_id"}}
		},
		Fields: append([]strict.Field{
			strict.Required("start", start, &r.Start, "2026-01-31", "First day wanted."),
			strict.Optional("until", until, &r.Until, "today",
				"Last day wanted. today, whose numbers are unfinished, is fetched again by each run. With "+
					"yesterday, the current week, month, quarter or year isn't there until it is over."),
			strict.Optional("lookback", lookbackShape, &p.lookback, "14",
				"How many days a finished period is fetched again, because the service still restates it. auto "+
					"means 7 days, or 14 with a metric of network cost, and then once more when a cohort metric is "+
					"whole, and when it is final. probe means the same, but asks for the totals first, and leaves "+
					"periods whose totals haven't moved until the last of those days.").Noting(
				func() string { return p.lookback.means(r) }),
			strict.Optional("reconcile", reconcile, &r.Reconcile, "{then: fail, cohorts: 5%}",
				"What happens when the rows of a partition don't add up to the service's own totals: warn, fail or "+
					"off, as under then; or then and cohorts."),
			shape.DaysField("final_after", &r.FinalAfter, "30d",
				"Days after its end from which a partition counts as final. A fetch at that age makes it so. By "+
					"default the catalogue says it for each column: 7 days, or 14 of network cost, after the "+
					"period, or after the period of a cohort metric."),
			strict.Optional("drift", drift, &r.Drift, "180d",
				"Days of final partitions that each run compares with the service's totals of today, in turn; those "+
					"that moved are fetched again. warn compares 90d and leaves the rows, and off compares none."),
			strict.Optional("page", page, &r.Page, "7d",
				"Length of what one request asks for, in the unit of the finest date dimension. The default is 7d, "+
					"4w, 1m, 1q or 1y."),
			strict.Optional("on_empty", strict.OneOf("guard", "clear", "keep"), &r.OnEmpty, "keep",
				"What happens to a period that had rows and has none now. guard fails it and leaves the old rows, "+
					"clear empties it, and keep keeps the old rows and goes on."),
			strict.Optional("bad_text", strict.OneOf("replace", "fail"), &r.BadText, "fail",
				"What happens to a text that no table can hold. replace puts U+FFFD in the place of bytes that "+
					"aren't UTF-8, leaves out the character U+0000 where a sink is a Postgres, and the run says how "+
					"many cells of which column it altered, and the first. fail keeps a period with such a text "+
					"out, and its old rows stay."),
			strict.Optional("guard", share, &r.Guard, "80%",
				"How much of a period's rows, or of one of its metrics, an answer may take away. One that takes "+
					"more, and at least 20 rows or 100 units, is held back: the old rows stay, and the service is "+
					"asked again. When answers on three days agree, the last of them is published; accept publishes "+
					"one before that. Of final periods that the service changes all the same it is at most 10%; "+
					"100% holds nothing back."),
			strict.Optional("on_missing_event", strict.OneOf("fail", "null"), &r.OnMissingEvent, "'null'",
				"What happens when an event is gone from the account. fail fails the job, and null fills the "+
					"event's columns with NULL in new periods; those that have values of it stay."),
			strict.Optional("new_columns", strict.OneOf("now", "later"), &r.NewColumns, "later",
				"When partitions from before a metric was added get its column. now lets the next run fetch them "+
					"again; later leaves them to backfill --missing-columns."),
			strict.Optional("contract", strict.OneOf("evolve", "freeze"), &r.Contract, "freeze",
				"Whether the table may get other columns than its newest partition has. evolve lets it follow the "+
					"config and new events, and leaves out and reports a column that wasn't asked for. freeze "+
					"fails the job before anything is published when a column is new, gone, of another type or "+
					"wasn't asked for, by the config or the service, or when an event is gone, whatever "+
					"on_missing_event says."),
			strict.Optional("drop", strict.TextsOf(shape.ColumnName), &r.Drop, "[cost]",
				"Columns to take out of every partition; a metric that is only taken out of metrics stays in those "+
					"that have it. The next run rewrites the partitions that have one of these columns, from the "+
					"files of a bucket or an Iceberg table, or from raw answers; where there are neither, it "+
					"fetches them."),
			strict.Required("dimensions", strict.Items(dimension), &p.dimensions, "[day, app, network]",
				"What rows are grouped by. The finest date among the dimensions is the period of a partition; "+
					"without a date the table is one partition. A week runs from Sunday to Saturday."),
			strict.Optional("metrics", strict.Items(metric), &p.metrics, "[installs, retention_rate_d7]",
				"Slugs of metrics, as the service has them. A column has the slug as its name, with an underscore "+
					"in the place of blanks and other signs, Latin letters without accents, and other letters as "+
					"code points. A report needs metrics, events or both."),
			strict.Optional("events", selectors(p), &r.Events, "",
				"Metrics of in-app events, which are found in the account by slug, name, token, section or pattern."),
			strict.Optional("filters", filters(p), &r.Filters, "{app_token__in: [abc123def456], installs__gt: 10}",
				"Rows wanted. A key is a dimension or a metric, two underscores and an operator. "+
					"A dimension's operators are `"+strings.Join(dimensionOperators,
					"`, `")+"`; a metric's are `"+strings.Join(metricOperators, "`, `")+"`."),
			strict.Optional("app_scope", strict.OneOf("account", "listed"), &r.AppScope, "listed",
				"How the service is asked for rows of all apps. account sends no list of them. listed sends the "+
					"apps that the service lists, new ones too, where it leaves something out without a list. "+
					"Totals are asked for both ways, so that what one of them hides shows as a difference. check "+
					"--live and the first run compare a day of both, and say which to choose."),
			strict.Optional("types", types(&p.types), &r.Types, "{my_metric: decimal}",
				"Types of columns, in place of the catalogue's, or for metrics that it doesn't know."),
			strict.Optional("columns", extra, &r.Extra, "{loaded_at: true, run: true}",
				"Columns that say where rows come from. They aren't part of a partition's content: rows that come "+
					"back the same keep what they have."),
			strict.Optional("rename", newNames(&p.renamed), &r.Rename, "{network_cost: spend}",
				"Names of columns, by the dimension or metric as the job lists it. The service is asked by its own "+
					"name, which filters and types keep; drop, cluster_by and indexes have the column's. Of a "+
					"metric that the table has already, the next run rewrites the older partitions, as with drop; a "+
					"dimension's name changes by run --rebaseline. Columns of events are named by as."),
			strict.Optional("codec", shape.Codec, &r.Codec, "snappy", "Compression of the files."),
			strict.Optional("utc_offset", utcOffset, &r.UTCOffset, "'+02:00'",
				"Where the report's days begin and end, the same all year. It excludes timezone_id."),
			strict.Optional("timezone_id", timezoneID, &r.TimezoneID, "Europe/Berlin",
				"Where the report's days begin and end, with daylight saving time. A name is worked out: the "+
					"service gets the utc_offset of the days asked for. A number is the service's own, is sent, and "+
					"needs zone beside it. It excludes utc_offset."),
			strict.Required("currency", currency, &r.Currency, "EUR",
				"Currency of money, into which the service converts. "+ownCurrencies).Because(
				"name one such as USD: " + strings.ToLower(ownCurrencies[:1]) + strings.TrimSuffix(ownCurrencies[1:],
					".")),
		}, append(RawFields(&r.Raw,
			"URL of the bucket that keeps this job's answers, in place of that for all jobs. Of a job that has it, "+
				"raw_keep and raw_required of the file don't hold."), parameterFields(r.Parameters)...)...),
	}
}

// ownCurrencies is why a report needs a currency.
const ownCurrencies = "Without one the service gives each app's money in the app's own currency, so that amounts of " +
	"several apps can't be added."

// checkReport makes the checks that need more than one key, and the defaults that follow from
// another key.
func checkReport(d *strict.Decoder, j *Settings, job strict.Node, at map[string]strict.Node, p *parts) {
	r := j.Report
	r.Dimensions, r.Metrics = strict.Texts(p.dimensions), strict.Texts(p.metrics)
	if len(p.dimensions) > 0 {
		checkPeriod(d, r, at)
	}
	checkTimezone(d, j, at)
	if r.AppScope == "listed" && len(r.Filters["app_token__in"]) > 0 {
		d.Fail(at["app_scope"], "app_scope: the filter app_token__in names the apps already; leave out one of the two")
	}
	if at["metrics"] == nil && at["events"] == nil {
		d.Fail(job, "a job: want at least one metric, under metrics or events")
	}
	checkDimensions(d, r, p)
	checkMetrics(d, r, p)
	checkColumns(d, r, p, at)
	checkLookback(d, r, p, at["final_after"])
}

// extra reads the block columns of a report.
var extra = strict.ObjectOf(func(e *Extra) strict.Object {
	return strict.Object{What: "columns", Fields: []strict.Field{
		strict.Optional("loaded_at", strict.Bool, &e.LoadedAt, "true",
			"Whether the table has a column `_loaded_at`: the moment at which the fetch of these rows began, in UTC."),
		strict.Optional("run", strict.Bool, &e.Run, "true",
			"Whether the table has a column `_run`: the ID of the run that fetched these rows, as `reportferry "+
				"runs` shows it."),
	}}
})

var (
	currency  = strict.Matching(strict.Expr(`^[A-Z]{3}$`), "a currency code of three capital letters such as USD")
	utcOffset = strict.Matching(strict.Expr(`^(-(0[0-9]|1[0-2])|\+(0[0-9]|1[0-4])):(00|15|30|45)$`),
		"an offset from -12:00 to +14:00 such as +02:00")
)
