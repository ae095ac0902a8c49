package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A part is one file of the bundle, as far as others refer to it.
type part struct {
	UUID         string         `yaml:"uuid"`
	DatasetUUID  string         `yaml:"dataset_uuid"`
	DatabaseUUID string         `yaml:"database_uuid"`
	SQL          string         `yaml:"sql"`
	Position     map[string]any `yaml:"position"`
}

// What a file of the bundle refers to is in it: a dashboard's charts, their datasets, the database
// of these. .ci/superset imports it into a real Superset.
func TestSupersetBundleIsWhole(t *testing.T) {
	files, err := filepath.Glob("bi/superset/*/*.yaml")
	more, _ := filepath.Glob("bi/superset/*/*/*.yaml")
	if files = append(files, more...); err != nil || len(files) < 20 {
		t.Fatalf("%v; %d files", err, len(files))
	}
	known, parts := map[string]string{}, map[string]part{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p part
		if err := yaml.Unmarshal(content, &p); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if other := known[p.UUID]; p.UUID == "" || other != "" {
			t.Errorf("%s has the identity %q, as %q has", file, p.UUID, other)
		}
		known[p.UUID], parts[file] = file, p
	}
	for file, p := range parts {
		refers := []string{p.DatasetUUID, p.DatabaseUUID}
		for _, place := range p.Position {
			cell, _ := place.(map[string]any)
			if meta, is := cell["meta"].(map[string]any); is && cell["type"] == "CHART" {
				refers = append(refers, fmt.Sprint(meta["uuid"]))
			}
		}
		for _, r := range refers {
			if r != "" && known[r] == "" {
				t.Errorf("%s refers to %s, which isn't in the bundle", file, r)
			}
		}
	}
}

var ofCohorts = regexp.MustCompile(`\bc\.([a-z0-9_]+)`)

// The columns that the datasets read of cohorts_daily are those that the preset gives it.
func TestSupersetReadsThePreset(t *testing.T) {
	preset, err := os.ReadFile("../config/preset/testdata/cohorts.yml")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(preset), "name: roas_weekly")
	for _, name := range []string{"performance", "cohorts"} {
		content, err := os.ReadFile("bi/superset/datasets/reportferry/reportferry_" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		found := ofCohorts.FindAllStringSubmatch(string(content), -1)
		if len(found) < 10 {
			t.Errorf("%s reads %d columns", name, len(found))
		}
		for _, column := range found {
			if !regexp.MustCompile(`\b` + column[1] + `\b`).MatchString(table) {
				t.Errorf("%s reads %s, which the preset's table hasn't", name, column[1])
			}
		}
	}
}
