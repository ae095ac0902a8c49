package bqtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// readNDJSON reads a file with a JSON object in each line, for the columns of a schema.
// https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-json
func readNDJSON(name string, content []byte, schema *bq.TableSchema) (*source, error) {
	src := &source{name: name, size: int64(len(content))}
	for _, f := range schema.Fields {
		src.columns = append(src.columns, sourceColumn{name: f.Name, kind: f.Type})
	}
	unknown := map[string]bool{}
	for i, line := range bytes.Split(content, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		object := map[string]any{}
		if err := d.Decode(&object); err != nil {
			return nil, fmt.Errorf("JSON processing encountered too many errors: line %d: %w", i+1, err)
		}
		lower := map[string]any{}
		for k, v := range object {
			lower[strings.ToLower(k)] = v
			if fieldOf(schema, k) == nil {
				unknown[k] = true
			}
		}
		for j, f := range schema.Fields {
			v, err := jsonValue(f.Type, lower[strings.ToLower(f.Name)])
			if err != nil {
				return nil, fmt.Errorf("JSON parsing error in row %d: could not convert value of field %s to %s: %w",
					i+1, f.Name, f.Type, err)
			}
			src.columns[j].values = append(src.columns[j].values, v)
		}
		src.rows++
	}
	for _, k := range slices.Sorted(maps.Keys(unknown)) { // matchColumns refuses columns that the table lacks
		src.columns = append(src.columns, sourceColumn{name: k, kind: typeString, values: make([]any, src.rows)})
	}
	return src, nil
}

// jsonValue converts a JSON value to what a row holds in a column of that type.
func jsonValue(kind string, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch v.(type) {
	case string, json.Number, bool:
	default:
		return nil, fmt.Errorf("%v is no scalar", v)
	}
	text := fmt.Sprint(v)
	switch kind {
	case typeString:
		return text, nil
	case typeNumeric:
		return numericText(text)
	case typeInteger:
		return json.Number(text).Int64()
	case typeFloat:
		return json.Number(text).Float64()
	case typeBool:
		switch strings.ToLower(text) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is not a BOOL", text)
	}
	at, err := parseInstant(text)
	if err != nil {
		return nil, err
	}
	switch kind {
	case typeDate:
		if len(text) != len("2006-01-02") {
			return nil, fmt.Errorf("%q is not a DATE", text)
		}
		return dateText(at)
	case typeDateTime:
		return at.Format("2006-01-02T15:04:05.999999"), nil
	}
	return at.UnixMicro(), nil
}

// parseInstant reads a DATE, DATETIME or TIMESTAMP.
func parseInstant(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.RFC3339} {
		// Parse accepts a fraction of seconds that the layout lacks.
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid date or time: %v", text)
}
