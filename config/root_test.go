package config

import (
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/rooted"
)

// below is a URL that a config in a folder has.
func below(folder, rawURL string) string {
	root, err := filepath.Abs(folder)
	if err != nil {
		panic(err)
	}
	return rooted.URL(root, rawURL)
}

// allPaths names a relative path wherever a config can have one.
const allPaths = `
service: {base_url: "https://a.example", cost_url: "https://b.example", s2s_url: "https://c.example", token: "${file:token}", spend: {token: "${file:./spend}"}, sharing: {token: "${file:../sharing}"}}
ledger: file://./ledger
audit: file://./audit
export: file://../pages
spool_dir: spool
raw: file://./raw?create_dir=true
heartbeat: ${file:beat}
notify: [{url: "${file:hook}"}]
jobs:
  - {name: a, kind: report, start: -7d, currency: USD, dimensions: [day], metrics: [installs], raw: "file://./raw-of-a", sinks: [
      "file://./out?key={table}/{date}.parquet", "postgres://me@db.example/w?sslmode=verify-full&sslrootcert=ca.pem&sslcert=me.crt&sslkey=keys/me.key",
      "iceberg://local/adjust?type=sql&uri=sqlite:///catalog.db&warehouse=file://./warehouse", "gs://bucket/out?private_key_path=gcs.json",
      "iceberg://rest/adjust?type=rest&uri=https://host&gcs.keypath=gcs.json"]}
  - {name: b, kind: report, start: -7d, currency: USD, dimensions: [day], metrics: [installs], sinks: ["file:///abs/./out"]}
  - {name: c, kind: spend, source: "file://./in/{date}.csv", rejects: "file://./rejects"}
  - {name: d, kind: sharing, source: "file://../in/*.csv", rejects: "file://.", columns: {device_id: id}}
  - {name: e, kind: apps, file: apps.yaml}
  - {name: f, kind: events, sinks: ["file://./events"]}
`

// texts are all texts of a value.
func texts(v reflect.Value, each func(string)) {
	switch v.Kind() {
	case reflect.String:
		each(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			texts(v.Elem(), each)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), each)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			texts(v.MapIndex(k), each)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			texts(v.Field(i), each)
		}
	}
}

// Every path of a config is below the config's folder, whatever the working directory is, or below
// the root that the file or the environment names, of which the latter goes before.
func TestRoot(t *testing.T) {
	relative := regexp.MustCompile(`^\.{1,2}/|//\.{1,2}(/|\?|$)|file:[^/}]|sqlite:///[^/]|(cert|sslkey|path)=[^/]`)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, key, variable, root string }{
		{"/etc/rf/c.yml", "", "", "/etc/rf"}, {"c.yml", "", "", here},
		{"conf/c.yml", "", "", filepath.Join(here, "conf")},
		{"/etc/rf/c.yml", "/var/lib/rf", "", "/var/lib/rf"}, {"/etc/rf/c.yml", "../data", "", "/etc/data"},
		{"/etc/rf/c.yml", "/var/lib/rf", "/srv", "/srv"},
		{"/etc/rf/c.yml", "", "some", filepath.Join(here, "some")}, {"", "", "/srv", here},
	} {
		text := allPaths
		if c.key != "" {
			text = "root: " + c.key + text
		}
		parsed, err := Parse(c.name, []byte(text), func(name string) (string, bool) {
			return c.variable,
				name == rootVariable
		})
		if err != nil {
			t.Fatal(err)
		}
		if named := c.key+c.variable != "" && c.name != ""; parsed.Root != c.root || parsed.RootNamed != named {
			t.Errorf("%+v: the root is %s, named %v", c, parsed.Root, parsed.RootNamed)
		}
		below := 0
		texts(reflect.ValueOf(parsed), func(text string) {
			if plain, err := url.QueryUnescape(text); err == nil {
				text = plain
			}
			if relative.MatchString(text) {
				t.Errorf("%+v: %s is relative", c, text)
			}
			if strings.Contains(text, c.root) {
				below++
			}
		})
		if filepath.IsAbs(c.name) && below != 23 { // with the root itself
			t.Errorf("%+v: %d texts are below the root", c, below)
		}
	}
	parsed, err := Parse("/etc/rf/c.yml", []byte(allPaths), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		parsed.Ledger: "file:///etc/rf/./ledger", parsed.Export: "file:///etc/rf/./../pages",
		parsed.SpoolDir: "/etc/rf/spool", parsed.Raw.URL: "file:///etc/rf/./raw?create_dir=true",
		parsed.Service.Sharing.Token: "${file:/etc/sharing}", parsed.Notify[0].URL: "${file:/etc/rf/hook}",
		parsed.Jobs[0].Report.Raw.URL: "file:///etc/rf/./raw-of-a",
		parsed.Jobs[1].Report.Raw.URL: "file:///etc/rf/./raw?create_dir=true",
		parsed.Jobs[0].Sinks[0]:       "file:///etc/rf/./out?key={table}/{date}.parquet",
		parsed.Jobs[1].Sinks[0]:       "file:///abs/out",
		parsed.Jobs[0].Sinks[2]: "iceberg://local/adjust?type=sql" +
			"&uri=sqlite%3A%2F%2F%2F%2Fetc%2Frf%2F.%2Fcatalog.db&warehouse=file%3A%2F%2F%2Fetc%2Frf%2Fwarehouse",
		parsed.Jobs[2].Spend.Source:    "file:///etc/rf/./in/{date}.csv",
		parsed.Jobs[3].Sharing.Rejects: "file:///etc/rf/./", parsed.Jobs[4].Apps.File: "/etc/rf/apps.yaml",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What config show gives of a place is what was written, and behind it what it comes to.
func TestShownPlaces(t *testing.T) {
	shown, err := Show("/etc/rf/c.yml",
		[]byte("service: embedded\nspool_dir: spool\nexport: gs://bucket/pages\njobs:\n- {name: a, kind: events, "+
			"sinks: ['file://./a', 'file:///b', 'file://../c']}\n"),
		testEnv, func(s string) string { return strings.ReplaceAll(s, "b", "") })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range shown {
		if jobs, are := k.Value.([][]strict.Shown); are {
			for _, k := range jobs[0] {
				if k.Key == "sinks" {
					got = append(got, k.Note)
				}
			}
		}
		if k.Key == "root" || k.Key == "ledger" || k.Key == "spool_dir" || k.Key == "export" {
			got = append(got, k.Key+": "+k.Value.(string)+" # "+k.Note)
		}
	}
	want := []string{"root: /etc/rf # ", "ledger: file://./.reportferry # /etc/rf/.reportferry",
		"export: gs://ucket/pages # without what may be secret", "spool_dir: spool # /etc/rf/spool",
		"/etc/rf/a, /etc/c; without what may be secret"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What a file leaves out is shown as it is then, in a block that it leaves out too.
func TestShownParquet(t *testing.T) {
	for text, want := range map[string]string{"": "v2", "parquet: {}\n": "v2", "parquet: {pages: v1}\n": "v1"} {
		shown, err := Show("c.yml", []byte("service: embedded\n"+text), testEnv, func(s string) string { return s })
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(shown, func(s strict.Shown) bool { return s.Key == "parquet" })
		if i < 0 || !reflect.DeepEqual(shown[i].Value, []strict.Shown{{Key: "pages", Value: want}}) {
			t.Errorf("%q shows %v, want pages: %s", text, shown, want)
		}
	}
}
