package config

import (
	"os"
	"regexp"
	"testing"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/config/strict/stricttest"
)

// README.md is its hand-written part, testdata/readme.md, and the reference of every key.
func TestReadme(t *testing.T) {
	lead, err := os.ReadFile("testdata/readme.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := []stricttest.Section{
		{Title: "The file", Schema: configObject(new(Config)).Schema()},
		{Title: "Every job", Of: "of a job", Doc: "A job of kind spend, sharing or apps fills no table, so it has neither `sinks` nor `bigquery`.",
			Schema: strict.Object{Fields: jobFields(new(Job))}.Schema()},
	}
	for _, k := range kinds {
		sections = append(sections, stricttest.Section{Title: "Kind `" + k.name + "`", Of: "of kind `" + k.name + "`", Doc: k.doc, Schema: k.keys(new(Job)).Schema()})
	}
	stricttest.Golden(t, "README.md", string(lead)+stricttest.Reference(sections), *update)
}

// The files that README.md shows are good ones.
func TestReadmeFiles(t *testing.T) {
	lead, err := os.ReadFile("testdata/readme.md")
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(lead, -1)
	if len(files) < 2 {
		t.Fatalf("%d files in README.md", len(files))
	}
	for _, f := range files {
		c, err := Parse("README.md", f[1], testEnv)
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%v, %v in\n%s", err, c, f[1])
		}
	}
}

// The fields' examples are values that they take.
func TestExamples(t *testing.T) {
	for _, o := range []strict.Object{
		configObject(new(Config)), serviceObject(new(Service)), {What: "a job", Like: "{name: campaigns_daily, kind: report}", Fields: jobFields(new(Job))}, selectorObject(new(EventSelector)),
	} {
		stricttest.Examples(t, o, nil)
	}
	for _, k := range kinds {
		stricttest.Examples(t, k.keys(new(Job)), nil)
	}
}
