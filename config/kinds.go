package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// kind is a kind of job: what it adds to the keys that every job has.
type kind struct {
	name, doc string
	// keys makes the kind's part of j, with its defaults, and gives the keys that fill it.
	keys func(j *Job) object
	// without are keys of every other kind of job that this one has not, and why.
	without map[string]string
}

// kinds lists every kind of job. One that comes later is one more line here, and a field of Job.
var kinds = []kind{
	{name: "report", doc: "Numbers by dimensions, one partition a period.", keys: reportKeys},
	{name: "events", doc: "The account's events and their slugs, one snapshot a run date.", keys: eventsKeys},
	{name: "spend", doc: "Files of ad spend, record by record to the cost endpoint.", keys: spendKeys, without: map[string]string{
		"sinks": "a job of kind spend fills no table; its files come from source", "bigquery": "a job of kind spend fills no table",
	}},
	{name: "sharing", doc: "Files of devices' choices on third-party sharing, record by record and in order.", keys: sharingKeys, without: map[string]string{
		"sinks": "a job of kind sharing fills no table; its files come from source", "bigquery": "a job of kind sharing fills no table",
	}},
	{name: "apps", doc: "Apps as a file declares them, by app automation.", keys: appsKeys, without: map[string]string{
		"sinks": "a job of kind apps fills no table; its apps come from file", "bigquery": "a job of kind apps fills no table",
	}},
}

func kindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

var kindName = shape[string]{
	func(d *decoder, n ast.Node, key string) (string, bool) {
		return d.oneOf(n, key, kindNames()...)
	},
	func() *jsonschema.Schema { return oneOf(kindNames()...).schema() },
}

// kindOf is the kind that a job names; false when it names none that exists, which is noted when the key is read.
func (d *decoder) kindOf(n ast.Node) (kind, bool) {
	entries, _ := d.collect(n, "a job", 0)
	for _, e := range entries {
		s, _ := d.textOf(e.value)
		if i := slices.Index(kindNames(), s); i >= 0 && e.key == "kind" {
			return kinds[i], true
		}
	}
	return kind{}, false
}

// jobObject is a job of one kind: the keys of every job, and those of the kind. A key of another kind says so.
func jobObject(j *Job, of kind) object {
	o := of.keys(j)
	o.what = "a job"
	common := slices.DeleteFunc(jobFields(j), func(f field) bool { return of.without[f.key] != "" })
	o.fields = append(common, o.fields...)
	refused := map[string]string{} // asked only about keys that the kind doesn't have
	for _, other := range kinds {
		for _, f := range other.keys(new(Job)).fields {
			if refused[f.key] == "" {
				refused[f.key] = fmt.Sprintf("a job of kind %s has no such key; it belongs to kind %s", of.name, other.name)
			}
		}
	}
	maps.Copy(refused, of.without)
	maps.Copy(refused, o.refused)
	o.refused = refused
	return o
}

// anyJob is a job of unknown kind: no key of any kind is a mistake, none is missing, and none is read.
func anyJob(j *Job) object {
	o := object{what: "a job", fields: jobFields(j)}
	for _, k := range kinds {
		for _, f := range k.keys(new(Job)).fields {
			if !o.has(f.key) {
				o.fields = append(o.fields, field{key: f.key, read: func(*decoder, ast.Node) {}})
			}
		}
	}
	return o
}

func (o object) has(key string) bool {
	return slices.ContainsFunc(o.fields, func(f field) bool { return f.key == key })
}

// eventsKeys are the keys of kind events.
func eventsKeys(j *Job) object {
	e := &Events{Codec: defaultCodec}
	j.Events = e
	return object{fields: []field{
		optional("apps", textsOf(value), &e.Apps, "App tokens: only events of these apps. Without it, of every app of the account."),
		optional("search", word, &e.Search, "Part of a name, or a whole slug: only such events."),
		optional("codec", codec, &e.Codec, "Compression of the files."),
	}}
}
