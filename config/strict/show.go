package strict

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Shown is one key of a mapping, with its effective value: the one that it has after the file was
// read.
type Shown struct {
	Key   string
	Value any    // a string, a Literal, []string, []Shown of a mapping, or [][]Shown of a list of mappings
	Note  string // a remark for people: what the value amounts to, or that some of it was redacted; may be empty
}

// Literal is a number, true, false or null as YAML spells it.
type Literal string

// Show reads a file as Read does, and returns all its keys with their effective values, in the
// order of the objects' fields. Keys that the file has come with variables filled in and merge keys
// merged; keys that it leaves out come with their defaults. References to secrets aren't resolved.
// redact removes what may be secret from any other text; the note of a key tells when something was
// removed.
func Show(data []byte, o Object, opts Options, redact func(string) string) ([]Shown, []*Error, error) {
	d, warnings, err := read(data, o, opts)
	if err != nil {
		return nil, warnings, err
	}
	shown, _ := d.shown(d.body, redact).([]Shown)
	return shown, warnings, nil
}

// shown returns the value of a node in the form that Shown.Value has, redacted and escaped.
func (d *Decoder) shown(n Node, redact func(string) string) any {
	n = d.resolve(n)
	if elements, ok := d.List(n); ok {
		var texts []string
		var mappings [][]Shown
		for _, e := range elements {
			switch v := d.shown(e, redact).(type) {
			case []Shown:
				mappings = append(mappings, v)
			default:
				texts = append(texts, fmt.Sprint(v))
			}
		}
		if mappings != nil {
			return mappings
		}
		return texts
	}
	if d.IsMapping(n) {
		return d.shownMapping(n, redact)
	}
	s, isText := rawText(n)
	switch {
	case !isText:
		return Literal(n.GetToken().Value)
	case d.asIs[n]:
		return s
	}
	return d.escaped(redact(d.filled(n, s)))
}

// shownMapping returns the keys of a mapping: in the order of its object's fields, or in the order
// of the file when the file chooses the keys.
func (d *Decoder) shownMapping(n Node, redact func(string) string) any {
	entries, _ := d.entries(n, "", "", 0)
	o, isTable := d.objects[n] // true: the mapping was read by a table of fields, which says what keys there are
	if len(entries) == 0 && !isTable {
		return Literal("{}")
	}
	at := map[string]Node{}
	for _, e := range entries {
		at[e.Key] = e.Value
		if !isTable {
			o.Fields = append(o.Fields, Field{Key: e.Key})
		}
	}
	var all []Shown
	for _, f := range o.Fields {
		s := Shown{Key: f.Key}
		redacted := false
		// noting redacts a text, and notes whether that changed it.
		noting := func(text string) string {
			safe := redact(text)
			redacted = redacted || safe != text
			return safe
		}
		switch value := at[f.Key]; {
		case value != nil:
			s.Value = d.shown(value, noting)
			redacted = redacted && isText(s.Value) // the keys of an inner mapping have notes of their own
		case f.Now != nil:
			s.Value = d.safe(f.Now(), noting)
		}
		if s.Value == nil {
			continue
		}
		if f.Note != nil {
			if s.Note = f.Note(); s.Note == fmt.Sprint(s.Value) {
				s.Note = ""
			}
		}
		if redacted {
			s.Note = strings.TrimPrefix(s.Note+"; without what may be secret", "; ")
		}
		all = append(all, s)
	}
	return all
}

// isText tells whether a value is a text or a list of texts.
func isText(v any) bool {
	switch v.(type) {
	case string, []string:
		return true
	}
	return false
}

// safe redacts and escapes the value of a key that the file leaves out. That value may still be a
// text of the file, because a job may inherit it from another place.
func (d *Decoder) safe(v any, redact func(string) string) any {
	switch v := v.(type) {
	case string:
		return d.escaped(redact(v))
	case []string:
		texts := make([]string, len(v))
		for i, s := range v {
			texts[i] = d.escaped(redact(s))
		}
		return texts
	}
	return v
}

// escaped writes a text as it must be in the file, so that no part of it is read as a variable.
func (d *Decoder) escaped(text string) string {
	if d.opts.Env == nil {
		return text
	}
	return strings.ReplaceAll(text, "${", "$${")
}

// Plain converts a Go value to the form that Shown.Value has; nil: there is no value to show.
func Plain(v any) any {
	switch v.(type) {
	case bool, int, float64:
		if v = Default(v); v != nil {
			return Literal(fmt.Sprint(v))
		}
		return nil
	}
	if known := Default(v); known != nil {
		return known
	}
	r := reflect.ValueOf(v)
	switch {
	case r.IsZero() || (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0:
		return nil
	case r.Kind() != reflect.Map:
		return fmt.Sprint(v) // as its String spells it
	}
	var all []Shown
	for _, key := range r.MapKeys() {
		value := r.MapIndex(key).Interface()
		if _, are := value.([]string); !are {
			value = fmt.Sprint(value)
		}
		all = append(all, Shown{Key: key.String(), Value: value})
	}
	slices.SortFunc(all, func(a, b Shown) int { return strings.Compare(a.Key, b.Key) })
	return all
}
