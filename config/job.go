package config

import (
	"net/url"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone is known where the system has no zone files, as in a bare container

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/robfig/cron/v3"
)

const (
	defaultLedger = "file://./.reportferry"
	defaultLease  = 2 * time.Minute
)

func (d *decoder) parse(data []byte) *Config {
	data, ok := d.plain(data)
	if !ok {
		return nil
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // doubled keys are found by mapping, with the rest
	if err != nil {
		d.failSyntax(err)
		return nil
	}
	if len(file.Docs) > 1 {
		d.fail(file.Docs[1].Body, "a second YAML document begins here; a config is one document")
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		d.failAt(nil, "the file is empty; config/example.yml shows what belongs here")
		return nil
	}
	body := file.Docs[0].Body
	d.findAnchors(body)
	return d.config(body)
}

func (d *decoder) config(n ast.Node) *Config {
	c := &Config{Ledger: defaultLedger, Lease: defaultLease}
	d.mapping(n, "the config", []field{
		{"service", true, func(n ast.Node) { c.Service = d.service(n) }},
		{"ledger", false, func(n ast.Node) { c.Ledger, _ = d.bucketURL(n, "ledger") }},
		{"spool_dir", false, func(n ast.Node) { c.SpoolDir, _ = d.text(n, "spool_dir") }},
		{"lease", false, func(n ast.Node) { c.Lease, _ = d.duration(n, "lease", time.Second) }},
		{"jobs", true, func(n ast.Node) { c.Jobs = d.jobs(n) }},
	}, nil)
	return c
}

func (d *decoder) jobs(n ast.Node) []Job {
	var jobs []Job
	names, tables := map[string]int{}, map[string]int{} // -> line
	for _, element := range d.elements(n, "jobs") {
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
	return jobs
}

// Kinds that the design has and this version doesn't.
var laterKinds = map[string]bool{"events": true, "spend": true, "sharing": true, "apps": true}

func (d *decoder) job(n ast.Node) (Job, map[string]ast.Node) {
	j := Job{Zone: "UTC", Report: newReport()}
	if p := position(n); p != nil {
		j.Line = p.Line
	}
	fields := []field{
		{"name", true, func(n ast.Node) { j.Name = d.tableName(n, "name") }},
		{"kind", true, func(n ast.Node) { j.Kind = d.kind(n) }},
		{"schedule", false, func(n ast.Node) { j.Schedule = d.schedule(n) }},
		{"zone", false, func(n ast.Node) { j.Zone = d.zone(n) }},
		{"table", false, func(n ast.Node) { j.Table = d.tableName(n, "table") }},
		{"sinks", true, func(n ast.Node) { j.Sinks = texts(d.list(n, "sinks", d.bucketURL)) }},
	}
	cols := &columns{}
	at := d.mapping(n, "a job", append(fields, d.reportFields(j.Report, cols)...), refusedParameters)
	if at != nil {
		d.checkReport(j.Report, n, at, cols)
	}
	if j.Table == "" {
		j.Table = j.Name
	}
	return j, at
}

func (d *decoder) kind(n ast.Node) string {
	if v, ok := d.resolve(n).(*ast.StringNode); ok && laterKinds[v.Value] {
		d.fail(n, "kind %s is not part of this version; kinds: report", v.Value)
		return ""
	}
	s, _ := d.oneOf(n, "kind", "report")
	return s
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,127}$`)

func (d *decoder) tableName(n ast.Node, key string) string {
	s, ok := d.word(n, key)
	if ok && !namePattern.MatchString(s) {
		d.fail(n, "%s: %q is no name: want a small letter, then up to 127 small letters, digits and underscores", key, s)
		return ""
	}
	return s
}

// schedule checks a cron expression. The zone has a key of its own, and a schedule that never fires is a mistake: a
// job that never runs looks like one that has nothing to do.
func (d *decoder) schedule(n ast.Node) string {
	s, ok := d.text(n, "schedule")
	if !ok {
		return ""
	}
	if strings.Contains(s, "TZ=") { // the library panics on a zone without a space behind it
		d.fail(n, "schedule: write the zone under the key zone")
		return ""
	}
	spec, err := cron.ParseStandard(s)
	if err != nil {
		d.fail(n, "schedule: %q is no cron expression: %v; want minute, hour, day of month, month, day of week", s, err)
		return ""
	}
	// From a fixed day, so that a file is not right in one year and wrong in another.
	if spec.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		d.fail(n, "schedule: %q never fires: no year has such a day", s)
	}
	return s
}

func (d *decoder) zone(n ast.Node) string {
	s, ok := d.text(n, "zone")
	if !ok {
		return ""
	}
	if _, err := time.LoadLocation(s); err != nil || s == "Local" {
		d.fail(n, "zone: %q is no zone of the IANA list; want for example UTC or Europe/Berlin", s)
	}
	return s
}

var schemePattern = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`)

// bucketURL reads the URL of a ledger or sink. Messages don't repeat it: its query may hold a secret.
func (d *decoder) bucketURL(n ast.Node, key string) (string, bool) {
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
}
