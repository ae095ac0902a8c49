package kinds

import (
	"fmt"
	"maps"

	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/internal/catalog"
)

// otherReportKeys are the names that other tools have for a key of a report, with what to write
// here.
var otherReportKeys = shape.OtherWords([][2]string{
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

// ReportRefused returns keys that a report job doesn't have, each with the reason.
func ReportRefused() map[string]string {
	refused := maps.Clone(otherReportKeys)
	maps.Copy(refused, refusedParameters)
	return refused
}

// ColumnKey returns the hint for a dimension or metric that stands where a key of a report job
// belongs. It is empty for any other key.
func ColumnKey(key string) string {
	if _, is := catalog.Dimension(key); is {
		return fmt.Sprintf("a dimension, not a key: list it under dimensions, or keep some values of it by filters: "+
			"{%s__in: [...]}", key)
	}
	if _, is := catalog.Metric(key); is {
		return fmt.Sprintf("a metric, not a key: list it under metrics, or compare it by filters: {%s__gt: 0}", key)
	}
	return ""
}
