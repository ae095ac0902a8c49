package see

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/config/strict"
)

func configEnv(name string) (string, bool) {
	value, set := map[string]string{
		"BUCKET": "my-bucket", "EMPTY": "", "SECRET": "S3CRET-of-the-environment", "CRON": "0 6 * * *",
		"METRIC": "installs", "SHORT": "S3CRET", "ADJUST_TOKEN": "S3CRET-token",
	}[name]
	return value, set
}

// writtenConfig is a config without its places in the file and its warnings, to be compared. What
// is shown names its root.
func writtenConfig(t testing.TB, c *config.Config) string {
	t.Helper()
	c.Warnings, c.RootNamed = nil, false
	for _, j := range c.Jobs {
		if j.Apps != nil {
			j.Apps.File = filepath.Base(j.Apps.File)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// roundTrip shows a config, and holds what is shown against it. hide is what takes secrets out of
// texts.
func roundTrip(t testing.TB, path string, data []byte, hide func(string) string) []strict.Shown {
	t.Helper()
	want, err := config.Parse(path, data, configEnv)
	if err != nil {
		return nil
	}
	shown, err := config.Show(path, data, configEnv, hide)
	if err != nil {
		t.Fatal(err)
	}
	text := draft.Keys(draftKeys(shown))
	got, err := config.Parse(path, text, configEnv)
	if err != nil {
		t.Fatalf("%s isn't a config any more: %v\n%s", path, err, text)
	}
	if got, want := writtenConfig(t, got), writtenConfig(t, want); got != want {
		t.Fatalf("%s means something else:\n%s\nwant\n%s\n%s", path, got, want, text)
	}
	again, err := config.Show(path, text, configEnv, hide)
	if err != nil {
		t.Fatal(err)
	}
	if again := string(draft.Keys(draftKeys(again))); again != string(text) {
		t.Fatalf("%s: shown again it is\n%s\nwant\n%s", path, again, text)
	}
	if _, err := json.Marshal(configObject(shown)); err != nil {
		t.Fatal(err)
	}
	return shown
}

func unhidden(text string) string { return text }

// configFiles are configs of all kinds.
func configFiles(t testing.TB) (paths []string) {
	for _, pattern := range []string{"config/testdata/good/*.yml", "config/testdata/warn/*.yml", "config/example.yml",
		"deploy/config.yml"} {
		found, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// What is shown is a config that means the same, shown again is the same text, and holds no secret.
func TestConfigShowMeansTheSame(t *testing.T) {
	for _, path := range configFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if roundTrip(t, path, data, unhidden) == nil {
			t.Errorf("%s isn't a good config", path)
		}
		shown, err := config.Show(path, data, configEnv, withoutSecrets)
		if text := string(draft.Keys(draftKeys(shown))); err != nil || strings.Contains(text, "S3CRET") {
			t.Errorf("%v, a secret in\n%s", err, text)
		}
	}
}

// Whichever keys are left out, what stands in their place means the same.
func TestConfigShowLeavesOut(t *testing.T) {
	var all [][]strict.Shown
	paths := configFiles(t)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, roundTrip(t, path, data, unhidden))
	}
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		i := rapid.IntRange(0, len(all)-1).Draw(rt, "file")
		if roundTrip(t, paths[i], draft.Keys(draftKeys(thinnedConfig(rt, all[i]))), unhidden) != nil {
			taken++
		}
	})
	if taken == 0 {
		t.Error("none of the configs is a good one")
	}
}

// thinnedConfig leaves out a key here and there, at any depth.
func thinnedConfig(rt *rapid.T, from []strict.Shown) (out []strict.Shown) {
	for _, s := range from {
		if !slices.Contains([]string{"name", "kind", "service", "jobs"}, s.Key) &&
			rapid.IntRange(0, 9).Draw(rt, s.Key) == 0 {
			continue
		}
		switch v := s.Value.(type) {
		case []strict.Shown:
			s.Value = thinnedConfig(rt, v)
		case [][]strict.Shown:
			var kept [][]strict.Shown
			for _, e := range v {
				kept = append(kept, thinnedConfig(rt, e))
			}
			s.Value = kept
		}
		out = append(out, s)
	}
	return out
}

// Every key with a default in the schema is shown although the file doesn't have it, of every kind
// of job.
func TestConfigShowDefaults(t *testing.T) {
	schema, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]struct{ Default any }
	}
	var tables struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &tables); err != nil {
		t.Fatal(err)
	}
	rest := map[string]string{
		"report": "start: -7d, currency: USD, dimensions: [day], metrics: [cost], sinks: ['mem://']",
		"events": "sinks: ['mem://']", "apps": "file: apps.yaml",
		"spend":   "source: 'mem://a/*.csv', rejects: 'mem://r'",
		"sharing": "source: 'mem://a/*.csv', rejects: 'mem://r'",
	}
	byRule := map[string]string{"report": "table lookback drift page", "events": "table", "spend": "table max_rejects",
		"sharing": "table max_rejects", "apps": "table"}
	for kind, table := range tables.Defs {
		if kind == "job" {
			continue
		}
		text := "service: {base_url: https://a, s2s_url: https://b, cost_url: https://c, token: " +
			"'${ADJUST_TOKEN}'}\njobs: [{name: j, kind: " + kind + ", " + rest[kind] + "}]"
		shown := roundTrip(t, "x.yml", []byte(text), unhidden)
		if shown == nil {
			t.Fatalf("not a config: %s", text)
		}
		has := func(list []strict.Shown, key string) {
			if !slices.ContainsFunc(list, func(s strict.Shown) bool { return s.Key == key }) {
				t.Errorf("kind %s: %s isn't shown", kind, key)
			}
		}
		for key, about := range tables.Properties {
			if about.Default != nil {
				has(shown, key)
			}
		}
		job := shown[len(shown)-1].Value.([][]strict.Shown)[0]
		for key, about := range table.Properties {
			if about.Default != nil {
				has(job, key)
			}
		}
		for _, key := range strings.Fields(byRule[kind]) {
			has(job, key)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"a text with a ? and an @":                  "a text with a ? and an @",
		"gs://b/in/{date}/*.csv":                    "gs://b/in/{date}/*.csv",
		"file://./out?key={table}/{date}.parquet":   "file://./out?key={table}/{date}.parquet",
		"s3://b?region=eu&secret=S3CRET":            "s3://b?region=eu",
		"s3://b?endpoint=https://u:S3CRET@host":     "s3://b",
		"s3://u:S3CRET@b/p":                         "s3://b/p",
		"s3://u:S3?CRET@b":                          "s3:...",
		"azblob://b?sig=S3CRET#S3CRET":              "azblob://b",
		"s3://b?region=eu%26S3CRET":                 "s3://b",
		"bigquery://p/d?location=EU&staging=gs://b": "bigquery://p/d?location=EU&staging=gs://b",
	} {
		if got := withoutSecrets(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
