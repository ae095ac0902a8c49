package result

import (
	"encoding/json"

	"github.com/invopop/jsonschema"
)

// Schema is the JSON Schema of a result.
func Schema() ([]byte, error) {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	schema := r.Reflect(&Run{})
	schema.Title = "What became of a run of reportferry"
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}
