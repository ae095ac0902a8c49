package draft

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/internal/lazy"
)

// longestLine is how many bytes a line may have. A list that doesn't fit gets one line for each
// element, and a comment that doesn't fit goes above its key.
const longestLine = 80

// entry writes an element of a list, which is a mapping.
func (w *writer) entry(depth int, keys []Key) {
	inner := &writer{}
	inner.keys(depth+1, keys)
	w.WriteString(indent(depth) + "- " + strings.TrimPrefix(inner.String(), indent(depth+1)))
}

// keys writes a mapping, a line for each key that isn't a mapping itself. A key whose value is an
// Off is written as a comment.
func (w *writer) keys(depth int, keys []Key) {
	for _, k := range keys {
		if off, ok := k.Value.(Off); ok {
			inner := &writer{}
			inner.keys(0, []Key{{k.Name, off.Value, k.Comment}})
			for line := range strings.Lines(inner.String()) {
				w.line(depth, "# "+strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "# "))
			}
			continue
		}
		if entries, ok := k.Value.([][]Key); ok {
			if k.Comment != "" {
				w.comment(depth, []string{k.Comment})
			}
			w.line(depth, text(k.Name)+":")
			for _, e := range entries {
				w.entry(depth+1, e)
			}
			continue
		}
		if inner, ok := k.Value.([]Key); ok {
			if k.Comment != "" {
				w.comment(depth, []string{k.Comment})
			}
			w.line(depth, text(k.Name)+":")
			w.keys(depth+1, inner)
			continue
		}
		line, behind := text(k.Name)+": "+value(k.Value), ""
		if k.Comment != "" {
			behind = "   # " + k.Comment
		}
		list, isList := k.Value.([]string)
		switch {
		case isList && len(indent(depth)+line) > longestLine:
			w.line(depth, text(k.Name)+":"+behind)
			for _, element := range list {
				w.line(depth+1, "- "+text(element))
			}
		case len(indent(depth)+line+behind) > longestLine && behind != "":
			w.comment(depth, []string{k.Comment})
			w.line(depth, line)
		default:
			w.line(depth, line+behind)
		}
	}
}

// value returns a text, a number, a bool or a list of texts as YAML writes it on one line.
func value(v any) string {
	switch v := v.(type) {
	case string:
		return text(v)
	case []string:
		var texts []string
		for _, element := range v {
			texts = append(texts, text(element))
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// unquoted matches texts that need no quotes in YAML, neither by themselves nor in a list in
// brackets: a span of time such as 7d or -1m, or a word, path or URL without special characters. A
// colon stands only before the two slashes of a URL.
var unquoted = lazy.Regexp(`^(-?[0-9]+[dhmqswy]|[A-Za-z_./][A-Za-z0-9_./=-]*(://[A-Za-z0-9_./=-]*)?)$`)

// nonText matches what YAML takes for something else than a text.
var nonText = lazy.Regexp(`^(?i:y|n|yes|no|on|off|true|false|null|\.?(inf|nan)|[.0-9_]+(e[0-9]+)?)$`)

// text returns a text as YAML writes it, in quotes where it needs them. A JSON string is one of
// YAML too.
func text(s string) string {
	if unquoted().MatchString(s) && !nonText().MatchString(s) {
		return s
	}
	b := &strings.Builder{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("a text can be quoted: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
