package preset_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/config/preset"
)

var update = flag.Bool("update", false, "write the golden files anew")

// file is a config of presets, with what a person says besides.
func file(presets ...preset.Preset) []byte {
	c := draft.Config{Service: draft.Service{Embedded: true}}
	for _, p := range presets {
		for _, j := range p.Jobs {
			j.Sinks, j.Schedule = []string{"file://./out"}, "0 6 * * *"
			if j.Kind == "" {
				j.Currency = "USD"
			}
			c.Jobs = append(c.Jobs, j)
		}
	}
	return c.YAML()
}

// Each preset, and all of them in one config, are read without an error and without a warning: no
// name is unknown to the catalogue, and no two tables have one name.
func TestParsed(t *testing.T) {
	all := preset.All()
	for _, set := range append([][]preset.Preset{all}, slices.Collect(slices.Chunk(all, 1))...) {
		c, err := config.Parse("x.yml", file(set...), nil)
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%s: %v %v", set[0].Name, c, err)
		}
	}
}

func TestFiles(t *testing.T) {
	for _, p := range preset.All() {
		got, path := file(p), filepath.Join("testdata", p.Name+".yml")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("%s is, %v:\n%s", path, err, got)
		}
		for line := range strings.Lines(string(got)) {
			if n := utf8.RuneCountInString(line) - 1; n > 80 {
				t.Errorf("%s: %d characters wide: %s", p.Name, n, line)
			}
		}
	}
}

func TestNamed(t *testing.T) {
	if p, ok := preset.Named("cohorts"); !ok || p.Jobs[0].Name != "cohorts_daily" {
		t.Errorf("%v %v", p, ok)
	}
	if p, ok := preset.Named("list"); ok { // init --preset list prints them
		t.Errorf("%v", p)
	}
}
