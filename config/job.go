package config

import (
	"net/url"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone is known where the system has no zone files, as in a bare container

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
	"github.com/robfig/cron/v3"
)

func configObject(c *Config) object {
	c.Ledger, c.Lease = "file://./.reportferry", 2*time.Minute
	return object{what: "the config", fields: []field{
		required("service", service, &c.Service, "Where the service is, and how gently to ask it; or the word embedded."),
		optional("ledger", bucketURL, &c.Ledger, "Bucket that records what is done: a folder (file://./.reportferry), or gs://bucket/prefix when "+
			"several machines share the work."),
		optional("audit", bucketURL, &c.Audit, "A bigquery:// URL of the dataset that keeps the tables _reportferry_runs and _reportferry_partitions, of "+
			"what each run did. Without it there are none."),
		optional("spool_dir", text, &c.SpoolDir, "Folder where finished files wait for their sinks; by default the system's temporary one."),
		optional("lease", duration(time.Second), &c.Lease, "How long a claim holds without a sign of life, such as 2m."),
		required("jobs", jobList, &c.Jobs, "What to ferry, each job into a table of its own."),
	}, check: func(d *decoder, _ ast.Node, at map[string]ast.Node) { d.checkSpend(c, at); d.checkSharing(c, at) }}
}

var jobList = shape[[]Job]{
	(*decoder).jobs,
	func() *jsonschema.Schema { return arrayOf(&jsonschema.Schema{Ref: "#/$defs/job"}) },
}

func (d *decoder) jobs(n ast.Node, key string) ([]Job, bool) {
	var jobs []Job
	names, tables := map[string]int{}, map[string]int{} // -> line
	for _, element := range d.elements(n, key) {
		j, at := d.job(element)
		if line, taken := names[j.Name]; taken && j.Name != "" {
			d.fail(at["name"], "job %s already stands on line %d", j.Name, line)
		} else if line, taken := tables[j.Table]; taken && j.Table != "" {
			where := at["table"]
			if where == nil {
				where = at["name"]
			}
			d.fail(where, "table %s already belongs to the job on line %d; two jobs would replace each other's rows", j.Table, line)
		}
		names[j.Name], tables[j.Table] = j.Line, j.Line
		jobs = append(jobs, j)
	}
	return jobs, len(jobs) > 0
}

// job reads the kind first, because it says which other keys there are.
func (d *decoder) job(n ast.Node) (Job, map[string]ast.Node) {
	var j Job
	if p := position(n); p != nil {
		j.Line = p.Line
	}
	o := anyJob(&j)
	if k, ok := d.kindOf(n); ok {
		o = jobObject(&j, k)
	}
	at := d.object(n, o)
	if j.Table == "" {
		j.Table = j.Name
	}
	return j, at
}

// jobFields are the keys that a job of every kind has.
func jobFields(j *Job) []field {
	j.Zone = "UTC"
	return []field{
		required("name", name, &j.Name, "Name of the job, and of its table unless table gives another."),
		required("kind", kindName, &j.Kind, "What the job does."),
		optional("schedule", schedule, &j.Schedule, "When to look for work, as cron: minute, hour, day of month, month, day of week, or @hourly. "+
			"What is missing is in the ledger. Without a schedule the job runs when it is asked for."),
		optional("zone", zone, &j.Zone, "IANA zone of the schedule, such as Europe/Berlin. With timezone_id it also says where the report's days begin and end."),
		optional("table", name, &j.Table, "Name of the table, when it isn't the job's. No two jobs may share one."),
		required("sinks", textsOf(bucketURL), &j.Sinks, "URLs of what the table is put into: the buckets file://, gs://, s3://, azblob://, and bigquery://project/dataset."),
		optional("bigquery", warehouse, &j.Warehouse, "What the tables that BigQuery makes are like."),
	}
}

var (
	namePattern = expr(`^[a-z][a-z0-9_]{0,127}$`)
	name        = matching(namePattern, "is no name: want a small letter, then up to 127 small letters, digits and underscores")
)

// cronPattern is the outline of what the cron library takes.
const cronPattern = `^(@\S.*|\s*[^\s@]\S*(\s+\S+){4}\s*)$`

// schedule is a cron expression. The zone has a key of its own, and a schedule that never fires is a mistake: a job
// that never runs looks like one that has nothing to do.
var schedule = shape[string]{
	func(d *decoder, n ast.Node, key string) (string, bool) {
		s, ok := d.text(n, key)
		if !ok {
			return "", false
		}
		if strings.Contains(s, "TZ=") { // the library panics on a zone without a space behind it
			d.fail(n, "%s: write the zone under the key zone", key)
			return "", false
		}
		spec, err := cron.ParseStandard(s)
		if err != nil {
			d.fail(n, "%s: %q is no cron expression: %v; want minute, hour, day of month, month, day of week", key, s, err)
			return "", false
		}
		// From a fixed day, so that a file is not right in one year and wrong in another.
		if spec.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
			d.fail(n, "%s: %q never fires: no year has such a day", key, s)
			return "", false
		}
		return s, true
	},
	func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: cronPattern} },
}

var zone = checked(text, func(d *decoder, n ast.Node, key, s string) bool {
	if !isZone(s) {
		d.fail(n, "%s: %q is no zone of the IANA list; want for example UTC or Europe/Berlin", key, s)
	}
	return isZone(s)
})

func isZone(s string) bool {
	_, err := time.LoadLocation(s)
	return err == nil && s != "Local" // Local is the zone of whatever machine runs this
}

var schemePattern = expr(`^[a-z][a-z0-9+.-]*://`)

// bucketURL is the URL of a ledger or sink. Messages don't repeat it: its query may hold a secret.
var bucketURL = shape[string]{
	func(d *decoder, n ast.Node, key string) (string, bool) {
		s, ok := d.text(n, key)
		if !ok {
			return "", false
		}
		if !schemePattern.MatchString(s) {
			d.fail(n, "%s: want a URL with a scheme, such as file://./out or gs://bucket/prefix", key)
			return "", false
		}
		if _, err := url.Parse(s); err != nil {
			d.fail(n, "%s: this is no URL", key)
			return "", false
		}
		return s, true
	},
	func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: schemePattern.String()} },
}
