package apps

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// maxJSON is the most bytes of a body. A longer body is read and thrown away, up to maxDrained
// bytes, so that its sender gets to read the answer.
const (
	maxJSON    = 1 << 20
	maxDrained = 64 << 20
	maxDepth   = 64 // objects and lists in each other: what is kept has to be read again
)

// fieldErrors gathers all that is wrong with a request, so that one answer names all of it.
type fieldErrors struct{ list []wire.FieldError }

// add notes what is wrong at a place, such as body, stores, 2.
func (e *fieldErrors) add(at []any, msg string) {
	e.list = append(e.list, wire.FieldError{Loc: append([]any(nil), at...), Msg: msg})
}

// err returns the answer that names all that is wrong, or nil when nothing is.
func (e *fieldErrors) err() error {
	if len(e.list) == 0 {
		return nil
	}
	return &wire.Error{Status: http.StatusUnprocessableEntity, Code: wire.CodeValidation,
		Desc: "Request validation failed", Details: e.list}
}

// invalid returns the error of one thing that is wrong at a place.
func invalid(msg string, at ...any) error {
	var e fieldErrors
	e.add(at, msg)
	return e.err()
}

// fields is a JSON object of a request. The methods that read it note in errs what is wrong, and
// return the zero value then. A null counts as absent.
type fields struct {
	values map[string]any
	at     []any // the object's place in the request
	errs   *fieldErrors
}

// readFields reads a request's body. An absent one is wrong unless it is optional.
func readFields(r *http.Request, optional bool) (fields, error) {
	f := fields{values: map[string]any{}, at: []any{"body"}, errs: &fieldErrors{}}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxJSON+1))
	if err != nil {
		return f, wire.BadRequest("The request body could not be read")
	}
	if len(body) > maxJSON {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxDrained))
		return f, wire.BadRequest("The request body is longer than 1 MiB")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		if optional {
			return f, nil
		}
		return f, invalid("Field required", "body")
	}
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return f, invalid("Content-Type should be application/json", "body")
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if !utf8.Valid(body) || d.Decode(&value) != nil || d.Decode(new(any)) != io.EOF {
		return f, invalid("JSON decode error", "body")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return f, invalid("Input should be a valid dictionary", "body")
	}
	if deeper(value, maxDepth) {
		return f, invalid("Input is nested too deeply", "body")
	}
	f.values = object
	return f, nil
}

// deeper reports whether objects and lists are nested in value more than this many times.
func deeper(value any, than int) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if than == 0 || deeper(inner, than-1) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if than == 0 || deeper(inner, than-1) {
				return true
			}
		}
	}
	return false
}

// loc returns the place of a field, or of something within it.
func (f fields) loc(name string, more ...any) []any {
	return append(append(append([]any(nil), f.at...), name), more...)
}

// wrong notes what is wrong with a field.
func (f fields) wrong(name, msg string) { f.errs.add(f.loc(name), msg) }

// has reports whether a field is there and not null.
func (f fields) has(name string) bool { return f.values[name] != nil }

// need reports whether a field is there, and notes in errs if it isn't.
func (f fields) need(name string) bool {
	if !f.has(name) {
		f.wrong(name, "Field required")
	}
	return f.has(name)
}

// text reads a field that must be there.
func (f fields) text(name string) string {
	if !f.need(name) {
		return ""
	}
	return f.optionalText(name)
}

// optionalText reads a text; "" when it is absent.
func (f fields) optionalText(name string) string {
	if !f.has(name) {
		return ""
	}
	return textAt(f.values[name], f.errs, f.loc(name))
}

// textAt reads a text of at least one character.
func textAt(value any, errs *fieldErrors, at []any) string {
	s, ok := value.(string)
	switch {
	case !ok:
		errs.add(at, "Input should be a valid string")
	case s == "":
		errs.add(at, "String should have at least 1 character")
	case strings.ContainsFunc(s, unicode.IsControl):
		// These values go into headers and files of partners.
		errs.add(at, "String should not contain control characters")
	default:
		return s
	}
	return ""
}

// boolean reads true or false; it returns absent when the field isn't there.
func (f fields) boolean(name string, absent bool) bool {
	if !f.has(name) {
		return absent
	}
	b, ok := f.values[name].(bool)
	if !ok {
		f.wrong(name, "Input should be a valid boolean")
	}
	return b
}

// count reads a whole number of at least 1; it returns absent when the field isn't there.
func (f fields) count(name string, absent int) int {
	if !f.has(name) {
		return absent
	}
	number, ok := f.values[name].(json.Number)
	n, err := number.Int64()
	switch {
	case !ok || err != nil || n > math.MaxInt32:
		f.wrong(name, "Input should be a valid integer")
	case n < 1:
		f.wrong(name, "Input should be greater than or equal to 1")
	}
	return int(n)
}

// list reads a list; nil when there is none.
func (f fields) list(name string) []any {
	if !f.has(name) {
		return nil
	}
	l, ok := f.values[name].([]any)
	if !ok {
		f.wrong(name, "Input should be a valid list")
	}
	return l
}

// texts reads a list of texts.
func (f fields) texts(name string) []string {
	var out []string
	for i, v := range f.list(name) {
		out = append(out, textAt(v, f.errs, f.loc(name, i)))
	}
	return out
}

// object reads an object; without one its values are nil.
func (f fields) object(name string) fields {
	return objectAt(f.values[name], f.errs, f.loc(name))
}

// itemAt reads an item of a list, which can't be absent.
func itemAt(value any, errs *fieldErrors, at []any) (o fields, ok bool) {
	if value == nil {
		errs.add(at, "Input should be a valid dictionary")
		return o, false
	}
	o = objectAt(value, errs, at)
	return o, o.values != nil
}

// objectAt reads an object at a place; without one its values are nil.
func objectAt(value any, errs *fieldErrors, at []any) fields {
	o := fields{at: at, errs: errs}
	if value == nil {
		return o
	}
	var ok bool
	if o.values, ok = value.(map[string]any); !ok {
		errs.add(at, "Input should be a valid dictionary")
	}
	return o
}
