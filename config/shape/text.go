package shape

import (
	"encoding/json"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone is known where the system has no zone files, as in a bare container

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
)

// NameForm matches the names of jobs and tables.
var NameForm = strict.Expr(`^[a-z][a-z0-9_]{0,127}$`)

// Name reads the name of a job, a table or an event's column.
var Name = strict.Matching(NameForm, "a small letter, then up to 127 small letters, digits and underscores, as in "+
	"campaigns_daily")

// ColumnForm matches the names that Parquet readers and warehouses take without quoting.
var ColumnForm = strict.Expr(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// Value reads one value of a list. The list is sent joined by commas, for which the service has no
// escape, so a value can't contain one.
var Value = strict.Checked(strict.Word, func(d *strict.Decoder, n strict.Node, key, s string) bool {
	comma := strings.Contains(s, ",")
	if comma {
		d.Fail(n, "%s: %q holds a comma, which the service takes for the end of a value", key, s)
	}
	return !comma
})

// Zone reads the name of a zone of the IANA list.
var Zone = strict.Checked(Titled(strict.Text, "a zone of the IANA list"),
	func(d *strict.Decoder, n strict.Node, key, s string) bool {
		if !IsZone(s) {
			d.Fail(n, "%s: want a zone of the IANA list such as UTC or Europe/Berlin, got %q", key, s)
		}
		return IsZone(s)
	})

// IsZone reports whether a zone of the IANA list has this name.
func IsZone(s string) bool {
	_, err := time.LoadLocation(s)
	return err == nil && s != "Local" // Local is the zone of whatever machine runs this
}

// Titled returns s with a title in its schema, which says what the text is.
func Titled[T any](s strict.Shape[T], title string) strict.Shape[T] {
	return strict.Shape[T]{Read: s.Read, Schema: func() *jsonschema.Schema {
		v := s.Schema()
		v.Title = title
		return v
	}}
}

// Codec names the compression of Parquet files.
var Codec = strict.OneOf("zstd", "snappy", "none")

// ColumnName reads the name of a column.
var ColumnName = strict.Matching(ColumnForm, "a column name of letters, digits and underscores")

// PerSecond reads a rate above 0. what says in messages what is counted.
func PerSecond(what string) strict.Shape[float64] {
	return strict.Shape[float64]{
		Read: strict.Checked(strict.Number, func(d *strict.Decoder, n strict.Node, key string, v float64) bool {
			if v <= 0 {
				d.Fail(n, "%s: want more than 0 %s a second, got %v", key, what, v)
			}
			return v > 0
		}).Read,
		Schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "number", ExclusiveMinimum: json.Number("0")}
		},
	}
}

// OtherWords returns the hint for each refused key, from a list of hints and the keys of each.
func OtherWords(list [][2]string) map[string]string {
	refused := map[string]string{}
	for _, entry := range list {
		for word := range strings.FieldsSeq(entry[1]) {
			refused[word] = "no such key here; " + entry[0]
		}
	}
	return refused
}
