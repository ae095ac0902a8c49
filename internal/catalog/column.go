package catalog

import (
	"strings"
	"unicode"

	"github.com/reportferry/reportferry/internal/lazy"
)

// PartitionKey is the name of the folder level that carries the partition (dt=2026-01-31). Hive-style readers make a column of
// it, so no column may have the name.
const PartitionKey = "dt"

// signs is a run of what isn't a letter, a digit or an underscore, with the underscores on both sides of it.
var signs = lazy.Regexp(`_*[^A-Za-z0-9_]+[^A-Za-z0-9]*`)

// ColumnName gives the name for the columns of an event, which Parquet readers and warehouses take without quoting: its slug, with an
// underscore in the place of blanks and other signs. It is false for a slug that has letters of another alphabet, or no letter and
// no digit, and so needs a name that a person gives.
func ColumnName(slug string) (name string, ok bool) {
	for _, r := range slug {
		if r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) {
			return "", false
		}
	}
	name = slug
	if signs().MatchString(slug) {
		name = strings.Trim(signs().ReplaceAllString(slug, "_"), "_")
	}
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name, strings.Trim(name, "_") != ""
}
