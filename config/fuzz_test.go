package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/config/strict/stricttest"
)

// FuzzParse: any file gives a config or errors with places inside the file, and never a panic. The
// schema takes what the decoder takes.
func FuzzParse(f *testing.F) {
	s := compiled(f)
	for _, pattern := range []string{"example.yml", "testdata/good/*.yml", "testdata/warn/*.yml",
		"testdata/bad/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f.yml", data, testEnv)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c, err)
		}
		if err == nil {
			v, err := stricttest.Values(data)
			if err != nil {
				return // the reader of values is stricter about some YAML
			}
			if err := s.Validate(v); err != nil {
				t.Fatalf("the schema rejects a good config: %v", err)
			}
			for _, j := range c.Jobs {
				if (j.Report != nil) != (j.Kind == "report") || (j.Events != nil) != (j.Kind == "events") {
					t.Fatalf("a job without its kind's part: %+v", j)
				}
			}
			return
		}
		for _, line := range strings.Split(err.Error(), "\n") {
			if line == "" {
				t.Fatalf("an empty line in %q", err)
			}
		}
		all, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Fatalf("%T is not a list of errors", err)
		}
		lines := 1 + strings.Count(string(data), "\n") + strings.Count(string(data), "\r")
		for _, e := range all.Unwrap() {
			var at *strict.Error
			if !errors.As(e, &at) || at.Line < 1 || at.Col < 1 || at.Line > lines {
				t.Fatalf("no place inside the file: %v", e)
			}
		}
	})
}
