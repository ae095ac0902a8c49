package config

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config/kinds"
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
		{Title: "An account", Of: "of an account", Doc: "Under `accounts`, each by a name of your own.",
			Schema: accountObject(new(Account)).Schema()},
		{Title: "Every job", Of: "of a job",
			Doc: "A job of kind spend, sharing or apps fills no table, so it has neither `sinks` nor `bigquery`, " +
				"and no `accounts`.",
			Schema: strict.Object{Fields: jobFields(new(Job))}.Schema()},
	}
	for _, k := range kinds.All {
		sections = append(sections, stricttest.Section{Title: "Kind `" + k.Name + "`", Of: "of kind `" + k.Name + "`",
			Doc: k.Doc, Schema: k.Keys(new(kinds.Settings)).Schema()})
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
		configObject(new(Config)), serviceObject(new(Service)), accountObject(new(Account)),
		{What: "a job", Like: "{name: campaigns_daily, kind: report}", Fields: jobFields(new(Job))},
	} {
		stricttest.Examples(t, o, nil)
	}
	for _, k := range kinds.All {
		stricttest.Examples(t, k.Keys(new(kinds.Settings)), nil)
	}
}

var inline = regexp.MustCompile("`([a-z_]+): ([^`\n]+)`")

// A key and its value within a line of any page are ones that a config takes, at the top, under
// service or in a job of some kind. Of this folder's pages TestExamples reads them.
func TestKeysOfThePages(t *testing.T) {
	jobs := map[string]string{
		"report":  "sinks: [file://./out], start: -3d, currency: USD, dimensions: [day], metrics: [installs]",
		"spend":   "source: file://./in, rejects: file://./rejects, constants: {tag: x}",
		"sharing": "source: file://./in, rejects: file://./rejects",
		"apps":    "file: apps.yml",
		"events":  "sinks: [file://./out]",
	}
	found := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" || strings.HasPrefix(name, "config/") {
			return err
		}
		page, err := os.ReadFile("../" + name)
		for _, span := range inline.FindAllStringSubmatch(string(page), -1) {
			key, pair := span[1], span[1]+": "+span[2]
			places := map[string]strict.Object{"top": configObject(new(Config)), "service": serviceObject(new(Service))}
			for _, k := range kinds.All {
				o := k.Keys(new(kinds.Settings))
				o.Fields = append(slices.Clone(jobFields(new(Job))), o.Fields...)
				places[k.Name] = o
			}
			known, taken := false, false
			var why error
			for place, o := range places {
				if !slices.ContainsFunc(o.Fields, func(f strict.Field) bool { return f.Key == key }) ||
					strings.ContainsAny(pair, "…") || strings.Contains(pair, "...") {
					continue
				}
				known = true
				top, service, kind, job := "",
					"base_url: \"http://127.0.0.1:1\", cost_url: \"http://127.0.0.1:1\", s2s_url: "+
						"\"http://127.0.0.1:1\", token: \"${T}\"", "report", jobs["report"]
				switch place {
				case "top":
					top = pair + "\n"
				case "service":
					top = "service:\n  " + strings.ReplaceAll(without(service, key), ", ",
						"\n  ") + "\n  " + pair + "\n"
				default:
					kind, job = place, without(jobs[place], key)+", "+pair
				}
				text := top
				if !strings.HasPrefix(top, "service:") {
					text += "service: {" + service + "}\n"
				}
				if !strings.HasPrefix(top, "ledger:") {
					text += "ledger: file://./ledger\n"
				}
				if !strings.HasPrefix(top, "jobs:") {
					text += "jobs:\n  - {name: x, kind: " + kind + ", " + job + "}\n"
				}
				_, err := Parse(name, []byte(text), func(string) (string, bool) { return "x", true })
				taken, why = taken || err == nil, err
			}
			if found++; known && !taken {
				t.Errorf("%s: `%s` is taken nowhere: %v", name, pair, why)
			}
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("%d keys, %v", found, err)
	}
}

// without leaves a key out of the pairs of a mapping.
func without(pairs, key string) string {
	list := strings.Split(pairs, ", ")
	return strings.Join(slices.DeleteFunc(list, func(pair string) bool { return strings.HasPrefix(pair, key+":") }),
		", ")
}
