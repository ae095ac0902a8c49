package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"
)

// A OneOf has one value of each type that an answer can have, for AddOutput.
type OneOf []any

// AnswerSchema returns the JSON Schema of what a command with an Output prints as JSON, or of a
// line of it.
func AnswerSchema(cmd *cobra.Command) ([]byte, error) {
	o := cmd.Flags().Lookup("output").Value.(*Output)
	if schema, is := o.answer.(func() ([]byte, error)); is {
		return schema()
	}
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, Mapper: asText,
		AdditionalFields: asWritten}
	schema := r.Reflect(o.answer)
	if all, is := o.answer.(OneOf); is {
		schema = &jsonschema.Schema{Version: jsonschema.Version}
		for _, one := range all {
			s := r.Reflect(one)
			s.Version = ""
			schema.AnyOf = append(schema.AnyOf, s)
		}
	}
	schema.Title = fmt.Sprintf("%s --output json: %s", cmd.CommandPath(), o.object)
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// SchemaIDs is the beginning of the $id of every schema: an address that no other schema has, and
// that is no page either.
const SchemaIDs = "https://github.com/reportferry/reportferry/schemas/"

// Identified gives a JSON Schema its $id, which has the program's version and the schema's name.
func (p *Program) Identified(name string, schema []byte) []byte {
	return fmt.Appendf(nil, "{\n  \"$id\": %q,%s", SchemaIDs+p.Version+"/"+strings.ReplaceAll(name, " ", "-")+".json",
		schema[1:])
}

// asText returns the schema of a type that is written as text, or as a whole number of any size;
// nil for other types.
func asText(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[big.Int]() {
		return &jsonschema.Schema{Type: "integer"}
	}
	if t.PkgPath() != "time" && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// asWritten returns the fields of a struct that have neither omitempty nor omitzero, with tags for
// the schema that say how package encoding/json writes them: always, and as null for a slice, a map
// or a pointer that is nil.
func asWritten(t reflect.Type) (fields []reflect.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		if tag := f.Tag.Get("json"); !strings.Contains(tag, ",omit") && (tag != "" || !f.Anonymous) {
			says := "required"
			switch f.Type.Kind() {
			case reflect.Slice, reflect.Map, reflect.Pointer:
				says += ",nullable"
			}
			f.Tag = reflect.StructTag(fmt.Sprintf(`jsonschema:"%s,%s" %s`, says, f.Tag.Get("jsonschema"), f.Tag))
			fields = append(fields, f)
		}
	}
	return fields
}
