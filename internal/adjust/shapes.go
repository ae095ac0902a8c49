package adjust

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// ErrUnclear means that the service answered, but that its answer shows neither what was asked for
// nor that it doesn't exist.
var ErrUnclear = errors.New("the answer doesn't tell")

// An unclearError is an ErrUnclear that says what came.
type unclearError struct{ came string }

func (e *unclearError) Error() string        { return ErrUnclear.Error() + ": it is " + e.came }
func (e *unclearError) Is(target error) bool { return target == ErrUnclear }

// Unclear reports whether err means that the service answered, and yet left open whether what was
// asked for exists: any 4xx that is about this one request, or an answer of another shape. A
// missing or invalid credential (401, 407), a time-out (408), too many requests (429) and the
// service's own trouble aren't unclear.
func Unclear(err error) bool {
	var e *Error
	switch {
	case !errors.As(err, &e) || e.Status >= 500:
		return false
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusProxyAuthRequired,
		e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests:
		return false
	}
	return e.Status >= 400 || errors.Is(err, ErrUnclear)
}

// sendCall sends a call and returns its answer: an object or a list of any shape, null, or nothing
// when it is empty (204). No endpoint answers with a plain value, so that one is Unclear.
func sendCall(ctx context.Context, c *Client, q call) (json.RawMessage, error) {
	r, err := c.automationRequest(q)
	if err != nil {
		return nil, err
	}
	raw, _, err := fetchJSON[json.RawMessage](ctx, c, r, q.what)
	if raw = bytes.TrimSpace(raw); err == nil && len(raw) > 0 && !strings.ContainsRune("[{n", rune(raw[0])) {
		return nil, q.unclear(raw)
	}
	return raw, err
}

// unclear returns the error of a call whose answer has another shape, with more behind it. It names
// only the shape, because the answer may hold secrets.
func (q call) unclear(raw json.RawMessage, more ...string) error {
	e := &Error{Op: q.op, Status: http.StatusOK, Attempts: 1, Err: &unclearError{shapeOf(raw) + strings.Join(more, "")}}
	if len(raw) == 0 {
		e.Status = http.StatusNoContent
	}
	return e
}

// shapeOf says in words what kind of JSON value raw is.
func shapeOf(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return "empty"
	case bytes.Equal(raw, []byte("null")):
		return "null"
	case raw[0] == '[' && len(asList(raw)) == 0:
		return "an empty list"
	case raw[0] == '[':
		return "a list of something else"
	case raw[0] == '{' && len(asObject(raw)) == 0:
		return "an empty object"
	case raw[0] == '{':
		return "an object of something else"
	}
	return "a plain value"
}

// asObject returns raw as an object, or nil if it is none.
func asObject(raw json.RawMessage) (o map[string]json.RawMessage) {
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// asList returns raw as a list, or nil if it is none.
func asList(raw json.RawMessage) (list []json.RawMessage) {
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// unwrap unwraps an answer, up to three times: if raw is an object with none of the answer's own
// fields, it goes on with the object or list in one of raw's other fields. These are names, then
// data, result, results and items; the first that raw has is taken.
func unwrap(raw json.RawMessage, own []string, names ...string) json.RawMessage {
	names = append(names, "data", "result", "results", "items")
	for range 3 {
		o := asObject(raw)
		if o == nil || hasAny(o, own) {
			return raw
		}
		at := ""
		for _, name := range names {
			if v := bytes.TrimSpace(field(o, name)); len(v) > 0 && (v[0] == '{' || v[0] == '[') {
				at = name
				break
			}
		}
		if at == "" {
			return raw
		}
		raw = bytes.TrimSpace(field(o, at))
	}
	return raw
}

// hasAny reports whether an object has one of these fields.
func hasAny(o map[string]json.RawMessage, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return field(o, name) != nil })
}

// field returns the field of this name, in whatever case it comes, as encoding/json matches names.
func field(o map[string]json.RawMessage, name string) json.RawMessage { return o[keyOf(o, name)] }

// keyOf returns the name of a field as o writes it, or the name itself if o has no such field.
func keyOf(o map[string]json.RawMessage, name string) string {
	if _, ok := o[name]; ok {
		return name
	}
	for key := range o {
		if strings.EqualFold(key, name) {
			return key
		}
	}
	return name
}

// Unmarshal reads JSON of an answer into what v points to. It reads the fields of structs one by
// one, also within other structs and lists:
//
//   - A number in place of a text becomes the text of its digits.
//   - A value that doesn't fit its field is left out.
//   - A number that is read into an any becomes a json.Number.
//   - The field Unknown, where a struct has one, gets all fields that weren't read.
func Unmarshal(raw []byte, v any) error { return readValue(raw, reflect.ValueOf(v).Elem()) }

// readValue does Unmarshal's work for one value.
func readValue(raw []byte, v reflect.Value) error {
	_, own := v.Addr().Interface().(json.Unmarshaler)
	if all := asObject(raw); all != nil && v.Kind() == reflect.Struct && !own {
		readFields(all, v)
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(v.Addr().Interface())
	if err == nil || own {
		return err
	}
	list := asList(raw)
	switch {
	case v.Kind() == reflect.Slice && list != nil:
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, item := range list {
			if err := readValue(item, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case v.Kind() == reflect.String && list == nil && asObject(raw) == nil:
		v.SetString(string(raw))
		return nil
	}
	return err
}

// readFields reads the fields of an object into those of a struct, by their json tags.
func readFields(all map[string]json.RawMessage, v reflect.Value) {
	v.SetZero()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		name = keyOf(all, name)
		raw, ok := all[name]
		if !ok {
			continue
		}
		if readValue(raw, v.Field(i)) != nil {
			v.Field(i).SetZero()
			continue
		}
		delete(all, name)
	}
	if unknown := v.FieldByName("Unknown"); unknown.IsValid() && len(all) > 0 {
		unknown.Set(reflect.ValueOf(all))
	}
}

// textOf returns the first of the named fields that is a text and not empty, and deletes it from o.
func textOf(o map[string]json.RawMessage, names ...string) (text string) {
	for _, name := range names {
		if json.Unmarshal(field(o, name), &text) == nil && text != "" {
			delete(o, keyOf(o, name))
			return text
		}
	}
	return ""
}
