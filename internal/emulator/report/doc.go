// Package report answers the emulated service's reporting endpoints: csv_report, report (JSON),
// pivot_report, parquet_report, events and filters_data. Without it nothing of the service's
// parameters, their defaults and their error messages could be tried without an account.
//
//	url.Values ── parse ── request (a metrics.Query) ── SQL over the facts ── rows ──┬── csv.go
//	                └── 400 with the reason                                          ├── json.go, pivot.go
//	                                                                                 └── parquet.go
//
// Each parameter is read in one place: dimensions, metrics, sort and form in params.go, ways of
// counting in modes.go, time in period.go and zones.go, filters in filters.go. Rows are handed over
// as SQLite yields them, in constant memory.
//
// # What is guessed
//
// What the interface document leaves open is decided here, always in its shapes. A client that
// depends on one of these may meet another service.
//
// # Time
//
//   - The Date of every answer is the emulator's own clock, which POST /_emulator/clock moves.
//   - Today is served whole from its first hour. What changes with the clock changes at midnight
//     UTC: cohorts mature, and network spend is restated until a day is 14 days old.
//   - The first day with data is fixed when the emulator starts; later days appear as the clock
//     moves on.
//   - timezone_id takes IANA names, unless the reading zone-names=ignored is chosen, and the
//     numbers 1 to 11; it goes before utc_offset and alone knows daylight saving time. A fact
//     belongs to the local hour in which its UTC hour begins. With the dimension hour, the hour
//     that a zone repeats in autumn gives two rows of one label, the earlier first, whatever sort
//     says of hour.
//   - hour__between keeps the UTC hours from N to M hours before the current one, both included,
//     inside date_period.
//   - period_over_period appends <metric>_pop, headed "... (Comparison)" by readable_names, after
//     the metrics: their values over a period of the same length, with its dates shown later by the
//     days between. previous_month and previous_year begin on the same day of the month, or its
//     last; -Nd and YYYY-MM-DD are its first day. A group without rows there has zeros, a group
//     with rows only there isn't shown, and metric filters, fully_mature, sort and limit look at
//     the report's own period. Equal hours of a repeated label are compared with all that have it.
//
// # The answer's form
//
//   - The lines end in LF, cells are quoted only when they must be, an empty CSV or Parquet report
//     is 204 without a body.
//   - Rows are sorted by the dimensions in the order asked for, bytewise; sort goes first, then
//     index, which has no other effect, then the other dimensions. limit cuts rows after that.
//     Dates read the same with and without format_dates, unless format-dates=written is chosen.
//   - A parameter x__op is refused when x is neither a dimension nor a metric, and when there is no
//     such op.
//   - The correlation_id of an error is made from its words: the same error has the same one. Only
//     reports have it.
//   - Quotients of seconds are whole seconds, rounded down. events isn't the sum of the single
//     events.
//
// # Access
//
//   - creative_id is a dimension beside those of the interface document, as the real service has
//     some: it is creative_id_network. channel_id, app_network and tracker_token are others, which
//     no list has.
//   - X-Account-ID other than 100001 is 403. app_token__in without any known app is 400, as
//     observed at the service.
//   - 50 requests a second from an address, whatever their tokens: reports that are asked for in
//     this process have one address.
//
// # Cohorts
//
//   - cohort_size_{p} counts installs that are at least N periods old; _total_in_cohort_{p} sums
//     over the same ones. A week is 7 days and a month 30 days after the install.
//   - {e}_{p}_events_cohort and its like are cumulative from the install, _per_period is the period
//     alone, and converted_user_size is the number of users converted until now.
//   - cohort_maturity: an install's period is mature once its last day is over in the report's
//     zone. mature takes a cohort metric's facts as 0 until then, fully_mature drops a group when
//     one of its facts isn't mature for the longest period of the report's metrics, immature
//     changes nothing.
//
// # Money
//
//   - ad_spend_mode=mixed takes network spend for each fact row that has some, else attributed
//     spend; the default is adjust.
//   - Currencies are converted fact by fact with a fixed table, truncated to micros. Every app's
//     own currency is USD.
//   - iap_revenue_mode=GROSS_n takes n percent of every amount of in-app revenue, events' included,
//     fact by fact after the conversion, truncated to micros.
//   - ad_revenue_sources takes ad revenue and ad impressions of other sources as 0, cohorts' and
//     ratios' too, and drops no row. One source brings all of a fact's. Names and the slugs of
//     metrics are accepted, in any case.
//
// # Attribution and test traffic
//
//   - attribution_types defaults to all three; attribution_type is its older form and yields to it.
//     Each keeps the facts whose users came by such an engagement, with all their metrics, and
//     always the organic ones. assisting_attribution_type has no effect.
//   - attribution_source=first shows the network, campaign, adgroup, creative, source, partner,
//     channel and ad account of another engagement of the same app; device, country, metrics and
//     the way of paying stay the user's.
//   - reattributed keeps facts of users who were reattributed at some time, or of those who
//     weren't, with all their metrics.
//   - sandbox=true shows two testers' facts a day and app, and nothing of production; the default
//     shows none of them.
//
// # Filters
//
//   - Filters of dimensions look at the label as shown, whether or not the dimension is; letters'
//     case is folded one by one by Unicode's simple folding, so "ß" isn't "SS". Entries of __in
//     count with and without the blanks and the quotes around them. Filters of metrics compare the
//     printed value. Empty filters count as absent, a repeated parameter's first value counts.
//
// # Metrics
//
//   - The SKAN rates per install divide by skad_total_installs. Every event family is accepted for
//     every event.
//   - daus, waus, maus are means over the days of the group that have rows. With the dimension hour
//     a user counts for the part of the hour in which they were there, in hundredths; every hour of
//     an app has users.
//   - An event's slug is its name in lower case with every other character than a-z and 0-9 written
//     as _; a name without any such character is event_ and its first token.
//   - Metrics without a formula in the glossary are fixed shares of a fact's columns. The reasons
//     of rejection add up to the rejections, the SKAN, non-SKAN and unknown parts to a network's
//     numbers, the four ATT answers to installs on iOS.
//   - conversion_value_total weighs each value by itself, as the newer glossary says; the older one
//     says their plain sum. skad_conversion_values are the valid conversions, skad_conversion_bits
//     the six bits' sum. Coarse values split all SKAN installs, those of the 2nd and 3rd postback
//     ever fewer.
//   - iap_revenue_* and skad_general_* are general_revenue_* under other names; SKAN's total
//     revenue is that and ad revenue.
//   - mavg_* is the metric's own value in its row: a row is its own window. Its bounds are the
//     same, its margin of error is 0.0; windows and confidences are numbers of up to three digits.
//   - Subscription rates divide totals until the end of the period: from install by
//     cohort_size_{p}, from an event by its number. Revenue of refunds is negative, so that the
//     kinds add up. subscriptions counts activations, trials, renewals, offers and cancels the
//     subscrevnt_ events of that name.
//   - What the catalogue of reportferry calls additive over everything adds up: the rows of any
//     dimensions come to the totals by date, to the last of at most six decimals. Assisted installs
//     and reattributions don't: where a report has a dimension that the engagement decides, such as
//     network, each that assisted counts them. Rates and means don't either.
//   - Per paying user means per first_paying_users_total_{p}. incremental_revenue is a fixed part
//     of paid users' revenue.
//   - installs_per_mile is a count that has decimals; a slug is accepted in both spellings where
//     the documents have two.
//
// # Beside the interface document
//
// These calls are answered too, under the same credentials, limits, errors and faults, so that
// clients of the real service can be pointed here.
//
//   - GET /reports-service/report: csv_report's rows as JSON. Field names and types: the service's
//     OpenAPI description. Columns go by slug whatever readable_names says. totals count what
//     metric filters and limit leave out, and under fully_mature they are mature's. Guessed: the
//     contents of data_warnings ("type" and "message"; warnings is the same), of immature_cohorts
//     (a metric's days that haven't completed its period), and that of several IDs of a name
//     attr_dependency has the first.
//   - GET /reports-service/pivot_report: the same rows under the value of one dimension, each an
//     element of rows, their metrics as numbers, and totals by the values of each dimension.
//     Guessed: where the index stands in the answer, that it may be left out of dimensions, 422.
//   - GET /reports-service/parquet_report: csv_report's rows as Parquet, Brotli, in the order asked
//     for. Guessed: dimensions, dates too, are STRING, what csv_report prints without a decimal
//     point INT64, all else DOUBLE, no NULLs.
//   - GET /reports-service/filters_data: the values of filters and modes, and the metrics. Guessed:
//     x__contains looks for a part of id or name in any case; section narrows metrics only, and
//     app_token__in what apps have; cohort metrics are listed for the usual periods and found by
//     x__contains for all; cost_metrics are what networks report; which metrics
//     increase_is_negative marks. It is 204 when nothing is found; lists that the emulator has
//     nothing for are 400.
package report
