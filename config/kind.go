package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reportferry/reportferry/config/strict"
)

// kind is a kind of job, with the keys that it adds to those that every job has.
type kind struct {
	name, doc string
	// keys makes the kind's part of j, with its defaults, and gives the keys that fill it.
	keys func(j *Job) strict.Object
	// without are keys of every other kind of job that this one doesn't have, and why.
	without map[string]string
}

// kinds lists every kind of job. A new one is one more line here, a field of Job, and a file with
// its part and its keys.
var kinds = []kind{
	{name: "report", keys: reportKeys,
		doc: "Fetches metrics by dimensions into a table with one partition a period."},
	{name: "events", keys: eventsKeys,
		doc: "Fetches the account's events and their slugs into a table with one snapshot a run date."},
	{name: "spend", keys: spendKeys, without: noTable("spend", "its files come from source"),
		doc: "Sends files of ad spend to the cost endpoint, record by record."},
	{name: "sharing", keys: sharingKeys, without: noTable("sharing", "its files come from source"),
		doc: "Sends files of devices' choices on third-party sharing, record by record and in order."},
	{name: "apps", keys: appsKeys, without: noTable("apps", "its apps come from file"),
		doc: "Keeps the account's apps as a file declares them, by app automation."},
}

// noTable returns the keys that a kind without a table lacks, each with the reason: those that say
// where and how a table is kept, and which account its rows are from.
func noTable(kind, instead string) map[string]string {
	none := fmt.Sprintf("a job of kind %s fills no table", kind)
	return map[string]string{"accounts": fmt.Sprintf("only reports and events are fetched by account; a job of kind "+
		"%s has the credentials of service", kind), "sinks": none + "; " + instead, "bigquery": none, "postgres": none,
		"iceberg": none}
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

var kindName = strict.OneOf(kindNames()...)

// kindOf returns the kind that a job names. It returns false when there is no such kind, which is
// reported when the key is read.
func kindOf(d *strict.Decoder, n strict.Node) (kind, bool) {
	if !d.IsMapping(n) {
		return kind{}, false
	}
	entries, _ := d.Entries(n, "a job")
	for _, e := range entries {
		v, _ := d.Scalar(e.Value)
		if i := slices.IndexFunc(kinds, func(k kind) bool { return v == k.name }); i >= 0 && e.Key == "kind" {
			return kinds[i], true
		}
	}
	return kind{}, false
}

// jobObject describes the keys of a job of one kind: those of every job, and those of the kind. A
// key that only another kind has is refused with the name of that kind.
func jobObject(j *Job, of kind) strict.Object {
	o := of.keys(j)
	o.What = "a job"
	common := slices.DeleteFunc(jobFields(j), func(f strict.Field) bool { return of.without[f.Key] != "" })
	o.Fields = append(common, o.Fields...)
	refused := maps.Clone(otherJobKeys) // looked up only for keys that the kind doesn't have
	for _, other := range kinds {
		for _, f := range other.keys(new(Job)).Fields {
			if refused[f.Key] == "" {
				refused[f.Key] = fmt.Sprintf("a job of kind %s has no such key; it belongs to kind %s", of.name,
					other.name)
			}
		}
	}
	maps.Copy(refused, of.without)
	maps.Copy(refused, o.Refused)
	o.Refused = refused
	return o
}

// anyJob describes the keys of a job of unknown kind: the keys of all kinds are allowed, and none
// of these is required or read.
func anyJob(j *Job) strict.Object {
	o := strict.Object{What: "a job", Like: "{name: campaigns_daily, kind: report}", Fields: jobFields(j),
		Unknown: func(key string) string {
			return cmp.Or(reportRefused()[key], otherJobKeys[key], columnKey(key))
		}}
	for _, k := range kinds {
		for _, f := range k.keys(new(Job)).Fields {
			if !slices.ContainsFunc(o.Fields, func(g strict.Field) bool { return g.Key == f.Key }) {
				o.Fields = append(o.Fields, strict.Field{Key: f.Key, Read: func(*strict.Decoder, strict.Node) {}})
			}
		}
	}
	return o
}

// Events is what a job of kind events asks the service for: the events of the account, as they are
// on the run's date.
type Events struct {
	Apps   []string // app tokens; none: every app of the account
	Search string   // part of a name, or a whole slug; empty: every event
	Codec  string   // zstd, snappy or none
}

// eventsKeys returns the keys of kind events.
func eventsKeys(j *Job) strict.Object {
	e := &Events{Codec: "zstd"}
	j.Events = e
	return strict.Object{Fields: []strict.Field{
		strict.Optional("apps", strict.TextsOf(value), &e.Apps, "[abc123def456]",
			"App tokens. Only events of these apps are fetched. Without the key, those of every app of the account "+
				"are."),
		strict.Optional("search", strict.Word, &e.Search, "purchase",
			"Part of a name, or a whole slug. Only such events are fetched."),
		strict.Optional("codec", codec, &e.Codec, "snappy", "Compression of the files."),
	}}
}

// Apps is what a job of kind apps keeps as a file declares it.
type Apps struct {
	File       string        // the file of apps, which package config/apps reads
	TicketWait time.Duration // how long one migration may take before it is left for the next run
}

// appsKeys returns the keys of kind apps.
func appsKeys(j *Job) strict.Object {
	a := &Apps{TicketWait: 15 * time.Minute}
	j.Apps = a
	return strict.Object{
		Fields: []strict.Field{
			required(place("file", strict.OneLine(strict.Text, 4096), &a.File, "apps.yaml",
				"File that declares the apps.")),
			strict.Optional("ticket_wait", strict.Duration(time.Second), &a.TicketWait, "30m",
				"How long one migration may take. After that it is left for the next run."),
		},
	}
}
