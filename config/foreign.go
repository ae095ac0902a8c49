package config

import "github.com/reportferry/reportferry/config/shape"

// The names that other tools have for a key, with what to write here. People are used to these
// names, and none of them resembles the right one enough for a "did you mean".
var (
	otherServiceKeys = shape.OtherWords([][2]string{
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
	otherTopKeys = shape.OtherWords([][2]string{
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
	otherJobKeys = shape.OtherWords([][2]string{
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
)

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
