package config

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// Schema is the JSON Schema (draft 2020-12) of a config, for editors that complete and check while one types. It is
// made from the tables that the decoder reads by, and takes every file that Parse takes.
func Schema() ([]byte, error) {
	s := configObject(new(Config)).schema()
	s.Version = jsonschema.Version
	s.Title = "reportferry config"
	s.Description = "What reportferry ferries where. In a text, ${NAME} stands for the value of an environment variable, and $${ for ${ itself."
	s.Definitions = jsonschema.Definitions{}
	job := &jsonschema.Schema{
		Type: "object", Required: []string{"kind"}, Properties: jsonschema.NewProperties(),
	}
	kind := kindName.schema()
	job.Properties.Set("kind", kind)
	for _, k := range kinds {
		kind.Description += fmt.Sprintf("%s: %s\n", k.name, k.doc)
		one := jsonschema.NewProperties()
		one.Set("kind", &jsonschema.Schema{Const: k.name})
		job.AllOf = append(job.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: one, Required: []string{"kind"}},
			Then: &jsonschema.Schema{Ref: "#/$defs/" + k.name},
		})
		s.Definitions[k.name] = jobObject(new(Job), k).schema()
	}
	s.Definitions["job"] = job
	variables(s)
	return indented(s)
}

// AppsSchema is the JSON Schema of a file of apps. It takes every file that ParseApps takes.
func AppsSchema() ([]byte, error) {
	s := appsFileObject(new([]App)).schema()
	s.Version = jsonschema.Version
	s.Title = "reportferry apps"
	s.Description = "The apps that a job of kind apps keeps as they are declared here."
	return indented(s)
}

func indented(s *jsonschema.Schema) ([]byte, error) {
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write a schema: %w", err)
	}
	return append(out, '\n'), nil
}
