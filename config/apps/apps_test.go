package apps

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/config/strict/stricttest"
)

var update = flag.Bool("update", false, "write the messages of testdata and schema.json")

// Each bad file stands beside the exact text of its errors.
func TestBadDeclarations(t *testing.T) {
	stricttest.Bad(t, "testdata/bad", 20, *update, func(path string) error {
		_, err := Load(path)
		return err
	})
}

func TestGood(t *testing.T) {
	apps, err := Load("testdata/good/full.yml")
	if err != nil {
		t.Fatal(err)
	}
	a := apps[0]
	enforce := false
	want := App{
		Name: "Puzzle Quest", BundleID: "com.example.puzzle", StoreID: "com.example.puzzle", Platform: "android",
		Template: "abc123def456", Line: 2,
		Sections: []string{"events", "partners", "trackers"}, Stores: map[string]string{"amazon": "B00",
			"huawei": "123"},
		Events:    []Event{{"purchase", false}, {"level", true}},
		Signature: &Signature{&enforce, []string{"C4:BD:07:91:BC:09:F9:B6:15:CD:BC:A3:3F:BC:68:8B:C2:EF:4F:F5"}},
		Editors:   []string{"a@example.com"}, Setup: a.Setup, Overrides: a.Overrides,
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("got %+v", a)
	}
	if len(a.Setup) != 13 || !reflect.DeepEqual(a.Setup["applovin"],
		map[string]any{"sdk_keys": []any{Reference("${KEY_ONE}"), Reference("${file:/run/secrets/two}")}}) ||
		!reflect.DeepEqual(a.Setup["facebook"], map[string]any{"app_id": "123", "adimpression_forwarding": true}) ||
		a.Setup["inmobi"]["advertiser_id"] != Reference("${NOT_SECRET}") {
		t.Errorf("channel_setup: %v", a.Setup)
	}
	if got := a.Overrides["attribution_settings"]; !reflect.DeepEqual(got, map[string]any{
		"window": uint64(604800), "share": 0.5, "none": nil, "list": []any{uint64(1), "two",
			map[string]any{"three": uint64(3)}}, "empty": "",
	}) {
		t.Errorf("override_settings: %#v", got)
	}
	if second := apps[1]; second.StoreID != "com.example.second" || !reflect.DeepEqual(second.Setup, a.Setup) {
		t.Errorf("the second is %+v", second)
	}
	if ios := apps[2]; ios.Name != "2048" || ios.Setup == nil || ios.Overrides == nil || ios.IOSSecret != "${PV}" ||
		!ios.Verify {
		t.Errorf("the third is %+v", ios)
	}
}

// An app that is named by its token needs nothing else, and has neither store nor platform.
func TestByToken(t *testing.T) {
	apps, err := Load("testdata/good/token.yml")
	if err != nil || len(apps) != 3 {
		t.Fatal(apps, err)
	}
	if a := apps[0]; a.Token != "abc123def456" || a.StoreID+a.Platform != "" || a.Setup["facebook"]["app_id"] != "123" {
		t.Errorf("got %+v", a)
	}
	if a := apps[1]; a.Token != "123456789012" || a.Name != "" || a.Setup != nil || len(a.Events) != 1 {
		t.Errorf("got %+v", a)
	}
}

// What is large is refused at once, and not repeated.
func TestLarge(t *testing.T) {
	start := time.Now()
	for name, data := range map[string]string{
		"a value": "apps:\n  - {name: a, bundle_id: b, store_id: c, platform: " + strings.Repeat("x",
			100_000) + "}\n",
		"a key":           "apps:\n  - {" + strings.Repeat("x", 100_000) + ": 1}\n",
		"a literal":       "apps:\n  - name: |\n      " + strings.Repeat("x", 100_000) + "\n",
		"a value of 10MB": "apps:\n  - {name: " + strings.Repeat("x", 10_000_000) + "}\n",
	} {
		_, err := Parse("apps.yaml", []byte(data))
		if err == nil || len(err.Error()) > 500 || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%s: %.600v", name, err)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestExample(t *testing.T) {
	apps, err := Load("example.yaml")
	if err != nil || len(apps) != 2 {
		t.Fatal(apps, err)
	}
}

// The objects' examples are values that their fields take.
func TestExamples(t *testing.T) {
	stricttest.Examples(t, appObject(new(App)), nil)
	stricttest.Examples(t, signatureObject(new(Signature)), nil)
}

// README.md is its hand-written part, testdata/readme.md, and the reference of every key.
func TestReadme(t *testing.T) {
	lead, err := os.ReadFile("testdata/readme.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := stricttest.Reference([]stricttest.Section{
		{Title: "An app", Of: "of an app", Schema: appObject(new(App)).Schema()},
	})
	stricttest.Golden(t, "README.md", string(lead)+keys, *update)
}

// beyondSchema are the bad files whose mistake a schema can't see.
var beyondSchema = map[string]bool{
	"circle": true, "ios_only": true, "laughs": true, "not_utf8": true, "references": true, "syntax": true,
	"store_ids": true, "token_twice": true, "twice": true,
}

// The schema of apps takes what the decoder takes, and rejects what is wrong in structure.
func TestSchema(t *testing.T) {
	text, err := Schema()
	s := stricttest.Compile(t, text, err)
	stricttest.Golden(t, "schema.json", string(text), *update)
	files, err := filepath.Glob("testdata/*/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, "example.yaml") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yml")
		good := !strings.Contains(path, "/bad/")
		if beyondSchema[name] && !good {
			continue
		}
		v, err := stricttest.Values(data)
		if err == nil {
			err = s.Validate(v)
		}
		if good != (err == nil) {
			t.Errorf("%s: the schema says %v", path, err)
		}
	}
}

// FuzzParse: any file gives apps or errors with places, never a panic.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yml")
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
	f.Fuzz(func(t *testing.T, data []byte) {
		apps, err := Parse("apps.yaml", data)
		if err == nil && len(apps) == 0 {
			t.Fatal("neither apps nor an error")
		}
		if err != nil && !strings.HasPrefix(err.Error(), "apps.yaml:") {
			t.Fatalf("no place: %v", err)
		}
		for _, a := range apps {
			if err == nil && (a.Token == "") != (a.StoreID != "" && a.Platform != "") {
				t.Fatalf("named by both its token and its store, or by neither: %+v", a)
			}
			if err == nil && a.Token == "" && (a.Name == "" || a.StoreID == "" || a.Platform != "android" &&
				a.Platform != "ios" || strings.ContainsAny(a.StoreID, "\r\n&?#/")) {
				t.Fatalf("%+v", a)
			}
		}
	})
}
