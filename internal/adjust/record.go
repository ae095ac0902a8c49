package adjust

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Text is a string of an answer. Where the service sends anything else, and its documents don't say what, it is that
// value's JSON; of null it is empty.
type Text string

// UnmarshalJSON takes any value.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s *string
	if json.Unmarshal(b, &s) != nil {
		*t = Text(b)
		return nil
	}
	*t = ""
	if s != nil {
		*t = Text(*s)
	}
	return nil
}

// unmarshalRecord reads a record into f, numbers of unknown meaning as json.Number, and returns the fields that F has no
// place for; nil when there are none.
func unmarshalRecord[F any](record []byte, f *F) (map[string]json.RawMessage, error) {
	*f = *new(F)
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	if err := d.Decode(f); err != nil {
		return nil, err
	}
	return without(record, fieldsOf[F]())
}

// fieldsOf is the names in JSON of a struct's fields.
func fieldsOf[F any]() []string {
	var names []string
	for field := range reflect.TypeFor[F]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// without is a record's fields except the known ones; nil when there are none.
func without(record []byte, known []string) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(record, &all); err != nil {
		return nil, err
	}
	for _, name := range known {
		delete(all, name)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}
