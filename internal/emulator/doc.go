// Package emulator is the measurement service itself, small enough to run inside a test: without it nothing of
// reportferry could be shown to work offline, since every claim about paging, retries and money is checked against it.
//
// It answers GET /reports-service/events and GET /reports-service/csv_report from facts that it makes up on first touch
// from (seed, app, day) alone, keeps them in SQLite, and filters and aggregates them by SQL. It shares no code with the
// service's client, and has formulas of its own, so that one misreading of the interface can't hide in both.
//
// What the service's documents leave open is guessed here, always in the documented shapes:
//
//   - Today is served whole from its first hour. What changes with the clock changes at midnight UTC: cohorts mature,
//     and network spend is restated until a day is 14 days old.
//   - The first day with data is fixed by New; later days appear as the clock moves on.
//   - The lines end in LF, cells are quoted only when they must be, an empty report is 204 without a body.
//   - Rows are sorted by the dimensions in the order asked for, bytewise; sort= goes first, dimensions break ties.
//   - cohort_size_{p} counts installs that are at least N periods old; _total_in_cohort_{p} sums over the same ones.
//     A week is 7 days and a month 30 days after the install.
//   - {e}_{p}_events_cohort and its like are cumulative from the install, _per_period is the period alone, and
//     converted_user_size is the number of users converted until now.
//   - The SKAN rates per install divide by skad_total_installs. Every event family is accepted for every event.
//   - daus, waus, maus are means over the days of the group that have rows.
//   - ad_spend_mode=mixed takes network spend for each fact row that has some, else attributed spend; the default is adjust.
//   - Currencies are converted row by row with a fixed table, truncated to micros.
//   - X-Account-ID other than AccountID is 403. app_token__in without any known app is 400, as observed at the service.
//   - app_token__in at /events also narrows each record's app_token and tokens to the listed apps.
//   - attribution_types defaults to all three. A parameter x__op is refused when x is neither a dimension nor a metric;
//     plain unknown parameters are ignored. limit and attribution_type are refused as not yet served.
//   - Quotients of seconds are whole seconds, rounded down. events isn't the sum of the single events.
//   - An event's slug is its name in lower case with every other character than a-z and 0-9 written as "_"; a name
//     without any such character is "event_" and its first token.
package emulator
