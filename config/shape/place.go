package shape

import (
	"path/filepath"
	"strings"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/rooted"
)

// Place makes the field of an optional key whose value is, or contains, a path that may be
// relative. Show gives the value as it was written, and then the absolute path.
func Place(key string, s strict.Shape[string], to *string, example, doc string) strict.Field {
	f := strict.Optional(key, s, to, example, doc).Noting(func() string { return Located(*to) })
	f.Now = func() any { return strict.Plain(rooted.Written(*to)) }
	return f
}

// Mandatory makes a key mandatory.
func Mandatory(f strict.Field) strict.Field {
	f.Required = true
	return f
}

// Located lists the absolute paths of the places that were written as relative paths.
func Located(places ...string) string {
	var list []string
	for _, p := range places {
		switch folder := rooted.Folder(p); {
		case folder != "" && rooted.Written(p) != p:
			list = append(list, folder)
		case strings.HasPrefix(p, "${file:"):
			list = append(list, p)
		case p != "" && !strings.Contains(p, "://") && !strings.HasPrefix(p, "${"):
			if abs, err := filepath.Abs(p); err == nil {
				list = append(list, abs)
			}
		}
	}
	return strings.Join(list, ", ")
}
