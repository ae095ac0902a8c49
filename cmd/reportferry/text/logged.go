package text

import (
	"encoding/json"
	"maps"
)

// A logField is a field that lines of the log may have. Type is one of the constants below, and
// Means is the description in the schema.
type logField struct {
	Name, Type, Means string
}

// The types of fields, in the words of JSON Schema.
const (
	textField    = "string"
	countField   = "integer"
	secondsField = "number"
	flagField    = "boolean"
	listField    = "array"
	objectField  = "object"
)

// everyLine has the names of the fields that every line has.
var everyLine = []string{"time", "severity", "message", "run", "job"}

// logFields has all fields that lines may have. A new one is added here first: a test reads the
// lines of every command.
var logFields = []logField{
	{"time", textField, "when, by RFC 3339"},
	{"severity", textField, "DEBUG, INFO, WARNING or ERROR"},
	{"message", textField, "what happened, in words"},
	{"run", textField, "the run's ID; empty outside of runs"},
	{"job", textField, "the job's name; empty where no job is meant"},
	{"window", textField, "the unit: the first day of a window, a file, an app"},
	{"error", textField, "what went wrong, in words"},
	{"reason", textField, "the word for what went wrong, as the exit codes' help lists them"},
	{"status", countField, "of an HTTP answer; 0 when none came"},
	{"exit", countField, "the exit code"},
	{"wait", secondsField, "waited, or about to be, in seconds"},
	{"backoff", secondsField, "waited between attempts, in seconds"},
	{"took", secondsField, "from the beginning to the end, in seconds"},

	{"trigger", textField, "what began the run: schedule, manual, backfill or replay"},
	{"windows", countField, "units that are planned, or over"},
	{"partitions", countField, "partitions"},
	{"done", countField, "units that are over by now"},
	{"of", countField, "units that there are by now"},
	{"held", countField, "units that another run holds"},
	{"left", countField, "units that this run leaves to the next"},
	{"left_out", countField, "jobs that leave something out"},
	{"written", countField, "partitions, or files, that were put"},
	{"unchanged", countField, "partitions whose content was there"},
	{"empty", countField, "partitions without rows"},
	{"blank", countField, "of those, the ones of a table of which nothing was recorded before"},
	{"kept", countField, "partitions whose old rows stay, as on_empty asks"},
	{"failed", countField, "partitions, or files, that failed"},
	{"apps", textField, "tokens of apps"},
	{"held_back", countField, "partitions of which the answer isn't published, because it takes good rows away"},
	{"standing", countField, "partitions that are held back, or differ from the totals, as an earlier run has told"},
	{"wrong", countField, "partitions of the table that aren't as they should be when the job is over: missing, " +
		"failed, held back, different from the totals"},
	{"unreconciled", countField, "partitions whose rows differ from the service's totals"},
	{"compared", countField, "final partitions that were held against the totals"},
	{"moved", countField, "final partitions whose numbers moved"},
	{"moved_and_left", countField, "of those, the ones that keep their rows"},
	{"not_compared", countField, "final partitions that could not be held against the totals"},
	{"lacking", countField, "partitions that lack a column"},
	{"lost", countField, "periods that the service doesn't give any more"},
	{"probed", countField, "partitions that weren't fetched, because their totals haven't moved"},
	{"unkept", countField, "raw answers that could not be kept"},
	{"waiting", countField, "units that wait until later"},
	{"due", textField, "when the first of them is due"},
	{"stopped", flagField, "the run ended before the job did"},
	{"requests", countField, "attempts to send a request"},
	{"retries", countField, "of those, the ones after the first"},
	{"rows", countField, "rows"},
	{"rounded", countField, "amounts with more than six decimals"},
	{"nulls", countField, "blank cells of metrics"},
	{"csv_bytes", countField, "bytes of answers"},
	{"parquet_bytes", countField, "bytes of files"},
	{"column", textField, "a column of the table"},
	{"difference", textField, "what differs, in words"},
	{"export", textField, "where the console's pages go"},
	{"answers", countField, "raw answers"},

	{"accepted", countField, "records that the service took"},
	{"duplicates", countField, "records that were sent before"},
	{"refused", countField, "records that were not sent, because they are wrong"},
	{"rejected", countField, "records that the service refused"},
	{"conflicts", countField, "records that were sent before with other content"},
	{"unknown", countField, "records of which nobody knows whether the service has them"},
	{"resent", countField, "records that were sent more than once"},
	{"note", textField, "what else is to be known"},
	{"device", textField, "a device's ID, where the job's show_ids allows it"},
	{"first", textField, "the first of them"},

	{"app", textField, "an app's token"},
	{"sections", listField, "parts of an app's settings"},
	{"seen", listField, "what the service's answers don't tell"},
	{"fields", listField, "fields of an app"},
	{"result", textField, "what became of an app"},
	{"ticket", textField, "of an app's request"},
	{"changes", countField, "changes of an app"},

	{"jobs", countField, "jobs of the config"},
	{"new", textField, "jobs that the config has got"},
	{"gone", textField, "jobs that the config has no more"},
	{"state", textField, "what the service manager is told"},
	{"stack", textField, "where a run panicked"},
	{"method", textField, "of a request that the emulator answered"},
	{"path", textField, "of a request that was answered"},
	{"query", textField, "of a request that the emulator answered"},
	{"remote", textField, "the address of who asked"},

	{"logging.googleapis.com/labels", objectField, "task, attempt and execution of a Cloud Run job"},
	{"logging.googleapis.com/trace", textField, "the trace that the line belongs to"},
	{"logging.googleapis.com/spanId", textField, "the span of the run"},
}

// LogSchema returns the JSON Schema of a line.
func LogSchema() ([]byte, error) {
	properties := map[string]any{}
	for _, f := range logFields {
		p := map[string]any{"type": f.Type, "description": f.Means}
		if f.Type == listField {
			p["items"] = map[string]any{"type": textField}
		}
		properties[f.Name] = p
	}
	maps.Copy(properties["severity"].(map[string]any), map[string]any{"enum": []string{"DEBUG", "INFO", "WARNING",
		"ERROR"}})
	maps.Copy(properties["time"].(map[string]any), map[string]any{"format": "date-time"})
	b, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "A line of the log of reportferry --log-format json",
		"type":    "object", "required": everyLine, "additionalProperties": false, "properties": properties,
	}, "", "  ")
	return append(b, '\n'), err
}
