// Package emulator is the measurement service itself, small enough to run inside a test: without it nothing of
// reportferry could be shown to work offline, since every claim about paging, retries and money is checked against it.
//
// It answers GET /reports-service/events, GET /reports-service/csv_report and POST /cost from facts that it makes up on first touch
// from (seed, app, day) alone, keeps them in SQLite, and filters and aggregates them by SQL. Under /app-automation/ it makes
// and updates apps from a template, with all fifteen endpoints. It shares no code with the
// service's client, and has formulas of its own, so that one misreading of the interface can't hide in both. The database
// is private and gone with the process, or it is the file Options.DB, which another process may open later.
//
// Outside the interface document, so that clients of the real service can be pointed here, it answers three calls more,
// under the same credentials, limits, errors and faults:
//
//   - GET /reports-service/report: csv_report's rows as JSON. Field names and types: the service's OpenAPI description.
//     Columns go by slug whatever readable_names says. totals count what metric filters and limit leave out, and under
//     fully_mature they are mature's. Guessed: the contents of data_warnings ("type" and "message"; warnings is the same),
//     of immature_cohorts (a metric's days that haven't completed its period), and which names attr_dependency has ids for.
//   - GET /reports-service/parquet_report: csv_report's rows as Parquet, Brotli, in the order asked for. Guessed:
//     dimensions, dates too, are STRING, what csv_report prints without a decimal point INT64, all else DOUBLE, no NULLs.
//   - GET /reports-service/filters_data: the values of filters and modes, and the metrics. Guessed: x__contains looks for
//     a part of id or name in any case; section narrows metrics only; cohort metrics are listed for the usual periods and
//     found by x__contains for all; cost_metrics are what networks report; which metrics increase_is_negative marks.
//     It is 204 when nothing is found; lists that the emulator has nothing for are 400.
//
// Ad spend that POST /cost takes is booked on its engagement's day, by the engagement's hour: in the cost metrics of its
// campaign and in no other. Engagements lists what can be paid for; GET /_emulator/spend says what arrived. Guessed there:
//
//   - The key is a Bearer token, or the value of the header Options.SpendHeader; absent or unknown it is 401, and 403 when
//     the engagement is another network's. Then come the parameters: 400. Bodies are the statuses' names, 200's is OK.
//   - Parameters come in the query or as a form, the query going first; an empty one is missing. Letters' case matters in
//     names, types and currencies, not in the rest. Lengths are in characters, amounts plain decimals of at most nine
//     digits before the point and five behind it, zero included. Currencies are those of ISO 4217 that people pay in.
//   - cpc is a click's cost, cpm an impression's, cpi an install's, cpe an event's, whatever the campaign is paid by. A cpm
//     amount is for a thousand impressions, so a thousandth of it is booked.
//   - The same cost_id with the same content is answered 200 and counted; with other content it replaces what was there.
//   - Within seven days of its engagement spend is booked; later it is answered 200 and booked nowhere, because the real
//     service matches afterwards. Spend of nobody's engagement is pending for seven days, then expired; the emulator makes
//     no engagement of it later.
//   - Amounts are kept exactly and become micros of USD once a row of facts, rounded up. Currencies that reports don't
//     know are booked nowhere. ad_spend_mode=network, and mixed where the network reports spend, leave it out.
//   - A kept file holds every record before it is answered 200, and only one process at a time should take spend into it.
//
// POST /third_party_sharing keeps what each device of an app shares with whom. GET /_emulator/sharing says what holds for a
// device, sharing-log what arrived. Guessed there:
//
//   - Query, form and JSON bodies are taken, the body going first name by name; of a repeated plain parameter the first
//     counts, objects add up. Partner settings are {partner: {metric: bool}}, {partnerName, key, value} objects, alone or
//     in an array, or the same in brackets: partner_sharing_settings[0][key]=... Options may be in brackets too.
//   - Requests over 1 MiB are 400. Answers are 200, 202 and 400 only, in the words of the one documented error. No token is
//     asked for unless Options.SharingTokens has one of the app; without it the request is 400.
//   - What is invalid in sharing, settings and options is skipped and named: 202 if something else says something, else 400.
//     Partners are those of the channel setup, by both names, and Options.SharingPartners; partners and metrics in exact case.
//   - idfa and gps_adid are two devices, by the exact text; a request with both is taken for both. No control characters.
//   - A partner's setting of a metric, else of the nearest group above it, else of its all; else the same of the partner
//     all; else it is shared. dynamic_callbacks is a partner like others. Only session and install have metrics below them.
//   - Within a request the order doesn't matter, but of two settings of the same the last counts. A later request's setting
//     of a group goes over older ones of the metrics below it, of that partner name only: a later all doesn't go over what
//     was said of one partner. sharing=disable goes over all, and enable lifts it and keeps the settings.
//   - Options are kept key by key. google_dma, or partner_dma, takes "1" and "0", and JSON's 1, 0, true and false; eea is
//     taken without the consents. One 0 of Facebook's two makes both 0. Other groups are partners, and apple_ads, with any texts.
//
// App automation keeps what it makes in tables of its own; reports go on about Options.Apps alone. It is done by one
// request at a time, whole or not at all. Jobs have no goroutine: before a request, those steps are taken that the data's
// clock says are due. Its faults are the other endpoints', and JobFault. Rate limits are for reports. Guessed there:
//
//   - Errors: 400 request_error, 401 and 403 auth_error, 422 validation_error with all that is wrong, 500 service_error. What
//     isn't found in the account, a ticket or secret too, is 400; a path that is no endpoint 404. Messages are pydantic's.
//     Bodies are at most 1 MiB, then 400; what isn't a JSON object of UTF-8 is 422. null is absent, unknown fields are
//     ignored. Values are refused when they hold control characters, overrides' and the vault's data excepted.
//   - A slash behind a path is accepted. Readers may call nothing, not even to read.
//   - Options.Apps are found by the ID of their first store: Google Play's of an Android app, else the App Store's. Any app of
//     the account may be the template. An App Store ID is of digits.
//   - POST /app: absent channel_setup clears what was there, because values are never merged; absent override_settings,
//     editors, ios_pv_shared_secret and stores keep it; override_settings replaces all saved ones. Partners' unknown
//     parameters are dropped, partner_n and the slug are the same partner, each comes back as it was sent. name, bundle_id,
//     verification and stores queue no job; verification does nothing. Without a job ticket_token is the app's newest,
//     failed or not. sk_app_id is always null.
//   - POST /app/{app_token} takes the same fields, all optional: what is absent stays, channel_setup too. platform and
//     store_id can't be changed. It manages apps that weren't made by the API as well.
//   - additional_stores is an object of store type and {"store_id"}, added or replaced type by type, Android's only, and
//     never the default store. GET /app finds them by store, and shows them beside overrides.
//   - Jobs are of kind migration. new has no result, opened the sections that are done. Order: events, partners, trackers,
//     the rest. An app's jobs come one after the other; each reads template, overrides and setup when its step comes.
//     Sections of the other platform are skipped, chosen or not: attribution_privacy_model and skad_network_v4 on Android,
//     signature on iOS. A section with a failure has failed, and a job with such a section too, after all the others.
//   - failures are of name and detail; successes of sections without items are the names of their settings.
//   - Items of events, partners, trackers and external_data_forwarding are matched by name, callbacks by id. Copying adds and
//     replaces, and removes nothing. Tokens of events and trackers stay the app's own, as do its fingerprints unless they
//     are overridden. Objects within overrides are merged, all else replaces; items that the template lacks are added.
//     Partners get links of those events that the app has.
//   - Vault data of csv_upload_settings goes to apps without access of their own: its bucket, type and region are shown.
//     purchase_verification only notes that there is a key. Other sections' data is kept and used for nothing.
//   - A vault record is {id, section, store, data, created_at, updated_at}, data being sealed, in base64.
//   - GET /apps/list is a bare array, oldest first, of all, or from offset on at most limit. GET settings/csv has a line for
//     each value: app_token, app_name, section, setting (the way to it, with dots), value; app_tokens and sections narrow it.
//     An event's absent unique is false, also when the event is there already.
//   - PATCH signature takes enforce_install_signing and android_fingerprints (SHA-1), or one of them, and answers both.
//   - Secrets: revoking the last one by its ID is allowed, revoke_outdated without force isn't. Any scope is taken. Secrets of
//     versions 1 and 2 show their value in these answers, and not in settings. Options.Apps have one of each version, other
//     apps one of version 3.
//   - Settings of sections that no document shows are made up. ResetToken lasts as long as the process.
//
// What the service's documents leave open of the rest is guessed here, always in the documented shapes:
//
//   - The Date of every answer is the emulator's own clock, which POST /_emulator/clock moves.
//   - Today is served whole from its first hour. What changes with the clock changes at midnight UTC: cohorts mature,
//     and network spend is restated until a day is 14 days old.
//   - The first day with data is fixed by New; later days appear as the clock moves on.
//   - The lines end in LF, cells are quoted only when they must be, an empty report is 204 without a body.
//   - Rows are sorted by the dimensions in the order asked for, bytewise; sort goes first, then index, which has no other
//     effect, then the other dimensions. limit cuts rows after that. Dates read the same with and without format_dates.
//   - cohort_size_{p} counts installs that are at least N periods old; _total_in_cohort_{p} sums over the same ones.
//     A week is 7 days and a month 30 days after the install.
//   - {e}_{p}_events_cohort and its like are cumulative from the install, _per_period is the period alone, and
//     converted_user_size is the number of users converted until now.
//   - The SKAN rates per install divide by skad_total_installs. Every event family is accepted for every event.
//   - daus, waus, maus are means over the days of the group that have rows.
//   - ad_spend_mode=mixed takes network spend for each fact row that has some, else attributed spend; the default is adjust.
//   - Currencies are converted fact by fact with a fixed table, truncated to micros. Every app's own currency is USD.
//   - iap_revenue_mode=GROSS_n takes n percent of every amount of in-app revenue, events' included, fact by fact after the
//     conversion, truncated to micros.
//   - attribution_types defaults to all three; attribution_type is its older form and yields to it. Each keeps the facts
//     whose users came by such an engagement, with all their metrics, and always the organic ones.
//     assisting_attribution_type has no effect.
//   - attribution_source=first shows the network, campaign, adgroup, creative, source, partner, channel and ad account of
//     another engagement of the same app; device, country, metrics and the way of paying stay the user's.
//   - reattributed keeps facts of users who were reattributed at some time, or of those who weren't, with all their metrics.
//   - ad_revenue_sources takes ad revenue and ad impressions of other sources as 0, cohorts' and ratios' too, and drops no
//     row. One source brings all of a fact's. Names and the slugs of metrics are accepted, in any case.
//   - sandbox=true shows two testers' facts a day and app, and nothing of production; the default shows none of them.
//   - cohort_maturity: an install's period is mature once its last day is over in the report's zone. mature takes a cohort
//     metric's facts as 0 until then, fully_mature drops a group when one of its facts isn't mature for the longest period
//     of the report's metrics, immature changes nothing.
//   - hour__between keeps the UTC hours from N to M hours before the current one, both included, inside date_period.
//   - timezone_id takes IANA names, and the numbers 1 to 11; it goes before utc_offset and alone knows daylight saving
//     time. A fact belongs to the local hour in which its UTC hour begins. With the dimension hour, the hour that a zone
//     repeats in autumn gives two rows of one label, the earlier first, whatever sort says of hour.
//   - period_over_period appends <metric>_pop, headed "... (Comparison)" by readable_names, after the metrics: their values
//     over a period of the same length, with its dates shown later by the days between. previous_month and previous_year
//     begin on the same day of the month, or its last; -Nd and YYYY-MM-DD are its first day. A group without rows there
//     has zeros, a group with rows only there isn't shown, and metric filters, fully_mature, sort and limit look at the
//     report's own period. Equal hours of a repeated label are compared with all that have it.
//   - Filters of dimensions look at the label as shown, whether or not the dimension is; letters' case is folded one by one
//     by Unicode's simple folding, so "ß" isn't "SS". Entries of __in count with and without the blanks around them.
//     Filters of metrics compare the printed value. Empty filters count as absent, a repeated parameter's first value counts.
//   - X-Account-ID other than AccountID is 403. app_token__in without any known app is 400, as observed at the service.
//   - app_token__in at /events also narrows each record's app_token and tokens to the listed apps.
//   - A parameter x__op is refused when x is neither a dimension nor a metric; plain unknown parameters are ignored.
//   - Quotients of seconds are whole seconds, rounded down. events isn't the sum of the single events.
//   - An event's slug is its name in lower case with every other character than a-z and 0-9 written as "_"; a name
//     without any such character is "event_" and its first token.
//   - Metrics without a formula in the glossary are fixed shares of a fact's columns. The reasons of rejection add up to
//     the rejections, the SKAN, non-SKAN and unknown parts to a network's numbers, the four ATT answers to installs on iOS.
//   - conversion_value_total weighs each value by itself, as the newer glossary says; the older one says their plain sum.
//     skad_conversion_values are the valid conversions, skad_conversion_bits the six bits' sum. Coarse values split all
//     SKAN installs, those of the 2nd and 3rd postback ever fewer.
//   - iap_revenue_* and skad_general_* are general_revenue_* under other names; SKAN's total revenue is that and ad revenue.
//   - mavg_* is the metric's own value in its row: a row is its own window. Its bounds are the same, its margin of error is
//     0.0; windows and confidences are numbers of up to three digits.
//   - Subscription rates divide totals until the end of the period: from install by cohort_size_{p}, from an event by its
//     number. Revenue of refunds is negative, so that the kinds add up. subscriptions counts activations, trials, renewals,
//     offers and cancels the subscrevnt_ events of that name.
//   - Per paying user means per first_paying_users_total_{p}. incremental_revenue is a fixed part of paid users' revenue.
//   - installs_per_mile is a count that has decimals; a slug is accepted in both spellings where the documents have two.
package emulator
