package stricttest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"
)

// A Section is one mapping of a file.
type Section struct {
	Title, Doc string
	Of         string // ends the titles of the mappings in it, such as "of a job"
	Schema     *jsonschema.Schema
}

// Reference returns the part of a document that describes every key, as tables in Markdown.
func Reference(sections []Section) string {
	text := &strings.Builder{}
	for _, s := range sections {
		section(text, s)
	}
	return text.String()
}

// section writes a heading and the table of a mapping, and then those of the mappings within it.
func section(text *strings.Builder, s Section) {
	fmt.Fprintf(text, "\n### %s\n\n", s.Title)
	if s.Doc != "" {
		fmt.Fprintf(text, "%s\n\n", s.Doc)
	}
	text.WriteString("| Key | Value | Default | Meaning |\n|---|---|---|---|\n")
	var within []*inner
	rows(text, "", s.Schema, &within)
	for _, t := range within {
		title := "`" + strings.Join(t.keys, "`, `") + "`"
		of := "of " + title
		if s.Of != "" {
			title += " " + s.Of
		}
		section(text, Section{Title: title, Of: of, Schema: t.schema})
	}
}

// An inner is a mapping that has a table of its own. Mappings with the same keys share one.
type inner struct {
	keys   []string // the keys whose values are such mappings
	names  string   // see names; it tells mappings apart
	schema *jsonschema.Schema
}

// rows writes a row for each key. A value that is a mapping with keys of its own is added to
// within, and gets a table after this one. A mapping whose values are all such mappings gets a
// single table, with dotted names.
func rows(text *strings.Builder, prefix string, s *jsonschema.Schema, within *[]*inner) {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		key, v := prefix+p.Key, p.Value
		if prefix == "" && allMappings(s) {
			rows(text, key+".", keysOf(v), within)
			continue
		}
		byDefault := ""
		switch {
		case slices.Contains(s.Required, p.Key):
			byDefault = "required"
		case v.Default != nil:
			byDefault = "`" + inline(v.Default) + "`"
		}
		if keys := keysOf(v); keys != nil {
			i := slices.IndexFunc(*within, func(t *inner) bool { return t.names == names(keys) })
			if i < 0 {
				i, *within = len(*within), append(*within, &inner{names: names(keys), schema: keys})
			}
			(*within)[i].keys = append((*within)[i].keys, key)
		}
		meaning := code(strings.TrimSpace(v.Description), v)
		if len(v.Examples) > 0 {
			meaning += " Example: `" + p.Key + ": " + inline(v.Examples[0]) + "`."
		}
		fmt.Fprintf(text, "| `%s` | %s | %s | %s |\n", key, kindOfValue(v), byDefault,
			strings.ReplaceAll(meaning, "|", `\|`))
	}
}

// codeWords matches the words that a document shows as code: names of keys, flags and variables.
var codeWords = regexp.MustCompile(
	`\$\{[A-Z]+\}|--[a-z-]+|_?[a-z0-9]+(_[a-z0-9]+)+|\{date\}|[a-z0-9]+://[a-z/]*|@[a-z]+`)

// code puts backquotes around the words of a text that are code, among them the allowed words of
// the value that s describes. Text in backquotes stays as it is.
func code(text string, s *jsonschema.Schema) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = codeWords.ReplaceAllStringFunc(parts[i], func(word string) string { return "`" + word + "`" })
		for _, one := range append([]*jsonschema.Schema{s}, s.AnyOf...) {
			for _, word := range append(slices.Clone(one.Enum), one.Const) {
				if w, ok := word.(string); ok && !strings.Contains(w, "_") {
					parts[i] = regexp.MustCompile(`(^|[ (])`+w+`([ ,.;:)]|$)`).ReplaceAllString(parts[i], "$1`"+w+"`$2")
				}
			}
		}
	}
	return strings.Join(parts, "`")
}

// keysOf returns the schema of the mapping that a value is, or that the elements of a list are; nil
// when there is no such mapping.
func keysOf(s *jsonschema.Schema) *jsonschema.Schema {
	for _, one := range append([]*jsonschema.Schema{s, s.Items}, s.AnyOf...) {
		if one != nil && one.Properties != nil && one.Properties.Len() > 0 {
			return one
		}
	}
	return nil
}

// allMappings reports whether every value of a mapping is one for which keysOf finds a mapping.
func allMappings(s *jsonschema.Schema) bool {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if keysOf(p.Value) == nil {
			return false
		}
	}
	return true
}

// names returns the keys of a mapping, separated by spaces.
func names(s *jsonschema.Schema) string {
	var list []string
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		list = append(list, p.Key)
	}
	return strings.Join(list, " ")
}

// mostWords is how many allowed words a table shows; the schema has all of them.
const mostWords = 10

// kindOfValue says in words what a value looks like.
func kindOfValue(s *jsonschema.Schema) string {
	switch {
	case s.Title != "":
		return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s.Title, "a "), "an "), "the ")
	case s.Const != nil:
		return "`" + inline(s.Const) + "`"
	case s.Enum != nil:
		var words []string
		for _, word := range s.Enum {
			if text, ok := word.(string); ok {
				words = append(words, "`"+text+"`")
			}
		}
		if len(words) > mostWords {
			return fmt.Sprintf("one of %d names, such as %s", len(words), strings.Join(words[:3], ", "))
		}
		return strings.Join(words, ", ")
	case s.Ref != "":
		return "mapping"
	case s.Type == "array" && kindOfValue(s.Items) == "mapping":
		return "list of mappings"
	case s.Type == "array":
		return "list: " + kindOfValue(s.Items)
	case s.Properties != nil:
		return "mapping"
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties != jsonschema.FalseSchema:
		return "mapping of names to values: " + kindOfValue(s.AdditionalProperties)
	case s.Type == "object":
		return "mapping"
	case s.Type == "boolean":
		return "`true`, `false`"
	case s.Type == "integer":
		return fmt.Sprintf("whole number from %s to %s", s.Minimum, s.Maximum)
	case s.Type == "number" && s.ExclusiveMinimum != "":
		return fmt.Sprintf("number above %s", s.ExclusiveMinimum)
	case s.Type == "number":
		return "number"
	case s.Type == "string" && s.AnyOf != nil:
		return "text"
	case s.AnyOf != nil:
		var kinds []string
		for _, one := range s.AnyOf {
			kinds = append(kinds, kindOfValue(one))
		}
		return strings.Join(kinds, ", or ")
	}
	return "text"
}

// inline returns a value as a line of YAML.
func inline(v any) string {
	if number, ok := v.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	text, err := yaml.MarshalWithOptions(v, yaml.Flow(true))
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}
