// Package stricttest has what the tests of every file that package strict reads need. Without it,
// the tests of the config and of the apps file would each have a copy of it.
package stricttest

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reportferry/reportferry/config/strict"
)

// Golden compares a text with a file, or writes the file when update is set.
func Golden(t *testing.T, path, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got:\n%swant:\n%s", path, got, want)
	}
}

// Bad reads every .yml file of a folder. Each file has one mistake, and Bad compares its error with
// the .txt file beside it. No error may contain S3CRET, which stands for a secret in the files.
func Bad(t *testing.T, folder string, atLeast int, update bool, read func(path string) error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yml"))
	if err != nil || len(files) < atLeast {
		t.Fatalf("%d bad files (%v), want at least %d", len(files), err, atLeast)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yml"), func(t *testing.T) {
			err := read(path)
			if err == nil {
				t.Fatal("the file is taken for good")
			}
			got := strings.ReplaceAll(err.Error(), folder+"/", "") + "\n"
			Golden(t, strings.TrimSuffix(path, ".yml")+".txt", got, update)
			if strings.Contains(got, "S3CRET") {
				t.Error("the message repeats a secret")
			}
		})
	}
	// A message without its file is a leftover.
	messages, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range messages {
		if _, err := os.Stat(strings.TrimSuffix(path, ".txt") + ".yml"); err != nil {
			t.Error(err)
		}
	}
}

// Compile compiles a schema, with a validator that shares no code with the schema's writer. err is
// the error of writing the schema; it fails the test.
func Compile(t testing.TB, text []byte, err error) *jsonschema.Schema {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Values returns a file as an editor's schema sees it: values without their positions.
func Values(data []byte) (any, error) {
	var v any
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := yaml.UnmarshalWithOptions(data, &v, yaml.AllowDuplicateMapKey()); err != nil {
		return nil, err
	}
	return finite(v), nil
}

// finite puts text in the place of numbers that JSON doesn't have.
func finite(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = finite(e)
		}
	case []any:
		for i, e := range v {
			v[i] = finite(e)
		}
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "not finite"
		}
	}
	return v
}

// Examples checks that each field takes its own example.
func Examples(t *testing.T, o strict.Object, env strict.Env) {
	t.Helper()
	for _, f := range o.Fields {
		if f.Example == "" {
			continue
		}
		one := strict.Object{What: o.What, Fields: []strict.Field{f}}
		if _, err := strict.Read([]byte(f.Key+": "+f.Example), one, strict.Options{File: "example", Env: env}); err !=
			nil {
			t.Errorf("the example of %s in %s: %v", f.Key, o.What, err)
		}
	}
}
