package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reportferry/reportferry/config/strict/stricttest"
)

// beyondSchema are the bad files whose mistake is not one of structure, with what it takes to see
// it.
var beyondSchema = map[string]string{
	"accounts_names":         "crosskey",
	"accounts_none":          "crosskey",
	"app_scope_named":        "crosskey",
	"anchor_in_itself":       "anchor",
	"anchors":                "anchor",
	"doubled_keys":           "duplicate",
	"event_columns":          "columns",
	"export_bigquery":        "url",
	"job_doubled":            "duplicate",
	"lease":                  "range",
	"dimension_is_metric":    "columns",
	"drop_wanted":            "duplicate",
	"metric_is_dimension":    "columns",
	"metric_partition_key":   "columns",
	"not_utf8":               "encoding",
	"nulbyte":                "encoding",
	"no_url":                 "url",
	"on_missing_event":       "null",
	"on_missing_event_empty": "null",
	"page_mismatch":          "crosskey",
	"page_mismatch_week":     "crosskey",
	"page_quarter":           "crosskey",
	"page_whole":             "crosskey",
	"page_year":              "crosskey",
	"rename_taken":           "duplicate",
	"schedule_never":         "cron",
	"schedule_syntax":        "cron",
	"spend_constants":        "crosskey",
	"service_missing":        "crosskey",
	"spend_host":             "crosskey",
	"spend_login_record":     "crosskey",
	"start_early":            "range",
	"start_no_day":           "calendar",
	"syntax_quote":           "syntax",
	"syntax_secret":          "syntax",
	"syntax_tab":             "syntax",
	"table_is_another_name":  "duplicate",
	"table_shared":           "duplicate",
	"timezone_disagrees":     "crosskey",
	"timezone_local":         "zone",
	"timezone_number":        "crosskey",
	"timezone_unknown":       "zone",
	"two_documents":          "documents",
	"undefined_service":      "anchor",
	"zone_local":             "zone",
	"zone_unknown":           "zone",
}

// The file beside the example is what Schema gives.
func TestSchemaFile(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	stricttest.Golden(t, "schema.json", string(got), *update)
}

// compiled is the config's schema.
func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	return stricttest.Compile(t, text, err)
}

func TestSchemaTakesGoodFiles(t *testing.T) {
	s := compiled(t)
	files := []string{"example.yml"}
	for _, pattern := range []string{"testdata/good/*.yml", "testdata/warn/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 3 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := stricttest.Values(data)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What the decoder rejects for structure, the schema rejects; a file of the list is one that it
// takes.
func TestSchemaRejectsBadFiles(t *testing.T) {
	s := compiled(t)
	files, err := filepath.Glob("testdata/bad/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yml")
		reason, listed := beyondSchema[name]
		seen[name] = true
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := stricttest.Values(data)
		if err != nil {
			if reason != "syntax" && reason != "anchor" {
				t.Errorf("%s is not YAML to other readers: %v", name, err)
			}
			continue
		}
		err = s.Validate(v)
		switch {
		case listed && err != nil:
			t.Errorf("%s is listed (%s), and the schema rejects it: %v", name, reason, err)
		case !listed && err == nil:
			t.Errorf("the schema takes %s; is its mistake one of structure?", name)
		}
	}
	for name := range beyondSchema {
		if !seen[name] {
			t.Errorf("%s is listed, and there is no such file", name)
		}
	}
}

// Every key has words that an editor shows, and no object takes keys that no table has.
func TestSchemaDescribes(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	if root["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("draft %v", root["$schema"])
	}
	keys := 0
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(at, e)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			for key, p := range properties {
				described, ok := p.(map[string]any)
				if _, constant := described["const"]; constant {
					continue // the kind again, in a condition
				}
				if keys++; !ok || described["description"] == nil {
					t.Errorf("%s: %s has no description", at, key)
				}
			}
			_, closed := v["additionalProperties"]
			if v["type"] == "object" && !closed && v["allOf"] == nil { // the latter is closed by each kind
				t.Errorf("%s takes any key: %v", at, v)
			}
			for key, e := range v {
				walk(at+"/"+key, e)
			}
		}
	}
	walk("", root)
	if keys < 60 {
		t.Errorf("%d keys described", keys)
	}
}

// Each value of good files, in the place of which others stand in turn: whatever the decoder takes,
// the schema takes.
func TestSchemaTakesWhatTheDecoderTakes(t *testing.T) {
	others := []string{
		"5", "-1", "1.5", "0", "true", "null", `""`, "text", "UTC", "auto", "1m", "7d", "2026-01-31", "-5d", "+02:00",
		"EUR", "day", "double", "report",
		"events", "embedded", "${X}", "http://127.0.0.1/x", "https://h", "'0 5 * * *'", "[]", "[x]", "[5, 5]", "[day]",
		"[installs, true]", "[mem://]",
		"{}", "{a: b}", "{app__in: [1], cost__gt: 1}", "{installs: int64}", "[{name: 5, metrics: [self]}]",
		"[{metrics: [self]}]", ".inf", "|-\n          x",
	}
	s := compiled(t)
	value := regexp.MustCompile(`(?m)^( *(?:- )?[a-z_0-9]+: ).+$`)
	data, err := os.ReadFile("testdata/good/every_key.yml")
	if err != nil {
		t.Fatal(err)
	}
	places := value.FindAllSubmatchIndex(data, -1)
	if len(places) < 70 {
		t.Fatalf("%d values", len(places))
	}
	taken, rejected, both := 0, 0, 0
	for i, p := range places {
		for k := range 3 { // of each place other ones, since all of them take long
			other := others[(3*i+k)%len(others)]
			text := slices.Concat(data[:p[3]], []byte(other), data[p[1]:])
			v, err := stricttest.Values(text)
			if err != nil {
				continue
			}
			_, wrong := Parse("f.yml", text, testEnv)
			refused := s.Validate(v)
			switch {
			case wrong == nil && refused != nil:
				t.Errorf("%s%s is good, and the schema says: %v", data[p[2]:p[3]], other, refused)
			case wrong == nil:
				taken++
			default:
				rejected++
				if refused != nil {
					both++
				}
			}
		}
	}
	// What is left to the decoder: cross-key rules, zones, cron expressions, lengths of time.
	if t.Logf("%d taken, %d rejected, of these %d by the schema too", taken, rejected, both); taken < 20 ||
		both*100 < rejected*85 {
		t.Errorf("the schema says too little: %d taken, %d rejected, of these %d by the schema too", taken, rejected,
			both)
	}
}

// A default stands where the generated pages have it, and not in a text that would stay as it is
// when the default changes.
func TestDefaultsStandInNoText(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	defaults := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			if said, _ := v["description"].(string); v["default"] != nil {
				defaults++
				if strings.Contains(said, "The default is") {
					t.Errorf("a text repeats the default %v: %s", v["default"], said)
				}
			}
			for _, one := range v {
				walk(one)
			}
		}
	}
	if walk(schema); defaults < 20 {
		t.Errorf("the schema has %d defaults", defaults)
	}
}
