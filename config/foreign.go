package config

import (
	"fmt"
	"maps"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
)

// The names that other tools have for a key, with what to write here. People are used to these
// names, and none of them resembles the right one enough for a "did you mean".
var (
	otherServiceKeys = otherWords([][2]string{
		{"write it as base_url", "url host endpoint api_url address server base"},
		{"write it as token", "api_key api_token key auth password secret access_token bearer credentials"},
		{"write it as attempts, the tries of one request", "retries retry max_retries retry_count max_attempts tries"},
		{"write it as patience, the time that all tries of one request may take",
			"timeout request_timeout timeout_seconds read_timeout"},
		{"write it as in_flight, the requests at a time",
			"concurrency parallelism threads workers max_concurrency parallel"},
		{"write it as rate, the requests a second", "rate_limit rps qps requests_per_second limit"},
		{"write it as account_id", "account"},
		{"there is only one: leave the key out", "type kind name"},
		{"for made-up numbers write service: embedded", "embedded emulator fake mock demo"},
	})
	otherTopKeys = otherWords([][2]string{
		{"write it as service", "source sources connection connections api adjust credentials"},
		{"write it as sinks, under each job", "destination destinations dest output outputs target sink out to"},
		{"write it as token, under service", "token api_key api_token app_token auth"},
		{"write it as base_url, under service", "base_url url host"},
		{"write it as account_id, under service", "account_id account"},
		{"for made-up numbers write service: embedded", "embedded emulator fake mock demo"},
		{"write it as ledger", "state checkpoint state_path state_store database"},
		{"write it as jobs", "reports tables streams pipelines pipeline tasks job models"},
		{"write it as attempts, under service", "retries retry max_retries"},
		{"write it as patience, under service", "timeout"},
		{"write it as in_flight, under service", "concurrency parallelism threads workers"},
		{"write it as rate, under service", "rate_limit rate rps"},
		{"write it as zone, under each job", "timezone time_zone tz"},
		{"leave it out: this is the only form so far", "version apiVersion"},
		{"the flag --log-level says that", "log log_level logging loglevel verbose debug"},
	})
	otherJobKeys = otherWords([][2]string{
		{"write it as sinks, a list of URLs",
			"destination destinations dest dest_uri output outputs target targets sink to path url bucket"},
		{"write it as table", "dest_table table_name target_table destination_table"},
		{"write it as kind", "type"},
		{"write it as schedule", "cron interval frequency every"},
		{"write it as zone, or as timezone_id where the report's own days are meant", "timezone time_zone tz"},
		{"write it as attempts, under service at the top, for all jobs", "retries retry max_retries retry_count"},
		{"write it as patience, under service at the top, for all jobs", "timeout request_timeout"},
		{"write it as in_flight, under service at the top, for all jobs", "concurrency parallelism threads workers"},
		{"write it as token, under service at the top", "token api_key api_token auth"},
		{"a # begins a comment", "description comment comments notes title"},
		{"leave the job's schedule out, or the job", "enabled disabled active paused"},
	})
	otherReportKeys = otherWords([][2]string{
		{"write it as service, at the top: it is where a report comes from", "source"},
		{"write it as start", "start_date date_from from interval_start since begin date_start"},
		{"write it as until (yesterday or today); reportferry backfill fetches a range of the past",
			"end_date date_to to_date interval_end end date_end stop"},
		{"write them as dimensions", "group_by groupby breakdowns breakdown dimension split_by"},
		{"write them as metrics", "metric kpis kpi measures measure"},
		{"write them as dimensions and metrics", "fields columns select"},
		{"write it as page", "batch_size page_size chunk_size chunk"},
		{"write it as lookback", "window lookback_window lookback_days attribution_window reload_days overlap"},
		{"write it as codec (zstd, snappy or none); files are always Parquet",
			"format file_format compression output_format"},
		{"write it as filters, such as app_token__in: [abc123]",
			"filter where app apps app_id app_ids app_token app_tokens"},
		{"leave it out: a partition is replaced whole, so that nothing is doubled, and the ledger knows the rest",
			"primary_key incremental_key cursor cursor_field incremental_strategy sync_mode write_disposition mode " +
				"unique_key merge_key"},
		{"leave it out: rows come whole, without a limit", "limit max_rows row_limit"},
	})
)

// otherWords returns the hint for each refused key, from a list of hints and the keys of each.
func otherWords(list [][2]string) map[string]string {
	refused := map[string]string{}
	for _, entry := range list {
		for word := range strings.FieldsSeq(entry[1]) {
			refused[word] = "no such key here; " + entry[0]
		}
	}
	return refused
}

// reportRefused returns keys that a report job doesn't have, each with the reason.
func reportRefused() map[string]string {
	refused := maps.Clone(otherReportKeys)
	maps.Copy(refused, refusedParameters)
	return refused
}

// columnKey returns the hint for a dimension or metric that stands where a key of a report job
// belongs. It is empty for any other key.
func columnKey(key string) string {
	if _, is := catalog.Dimension(key); is {
		return fmt.Sprintf("a dimension, not a key: list it under dimensions, or keep some values of it by filters: "+
			"{%s__in: [...]}", key)
	}
	if _, is := catalog.Metric(key); is {
		return fmt.Sprintf("a metric, not a key: list it under metrics, or compare it by filters: {%s__gt: 0}", key)
	}
	return ""
}

// keyOfJob returns the hint for a key of a job that stands at the top of the file. It is empty for
// any other key.
func keyOfJob(key string) string {
	for _, f := range anyJob(new(Job)).Fields {
		if f.Key == key {
			return "a key of a job; it stands in an entry of the list under jobs"
		}
	}
	return ""
}
