package catalog

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/reportferry/reportferry/internal/lazy"
)

// PartitionKey is the name of the folder level that carries the partition (dt=2026-01-31).
// Hive-style readers make a column of it, so no column may have the name.
const PartitionKey = "dt"

var (
	plainName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// signs is a run of what isn't a letter, a digit or an underscore, with the underscores on both
	// sides of it.
	signs = lazy.Regexp(`_*[^A-Za-z0-9_]+[^A-Za-z0-9]*`)
)

// ColumnName gives the name for the columns of an event or of a metric, which Parquet readers and
// warehouses take without quoting: its slug, with an underscore in the place of blanks and other
// signs, Latin letters without their accents, and the code points of other letters in hexadecimal
// digits, as in u43f. Two slugs may get the same name. Only an empty slug has an empty name.
func ColumnName(slug string) string {
	if slug == "" || plainName().MatchString(slug) {
		return slug
	}
	// The column of an event's metric begins with the event's own column name.
	if _, event, ok := patterns().match(slug, true, nil); ok {
		return ColumnName(event) + slug[len(event):]
	}
	name := strings.Trim(signs().ReplaceAllString(coded(slug, false), "_"), "_")
	if name == "" {
		name = coded(slug, true)
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// coded returns a slug with the code points of letters beyond ASCII in their place, or of all
// characters, and without accents.
func coded(slug string, all bool) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(slug) {
		switch letter := r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)); {
		case all || letter && (r < 0x300 || r > 0x36f):
			fmt.Fprintf(&b, "u%x", r)
		case !letter:
			b.WriteRune(r)
		}
	}
	return b.String()
}
