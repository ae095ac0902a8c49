package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/robfig/cron/v3"

	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Job is one entry under jobs.
type Job struct {
	Name string
	Kind string
	// Cron, five fields or a descriptor such as @hourly; empty: the job runs only when it is asked
	// for.
	Schedule string
	Table    string   // unique in the file
	Sinks    []string // URLs; none for a kind that fills no table
	Entry    string   // the name in the file, which stands for the jobs of all its accounts
	Account  string   // the account whose data it fetches; empty: that of Service
	line     int      // line of the entry in the file
	// The places of the entry's values in the file, by key; nil once the config is read.
	at       map[string]strict.Node
	accounts []strict.Item // the accounts of the entry; each gets a job

	Warehouse Warehouse // how BigQuery keeps its table
	Postgres  Postgres  // how a Postgres keeps it
	Iceberg   Iceberg   // how long an Iceberg catalog keeps its states

	kinds.Settings // the parameters of its kind, in the field of that kind
}

// Job returns the job of a name, or an empty one when there is none.
func (c *Config) Job(name string) Job {
	for _, j := range c.Jobs {
		if j.Name == name {
			return j
		}
	}
	return Job{}
}

// Named returns the jobs that a name stands for: the one of that name, or those of the entry, one
// for each of its accounts.
func (c *Config) Named(name string) (list []Job) {
	for _, j := range c.Jobs {
		if j.Name == name || j.Entry == name {
			list = append(list, j)
		}
	}
	return list
}

// jobList reads the list of jobs.
func jobList() strict.Shape[[]Job] {
	return strict.Shape[[]Job]{
		Read: readJobs,
		Schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/job"}}
		},
	}
}

func readJobs(d *strict.Decoder, n strict.Node, key string) ([]Job, bool) {
	var jobs []Job
	if d.Describe(n) == "a mapping" {
		d.Fail(n, "%s: want a list, in which each job begins with a - and its name, as in - name: campaigns_daily; "+
			"got a mapping", key)
		return nil, false
	}
	if elements, ok := d.List(n); ok && len(elements) == 0 {
		return nil, true // commands that need a job say so
	}
	for _, element := range d.Elements(n, key) {
		jobs = append(jobs, readJob(d, element))
	}
	return jobs, len(jobs) > 0
}

// readJob reads the kind first, because it says which other keys there are.
func readJob(d *strict.Decoder, n strict.Node) Job {
	j := Job{line: strict.Line(n)}
	o := anyJob(&j)
	if k, ok := kindOf(d, n); ok {
		o = jobObject(&j, k)
	}
	j.at = d.Object(n, o)
	if j.Table == "" {
		j.Table = j.Name
	}
	return j
}

// jobFields returns the keys that a job of every kind has.
func jobFields(j *Job) []strict.Field {
	j.Zone = "UTC"
	return []strict.Field{
		strict.Required("name", shape.Name, &j.Name, "installs_daily",
			"Name of the job, and of its table unless table gives another."),
		strict.Required("kind", kindName, &j.Kind, "report",
			"What the job does.").Because("it is one of " + strings.Join(kindNames(), ", ")),
		strict.Optional("schedule", schedule, &j.Schedule, "0 6 * * *",
			"When to look for work: minute, hour, day of month, month and day of week. Without a schedule the job "+
				"runs when it is asked for."),
		strict.Optional("zone", shape.Zone, &j.Zone, "Europe/Berlin",
			"IANA zone of the schedule. Together with timezone_id it also says where the report's days begin and end."),
		strict.Optional("table", shape.Name, &j.Table, "installs",
			"Name of the table, when it isn't the job's. No two jobs may share one."),
		strict.Required("sinks", strict.TextsOf(shape.BucketURL), &j.Sinks, "[file://./out]",
			"URLs of the places that the table is put into: buckets by file://, gs://, s3:// or azblob://, datasets "+
				"by bigquery://project/dataset, schemas of a Postgres by postgres://host/database/schema, and "+
				"namespaces of an Iceberg catalog by iceberg://catalog/namespace.").Noting(
			func() string { return shape.Located(j.Sinks...) }),
		strict.Optional("accounts", accountsOfJob, &j.accounts, "[client_a, client_b]",
			"Names of accounts, or all: the job becomes one job and one table for each, such as installs_client_a. "+
				"Without the key it is of the account of service."),
		strict.Optional("bigquery", warehouse, &j.Warehouse, "",
			"What the tables are like that BigQuery keeps for this job."),
		strict.Optional("postgres", postgres, &j.Postgres, "",
			"What the tables are like that a Postgres keeps for this job."),
		strict.Optional("iceberg", iceberg, &j.Iceberg, "", "What an Iceberg catalog keeps of the tables of this job."),
	}
}

// cronForm is the outline of what the cron library takes.
const cronForm = `^(@\S.*|\s*[^\s@]\S*(\s+\S+){4}\s*)$`

// schedule reads a cron expression. The zone has a key of its own. A schedule that never fires is
// refused, because a job that never runs looks like one that has nothing to do.
var schedule = strict.Shape[string]{
	Read: strict.Checked(strict.Text, func(d *strict.Decoder, n strict.Node, key, s string) bool {
		if strings.Contains(s, "TZ=") { // the library panics on a zone without a space behind it
			d.Fail(n, "%s: write the zone under the key zone", key)
			return false
		}
		spec, err := cron.ParseStandard(s)
		if err != nil {
			got := strconv.Quote(s)
			if _, unmarked := cron.ParseStandard("@" + s); unmarked == nil {
				got += "; did you mean \"@" + s + "\"?"
			} else if len(strings.Fields(s)) == 5 {
				got += ": " + err.Error()
			}
			d.Fail(n, "%s: want a cron expression of minute, hour, day of month, month and day of week, such as \"0 "+
				"6 * * *\" for every day at 6:00, got %s", key, got)
			return false
		}
		// The search starts on a fixed day, so that a file isn't valid in one year and invalid in
		// another.
		if spec.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
			d.Fail(n, "%s: %q never fires, because no year has such a day", key, s)
			return false
		}
		return true
	}).Read,
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Title: "a cron expression of five fields, or a word such as @hourly",
			Pattern: cronForm}
	},
}
