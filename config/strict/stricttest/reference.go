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
	Title  string
	Doc    string // the text below the title; may be empty
	Of     string // ends the titles of the mappings in it, such as "of a job"
	Schema *jsonschema.Schema
}

// Reference returns the part of a document that describes every key, as tables in Markdown. What is
// the same in several of them is described in the first one, and the others link to it.
func Reference(sections []Section) string {
	r := &reference{first: map[string]string{}}
	for _, s := range sections {
		r.section(s)
	}
	return r.text.String()
}

// A reference is a document that is being written.
type reference struct {
	text  strings.Builder
	first map[string]string // a key with its meaning, or a whole row -> title of the section that had it first
}

// A row describes a key, or several keys that are alike.
type row struct {
	key       string // or several, with backquotes and commas between them
	value     string // what the value looks like
	byDefault string // the default in backquotes, or the word required; may be empty
	meaning   string
	example   string // may be empty
}

// An inner is a mapping that has a table of its own. Mappings with the same keys share one.
type inner struct {
	keys   []string // the keys whose values are such mappings
	names  string   // what the function names returns of schema, by which mappings are told apart
	schema *jsonschema.Schema
}

// section writes a heading and the table of a mapping, and then those of the mappings within it.
func (r *reference) section(s Section) {
	fmt.Fprintf(&r.text, "\n### %s\n\n", s.Title)
	if s.Doc != "" {
		fmt.Fprintf(&r.text, "%s\n\n", s.Doc)
	}
	var within []*inner
	all := r.elsewhere(s.Title, joined(rows("", s.Schema, &within)))
	if len(all) > 0 {
		r.text.WriteString("| Key | Value | Default | Meaning |\n|---|---|---|---|\n")
	}
	for _, one := range all {
		fmt.Fprintf(&r.text, "| `%s` | %s | %s | %s |\n", one.key, one.value, one.byDefault,
			strings.ReplaceAll(one.meaning+one.example, "|", `\|`))
	}
	for _, t := range within {
		title := "`" + strings.Join(t.keys, "`, `") + "`"
		of := "of " + title
		if s.Of != "" {
			title += " " + s.Of
		}
		r.section(Section{Title: title, Of: of, Schema: t.schema})
	}
}

// elsewhere writes which keys are the same as in an earlier section, and returns the other rows. A
// row that differs only in its value or its default has a link for its meaning.
func (r *reference) elsewhere(title string, all []row) (here []row) {
	same := map[string][]string{} // section that had the keys first -> keys
	var order []string
	for _, one := range all {
		meaning, whole := one.key+"\n"+one.meaning, fmt.Sprintf("%q", one)
		before, known := r.first[meaning]
		switch {
		case !known:
			r.first[meaning], r.first[whole] = title, title
		case r.first[whole] == before:
			if same[before] == nil {
				order = append(order, before)
			}
			same[before] = append(same[before], "`"+one.key+"`")
			continue
		default:
			one.meaning = "As under " + link(before) + "."
		}
		here = append(here, one)
	}
	for _, before := range order {
		keys, verb := same[before][0], "is"
		if last := len(same[before]) - 1; last > 0 {
			keys, verb = strings.Join(same[before][:last], ", ")+" and "+same[before][last], "are"
		}
		fmt.Fprintf(&r.text, "%s %s as under %s.\n", keys, verb, link(before))
	}
	if len(order) > 0 && len(here) > 0 {
		r.text.WriteString("\n")
	}
	return here
}

// unanchored matches what the anchor of a heading leaves out.
var unanchored = regexp.MustCompile("[^A-Za-z0-9_ -]")

// link returns a link to a section, for the middle of a sentence.
func link(title string) string {
	text := strings.ToLower(title[:1]) + title[1:]
	anchor := strings.ToLower(unanchored.ReplaceAllString(title, ""))
	return "[" + text + "](#" + strings.ReplaceAll(anchor, " ", "-") + ")"
}

// joined puts keys that are alike in all but their names into one row, where the first of them is.
func joined(all []row) (list []row) {
	for _, one := range all {
		i := slices.IndexFunc(list, func(other row) bool {
			return other.value == one.value && other.byDefault == one.byDefault && other.meaning == one.meaning &&
				other.example == "" && one.example == ""
		})
		if i < 0 {
			list = append(list, one)
		} else {
			list[i].key += "`, `" + one.key
		}
	}
	return list
}

// rows returns a row for each key. A value that is a mapping with keys of its own is added to
// within, and gets a table after this one. A mapping whose values are all such mappings gets a
// single table, with dotted names.
func rows(prefix string, s *jsonschema.Schema, within *[]*inner) (list []row) {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		key, v := prefix+p.Key, p.Value
		if prefix == "" && allMappings(s) {
			list = append(list, rows(key+".", keysOf(v), within)...)
			continue
		}
		one := row{key: key, value: kindOfValue(v), meaning: code(strings.TrimSpace(v.Description), v)}
		switch {
		case slices.Contains(s.Required, p.Key):
			one.byDefault = "required"
		case v.Default != nil:
			one.byDefault = "`" + inline(v.Default) + "`"
		}
		if keys := keysOf(v); keys != nil {
			i := slices.IndexFunc(*within, func(t *inner) bool { return t.names == names(keys) })
			if i < 0 {
				i, *within = len(*within), append(*within, &inner{names: names(keys), schema: keys})
			}
			(*within)[i].keys = append((*within)[i].keys, key)
		}
		if len(v.Examples) > 0 && !shown(inline(v.Examples[0]), one.value+one.byDefault) {
			one.example = " Example: `" + p.Key + ": " + inline(v.Examples[0]) + "`."
		}
		list = append(list, one)
	}
	return list
}

// examples matches what a table says of a value that needs no other example: a number, a form that
// is shown, or a reference, which the page's text explains.
var examples = regexp.MustCompile(`number (from|above) [0-9]|(such as|as in|of the form) |^reference`)

// shown reports whether the columns before the meaning show already what an example does. They
// don't show how a list is written.
func shown(example, columns string) bool {
	return strings.Contains(columns, "`"+example+"`") ||
		examples.MatchString(columns) && !strings.HasPrefix(columns, "list: ")
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
	case strings.HasPrefix(s.Title, "a reference, "):
		return "reference"
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
