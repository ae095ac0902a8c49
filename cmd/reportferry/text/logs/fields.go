package logs

import (
	"encoding/json"
	"maps"
)

// A Field is a field that lines of the log may have.
type Field struct {
	Name, Type, Means string
}

// The types of fields, in the words of JSON Schema.
const (
	text    = "string"
	count   = "integer"
	seconds = "number"
	flag    = "boolean"
	list    = "array"
	object  = "object"
)

// always are the fields of every line.
var always = []string{"time", "severity", "message", "run", "job"}

// Fields are all fields that lines may have. A new one is added here first: a test reads the lines
// of every command.
var Fields = []Field{
	{"time", text, "when, by RFC 3339"},
	{"severity", text, "DEBUG, INFO, WARNING or ERROR"},
	{"message", text, "what happened, in words"},
	{"run", text, "the run's ID; empty outside of runs"},
	{"job", text, "the job's name; empty where no job is meant"},
	{"window", text, "the unit: the first day of a window, a file, an app"},
	{"error", text, "what went wrong, in words"},
	{"reason", text, "the word for what went wrong, as the exit codes' help lists them"},
	{"status", count, "of an HTTP answer; 0 when none came"},
	{"exit", count, "the exit code"},
	{"wait", seconds, "waited, or about to be, in seconds"},
	{"backoff", seconds, "waited between attempts, in seconds"},
	{"took", seconds, "from the beginning to the end, in seconds"},

	{"trigger", text, "what began the run: schedule, manual, backfill or replay"},
	{"windows", count, "units that are planned, or over"},
	{"partitions", count, "partitions"},
	{"done", count, "units that are over by now"},
	{"of", count, "units that there are by now"},
	{"held", count, "units that another run holds"},
	{"left", count, "units that this run leaves to the next"},
	{"left_out", count, "jobs that leave something out"},
	{"written", count, "partitions, or files, that were put"},
	{"unchanged", count, "partitions whose content was there"},
	{"empty", count, "partitions without rows"},
	{"blank", count, "of those, the ones of a table of which nothing was recorded before"},
	{"kept", count, "partitions whose old rows stay, as on_empty asks"},
	{"failed", count, "partitions, or files, that failed"},
	{"apps", text, "tokens of apps"},
	{"held_back", count, "partitions of which the answer isn't published, because it takes good rows away"},
	{"standing", count, "partitions that are held back, or differ from the totals, as an earlier run has told"},
	{"wrong", count, "partitions of the table that aren't as they should be when the job is over: missing, failed, " +
		"held back, different from the totals"},
	{"unreconciled", count, "partitions whose rows differ from the service's totals"},
	{"compared", count, "final partitions that were held against the totals"},
	{"moved", count, "final partitions whose numbers moved"},
	{"moved_and_left", count, "of those, the ones that keep their rows"},
	{"not_compared", count, "final partitions that could not be held against the totals"},
	{"lacking", count, "partitions that lack a column"},
	{"lost", count, "periods that the service doesn't give any more"},
	{"probed", count, "partitions that weren't fetched, because their totals haven't moved"},
	{"unkept", count, "raw answers that could not be kept"},
	{"waiting", count, "units that wait until later"},
	{"due", text, "when the first of them is due"},
	{"stopped", flag, "the run ended before the job did"},
	{"requests", count, "attempts to send a request"},
	{"retries", count, "of those, the ones after the first"},
	{"rows", count, "rows"},
	{"rounded", count, "amounts with more than six decimals"},
	{"nulls", count, "blank cells of metrics"},
	{"csv_bytes", count, "bytes of answers"},
	{"parquet_bytes", count, "bytes of files"},
	{"column", text, "a column of the table"},
	{"difference", text, "what differs, in words"},
	{"export", text, "where the console's pages go"},
	{"answers", count, "raw answers"},

	{"accepted", count, "records that the service took"},
	{"duplicates", count, "records that were sent before"},
	{"refused", count, "records that were not sent, because they are wrong"},
	{"rejected", count, "records that the service refused"},
	{"conflicts", count, "records that were sent before with other content"},
	{"unknown", count, "records of which nobody knows whether the service has them"},
	{"resent", count, "records that were sent more than once"},
	{"note", text, "what else is to be known"},
	{"device", text, "a device's ID, where the job's show_ids allows it"},
	{"first", text, "the first of them"},

	{"app", text, "an app's token"},
	{"sections", list, "parts of an app's settings"},
	{"seen", list, "what the service's answers don't tell"},
	{"fields", list, "fields of an app"},
	{"result", text, "what became of an app"},
	{"ticket", text, "of an app's request"},
	{"changes", count, "changes of an app"},

	{"jobs", count, "jobs of the config"},
	{"new", text, "jobs that the config has got"},
	{"gone", text, "jobs that the config has no more"},
	{"state", text, "what the service manager is told"},
	{"stack", text, "where a run panicked"},
	{"method", text, "of a request that the emulator answered"},
	{"path", text, "of a request that was answered"},
	{"query", text, "of a request that the emulator answered"},
	{"remote", text, "the address of who asked"},

	{"logging.googleapis.com/labels", object, "task, attempt and execution of a Cloud Run job"},
	{"logging.googleapis.com/trace", text, "the trace that the line belongs to"},
	{"logging.googleapis.com/spanId", text, "the span of the run"},
}

// Schema returns the JSON Schema of a line.
func Schema() ([]byte, error) {
	properties := map[string]any{}
	for _, f := range Fields {
		p := map[string]any{"type": f.Type, "description": f.Means}
		if f.Type == list {
			p["items"] = map[string]any{"type": text}
		}
		properties[f.Name] = p
	}
	maps.Copy(properties["severity"].(map[string]any), map[string]any{"enum": []string{"DEBUG", "INFO", "WARNING",
		"ERROR"}})
	maps.Copy(properties["time"].(map[string]any), map[string]any{"format": "date-time"})
	b, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "A line of the log of reportferry --log-format json",
		"type":    "object", "required": always, "additionalProperties": false, "properties": properties,
	}, "", "  ")
	return append(b, '\n'), err
}
