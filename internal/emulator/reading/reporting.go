package reading

// The topics of reports and events.
const (
	UnknownParameters = "unknown-parameters"
	UnknownApps       = "unknown-apps"
	ListOfApps        = "list-of-apps"
	AppWithoutData    = "app-without-data"
	FormatDates       = "format-dates"
	WeekStart         = "week-start"
	ZoneNames         = "zone-names"
	ReportEmpty       = "report-empty"
	ReportType        = "report-type"
	Coding            = "coding"
	ReportForm        = "report-form"
	ReportHeader      = "report-header"
	MoreColumns       = "more-columns"
	CutTexts          = "cut-texts"
	ReportNumbers     = "report-numbers"
	NoNumber          = "no-number"
	NoValue           = "no-value"
	CountryCode       = "country-code"
	CohortDrift       = "cohort-drift"
	EventsEmpty       = "events-empty"
	EventsForm        = "events-form"
	EventsUnderApps   = "events-under-apps"
	EventSlugs        = "event-slugs"
)

// Sentences of the interface document that leave several topics open.
const (
	csvSentence    = "Returns filtered, aggregated data as CSV: a header row, then one row per group."
	columnSentence = "Columns are the requested dimensions and metrics, headed by slug, or by human-readable name " +
		"when readable_names=true."
)

