package want

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/internal/lazy"
)

// draftTable drafts the config of one table in one sink, with its ledger beside it. What the flags
// leave at its default isn't written, because the config has the same defaults.
func (r *Report) draftTable(s draft.Service, sink, name, start string) draft.Config {
	q := r.Query
	job := draft.Job{
		Name: name, Schedule: dayEnds(q.UTCOffset), Sinks: []string{literal(sink)}, Start: start,
		Currency:   literal(q.Currency),
		Dimensions: literals(q.Dimensions), Metrics: literals(q.Metrics),
	}
	if len(q.Filters) > 0 {
		var filters []draft.Key
		for _, name := range slices.Sorted(maps.Keys(q.Filters)) {
			filters = append(filters, draft.Key{Name: name, Value: filterValue(name, q.Filters[name])})
		}
		job.More = append(job.More, draft.Key{Name: "filters", Value: filters})
	}
	if len(r.drop) > 0 {
		job.More = append(job.More, draft.Key{Name: "drop", Value: literals(r.drop)})
	}
	job.More = append(job.More, ZoneKeys(q.UTCOffset, q.TimezoneID)...)
	for _, p := range kinds.Parameters() {
		values := q.Parameters[p.Name]
		if slices.Equal(values, p.Default) {
			continue
		}
		var value any = literals(values)
		switch {
		case p.Flag:
			value = values[0] == "true"
		case !p.List:
			value = literal(values[0])
		}
		job.More = append(job.More, draft.Key{Name: p.Name, Value: value})
	}
	return draft.Config{
		Comment: []string{
			"One table, made of a command's flags. reportferry plan says what a run would",
			"fetch, and run fetches it. config/README.md explains every key.",
		},
		Service: s, Ledger: literal(LedgerBeside(sink)), Jobs: []draft.Job{job},
	}
}

// ZoneKeys returns the keys that say in a config where days begin and end. There are none for UTC,
// which is the default.
func ZoneKeys(utcOffset, timezoneID string) (keys []draft.Key) {
	if timezoneID != "" {
		keys = append(keys, draft.Key{Name: "timezone_id", Value: literal(timezoneID)})
	}
	if utcOffset != "" && utcOffset != "+00:00" {
		keys = append(keys, draft.Key{Name: "utc_offset", Value: literal(utcOffset)})
	}
	return keys
}

// dayEnds returns a cron schedule that fires when a day of the report has ended. So the first run
// has yesterday, whatever the hour, and another run on the same day finds all up to date. With a
// timezone_id, utcOffset is empty: the schedule is in that zone, where the day ends at midnight.
func dayEnds(utcOffset string) string {
	at, err := time.Parse("-07:00", utcOffset)
	if err != nil {
		return "0 0 * * *" // the config says what is wrong with the offset
	}
	midnight := at.UTC()
	return fmt.Sprintf("%d %d * * *", midnight.Minute(), midnight.Hour())
}

// filterValue returns the value of a filter as the config wants it: a list, a number or a text.
func filterValue(name string, values []string) any {
	operator := name[strings.LastIndex(name, "__")+2:]
	switch {
	case operator == "in" || operator == "not_in":
		return literals(values)
	case slices.Contains([]string{"lt", "lte", "gt", "gte", "eq", "ne"}, operator):
		if n, err := strconv.ParseFloat(values[0], 64); err == nil && json.Valid([]byte(values[0])) {
			return json.Number(strconv.FormatFloat(n, 'f', -1, 64)) // in YAML 1e+06 is a text
		}
	}
	return literal(values[0])
}

// literal escapes ${ in the text of a flag, because in a config it would begin the name of a
// variable. A shell has already replaced its own variables by then.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// literals escapes each of the texts.
func literals(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, literal(text))
	}
	return out
}

var (
	// scheme matches the beginning of a URL.
	scheme = lazy.Regexp(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	// notInNames matches what the name of a table can't have.
	notInNames = lazy.Regexp(`[^a-z0-9_]+`)
)

// RelativeTo turns a path that is relative to the working directory into one that is relative to a
// folder. An absolute path stays as it is.
func RelativeTo(folder, path string) string {
	if !filepath.IsAbs(path) {
		from, err := filepath.Abs(folder)
		at, failed := filepath.Abs(path)
		if rel, apart := filepath.Rel(from, at); errors.Join(err, failed, apart) == nil {
			path = rel
		}
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// SinkURL returns the URL of a sink as a config in a folder names it. A URL stays as it is; the
// path of a directory becomes a file URL relative to the folder.
func SinkURL(folder, to string) string {
	if scheme().MatchString(to) {
		return to
	}
	u := url.URL{Scheme: "file"}
	switch dir := RelativeTo(folder, to); {
	case filepath.IsAbs(to):
		u.Path = dir
	case dir == "." || dir == "..":
		u.Host = dir
	case strings.HasPrefix(dir, "../"):
		u.Host, u.Path = "..", strings.TrimPrefix(dir, "..")
	default:
		u.Host, u.Path = ".", "/"+dir
	}
	return strings.TrimSuffix(u.String(), "/")
}

// LedgerBeside returns the URL of a ledger in the folder or under the prefix that holds the tables.
// Its name begins with a dot, so that readers don't take it for a table, and nothing in it is
// Parquet. A database can't hold a ledger: there, the ledger is in the working directory.
func LedgerBeside(sink string) string {
	u, err := url.Parse(sink)
	if err != nil || slices.Contains([]string{"bigquery", "postgres", "iceberg"}, u.Scheme) {
		return "file://./.reportferry"
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/.reportferry"
	q := u.Query()
	q.Del("key") // the layout of the tables' files
	u.RawQuery = q.Encode()
	return u.String()
}

// NameOf returns a name for a table that is made of its dimensions, so that the table keeps its
// name when a metric is added.
func NameOf(dimensions []string) string {
	return strings.Trim(notInNames().ReplaceAllString(strings.ToLower(strings.Join(dimensions, "_")), "_"), "_")
}