// reporting has the topics above with their readings.
var reporting = []Topic{
	{UnknownParameters, "400 malformed request or unsupported parameters", []Reading{
		{"ignore", "ignores parameters that the document doesn't have, but for filters of its dimensions and metrics"},
		{"refuse", "answers 400 to a parameter that the document doesn't have"},
	}},
	{UnknownApps, "Dimension filters (for any dimension <d>, value is a string; matching is case-insensitive)",
		[]Reading{
			{"400", "answers 400 when no app is of those that a filter lists"},
			{"none", "answers that there are no rows when no app is of those that a filter lists"},
		}},
	{ListOfApps, "Dimension filters (for any dimension <d>, value is a string; matching is case-insensitive)",
		[]Reading{
			{"free", "says the same without app_token__in as with all apps in it"},
			{"needed", "leaves the rows of newer trackers out without app_token__in"},
		}},
	{AppWithoutData, "Dimension filters (for any dimension <d>, value is a string; matching is case-insensitive)",
		[]Reading{
			{"none", "lists no app but those that it has data of"},
			{"empty", "lists one app more, 0app0no0data, and has no rows of it"},
			{"400", "lists one app more, 0app0no0data, and answers 400 to a list of apps that has it, naming it"},
			{"403", "lists one app more, 0app0no0data, and answers 403 to a list of apps that has it, naming it"},
		}},
	{FormatDates, "when false, date dimensions are in ISO format", []Reading{
		{"iso", "writes dates in ISO format under format_dates=true too"},
		{"written", `writes dates under format_dates=true as "Mar 14, 2026" and "March 2026"`},
	}},
	{WeekStart, "YYYY-MM-DD - YYYY-MM-DD", []Reading{
		{"sunday", "has weeks from Sunday to Saturday, as the service's own example does"},
		{"monday", "has weeks from Monday to Sunday"},
	}},
	{ZoneNames, "timezone ID", []Reading{
		{"taken", "takes the IANA name of a zone as timezone_id, and knows daylight saving time"},
		{"ignored", "takes a timezone_id that isn't a number for a parameter that it doesn't have: days are those " +
			"of utc_offset"},
	}},
	{ReportEmpty, "204 empty result", []Reading{
		{"204", "answers 204 when a csv_report has no rows"},
		{"header", "answers 200 with the header alone when a csv_report has no rows"},
	}},
	{ReportType, csvSentence, []Reading{
		{"csv", "names the type of an answer: text/csv in UTF-8, application/json"},
		{"plain", "calls every answer text/plain"},
		{"octets", "calls every answer application/octet-stream"},
		{"none", "sends answers without a Content-Type"},
		{"json", "calls every answer application/json"},
	}},
	{Coding, csvSentence, []Reading{
		{"gzip", "packs answers by gzip for clients that accept it"},
		{"zstd", "packs answers by Zstandard for clients that accept it, else by gzip"},
		{"identity", "packs no answer"},
	}},
	{ReportForm, csvSentence, []Reading{
		{"plain", "quotes the cells that need it, and ends lines with LF"},
		{"crlf", "ends lines with CR and LF"},
		{"quoted", "quotes every cell"},
		{"mark", "begins with a byte order mark"},
		{"blank", "ends with a blank line"},
	}},
	{ReportHeader, columnSentence, []Reading{
		{"asked", "has the columns in the order of the request"},
		{"metrics-first", "has the metrics before the dimensions"},
		{"upper", "writes the slugs in capitals"},
	}},
	{ReportNumbers, "installs (number), network_cost (number)", []Reading{
		{"decimal", "writes counts as 1000, and money as 1000.0 and 0.00001"},
		{"shortest", "writes both as 1000, and small numbers as 0.00001"},
		{"float", "writes both as 1000.0, and small numbers as 1e-05"},
	}},
	{NoNumber, csvSentence, []Reading{
		{"zero", "writes 0 where nothing was counted"},
		{"empty", "leaves a cell empty where nothing was counted"},
		{"null", "writes null where nothing was counted"},
		{"nan", "writes NaN where nothing was counted"},
	}},
	{NoValue, "Complete lists of allowed values for date_period formats, cohort_maturity, attribution_types, " +
		"reattributed, iap_revenue_mode, ad_spend_mode, period_over_period, os_name and device_type: not shown.",
		[]Reading{
			{"unknown", "writes unknown for a dimension's missing value"},
			{"empty", "leaves a dimension's missing value empty"},
		}},
	{CountryCode, "2-character ISO 3166 code", []Reading{
		{"upper", "writes country codes in capitals"},
		{"lower", "writes country codes in small letters"},
	}},
	{MoreColumns, columnSentence, []Reading{
		{"none", "has the columns that were asked for"},
		{"one", "has one column more, behind those that were asked for"},
	}},
	{CutTexts, csvSentence, []Reading{
		{"whole", "writes texts in UTF-8"},
		{"cut", "ends names of campaigns with half a character, as texts do that are cut at a number of bytes"},
	}},
	{CohortDrift, csvSentence, []Reading{
		{"none", "has rows of cohort metrics that add up to a report by dates alone"},
		{"1", "has counts and amounts of cohorts that are 1 % higher in a report by dates alone than its rows add " +
			"up to"},
		{"8", "has counts and amounts of cohorts that are 8 % higher in a report by dates alone than its rows add " +
			"up to"},
	}},
	{EventsEmpty, "204 empty result", []Reading{
		{"204", "answers 204 when there are no events"},
		{"list", "answers 200 with an empty list when there are no events"},
		{"null", "answers 200 with null when there are no events"},
	}},
	{EventsForm, "Complete list of `formatting` values: not shown.", []Reading{
		{"whole", "has all fields of an event, and sections in small letters"},
		{"capitals", "writes sections and formattings with a capital letter"},
		{"null", "writes null for the texts of an event that say nothing"},
		{"absent", "leaves out the texts of an event that say nothing"},
		{"more", "has further fields"},
		{"object", `answers {"events": [...]}`},
	}},
	{EventSlugs, "the event slug", []Reading{
		{"underscores", "makes an event's slug of its name, with an underscore for each sign"},
		{"names", "takes an event's name in small letters as its slug, blanks, commas and all"},
	}},
	{EventsUnderApps, "only events of the listed apps", []Reading{
		{"narrowed", "names only the listed apps and their tokens in an event"},
		{"all", "names all apps of an event that one of the listed has"},
	}},
}
