// Package config reads the YAML file that says what to load from where, and into which sinks.
// Without it, a slip in the file would be found at night by a failed run, or never: every key, name
// and value is checked here, before any request, and mistakes are reported with their place in the
// file.
//
//	reportferry.yml                            Config
//	  service: ...          ─┐                   Service
//	  ledger:  ...           │  Load, Parse      Ledger, Audit, ...
//	  jobs:                  ├───────────────>   Jobs []Job
//	  - name: installs       │                     Report, Events, Spend, Sharing or Apps, by the job's kind
//	    kind: report         │
//	    ...                 ─┘
//	                           Schema ───────>  JSON Schema, for editors
//
// The part of a Job that belongs to one kind is in a file with the table of the kind's keys.
// Package strict reads a config by these tables, and the JSON Schema and README.md beside this file
// are made from them.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/kinds"
	"github.com/reportferry/reportferry/config/shape"
	"github.com/reportferry/reportferry/config/strict"
)

// Config is the content of the file. Defaults are filled in, and every rule holds that can be
// checked without the service.
type Config struct {
	Root      string // folder to which the file's relative paths were relative; they are absolute here
	RootNamed bool   // whether the file or the environment names the root; if not, it is the file's folder
	Service   Service
	Accounts  []*Account    // in the order of the file; jobs without an account have that of Service
	Ledger    string        // bucket URL of the ledger
	Audit     string        // sink URL of the tables that record what runs did; empty: none
	Export    string        // bucket URL of the console's pages; empty: they aren't written
	Console   string        // address at which people find the console's pages; empty: none
	Notify    []Notify      // receivers of notices when something is wrong
	Heartbeat string        // a reference to the address that is called at each run; empty: none
	SpoolDir  string        // folder of the spool files; empty: the system's folder for temporary files
	States    string        // prefix of the names of the tables that describe the jobs' tables; empty: there are none
	Parquet   Parquet       // how files are written
	Raw       kinds.Raw     // where raw answers are kept, unless a job says otherwise
	KeepDays  int           // how long the ledger keeps earlier states of partitions; 0: for ever
	Lease     time.Duration // how long a lease lasts that isn't renewed
	Jobs      []Job
	// What is allowed but likely a slip, in the order of the file; a file with warnings is valid.
	Warnings []*strict.Error
}

// Load reads and checks the file at path. Its errors are those of Parse.
func Load(path string, env strict.Env) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, syscall.EISDIR) {
			err = fmt.Errorf("%w; name the file in it, as in %s", err, filepath.Join(path, "reportferry.yml"))
		}
		return nil, fmt.Errorf("read config: %w", err)
	}
	return Parse(path, data, env)
}

// Parse checks the content of a file; name is what errors call it. ${NAME} in a text is filled in
// from env. Tokens stay references, which are looked up when they are needed. All mistakes of the
// file are found at once: the error joins one *strict.Error for each, in the order of the file.
func Parse(name string, data []byte, env strict.Env) (*Config, error) {
	c := &Config{}
	warnings, err := strict.Read(data, configObject(c), options(name, env))
	if err != nil {
		return nil, err
	}
	c.Warnings = warnings
	return c, nil
}

// Show returns every key with the value that it has after Parse, for people, as strict.Show does.
func Show(name string, data []byte, env strict.Env, redact func(string) string) ([]strict.Shown, error) {
	shown, _, err := strict.Show(data, configObject(&Config{}), options(name, env), redact)
	return shown, err
}

// options says how the config is read; name is what errors call the file.
func options(name string, env strict.Env) strict.Options {
	return strict.Options{File: name, Env: env, Example: "config/example.yml"}
}

// configObject describes the keys of the file, which fill c, and sets their defaults.
func configObject(c *Config) strict.Object {
	c.Ledger, c.Lease, c.States = "file://./.reportferry", 2*time.Minute, usualStates
	c.Parquet.Pages = "v2"
	parquet := strict.Optional("parquet", parquetBlock, &c.Parquet, "{pages: v1}",
		"How the Parquet files of all tables are written.")
	parquet.Now = func() any { return []strict.Shown{{Key: "pages", Value: c.Parquet.Pages}} }
	root := strict.Optional("root", strict.Text, &c.Root, "/var/lib/reportferry",
		"Folder to which relative paths are relative: without the key that of this file. The environment variable `"+
			rootVariable+"` goes before it.")
	return strict.Object{What: "the config", Like: "service: embedded", Refused: otherTopKeys, Unknown: keyOfJob,
		Fields: slices.Concat([]strict.Field{
			root.Noting(func() string { return c.Root }),
			strict.Required("service", service, &c.Service, "embedded",
				"Where the service is, and how gently it is asked. The word embedded stands for the emulator in this "+
					"process.").Because(
				"it is the word embedded, for made-up numbers, or has the keys base_url and token, for your own"),
			strict.Optional("accounts", accounts, &c.Accounts,
				"{client_a: {token: '${TOKEN_A}'}, client_b: {token: '${file:/run/secrets/b}'}}",
				"Accounts of the service by names of your own, for jobs with the key accounts. All else that service "+
					"says holds for each of them, and the rate for all together."),
			shape.Place("ledger", shape.BucketURL, &c.Ledger, "gs://my-bucket/ledger",
				"URL of the bucket that records what is done. A folder is enough for one machine; several need a "+
					"bucket that all of them reach."),
			shape.Place("audit", shape.BucketURL, &c.Audit, "bigquery://my-project/my_dataset",
				"Dataset, as bigquery://project/dataset, in whose table _reportferry_runs each run records what it "+
					"did."),
			shape.Place("export", pagesURL, &c.Export, "gs://my-bucket/status",
				"URL of a bucket or folder that gets the console's pages as files after each run; index.html is "+
					"the first one."),
			strict.Optional("console", pageAddress, &c.Console, "https://status.example.com",
				"Address of the console's pages, to which messages lead."),
			strict.Optional("notify", receivers(), &c.Notify, "",
				"Who is told, once, when something is wrong, and when it is over. `reportferry notify --test` sends "+
					"each of them a message."),
			shape.Place("heartbeat", secretAddress, &c.Heartbeat, "${HEARTBEAT_URL}",
				"Where the address is kept that is told of each run: `/start` at its beginning, the address itself "+
					"after a success, and the exit code behind it after a failure, as healthchecks.io has it. A "+
					"watcher that hears nothing knows of a run that never began."),
			shape.Place("spool_dir", strict.Text, &c.SpoolDir, "/var/spool/reportferry",
				"Folder in which finished files over 64 KiB wait until their sinks have taken them. Without the key "+
					"it "+
					"is the system's folder for temporary files."),
			strict.Optional("lease", strict.Duration(time.Second), &c.Lease, "5m",
				"After how long without renewal of its lease another process may take over a piece of work."),
			states(&c.States),
			parquet,
			shape.DaysField("keep_history", &c.KeepDays, "400d",
				"How long the ledger keeps what partitions were before they were replaced. Without the key it keeps "+
					"all of it."),
		}, kinds.RawFields(&c.Raw,
			"URL of the bucket that keeps the service's answers as they came, so that tables can be rebuilt without "+
				"the service. Without the key they aren't kept."), []strict.Field{
			strict.Optional("jobs", jobList(), &c.Jobs, "",
				"What to ferry. Each job fills a table of its own, or pushes files to the service."),
		}), Check: func(d *strict.Decoder, _ strict.Node, at map[string]strict.Node) {
			// Jobs inherit raw, then paths are resolved, and then each entry becomes its jobs.
			for _, j := range c.Jobs {
				if j.Report != nil {
					j.Report.Raw = j.Report.Raw.Or(c.Raw)
				}
			}
			c.locate(d, at["root"])
			c.spread(d)
			checkHosts(d, c, at["service"])
			checkReceivers(d, c, at["notify"])
			for i := range c.Jobs {
				if c.States != "" && strings.HasPrefix(c.Jobs[i].Table, c.States) {
					d.Fail(at["state_tables"],
						"state_tables: the table %s of job %s begins with %s too, and readers take it for one of "+
							"those; choose another beginning",
						c.Jobs[i].Table, c.Jobs[i].Name, c.States)
				}
			}
		}}
}

// Parquet says how files are written.
type Parquet struct {
	Pages string // the version of their data pages: v1 or v2
}

var parquetBlock = strict.ObjectOf(func(p *Parquet) strict.Object {
	p.Pages = "v2"
	return strict.Object{What: "parquet", Fields: []strict.Field{strict.Optional("pages", strict.OneOf("v1", "v2"),
		&p.Pages, "v1",
		"The version of data pages. Files of v2 are a little smaller, and all readers take them that are tried "+
			"here; Snowflake and older readers want v1. A partition keeps its version until it is put again.")}}
})

// pagesURL reads the URL of a bucket or folder for files.
var pagesURL = strict.Checked(shape.BucketURL, func(d *strict.Decoder, n strict.Node, key, s string) bool {
	if scheme, _, _ := strings.Cut(s, ":"); slices.Contains([]string{"bigquery", "postgres", "iceberg"}, scheme) {
		d.Fail(n, "%s: pages are files, which a database doesn't take; want a bucket or a folder, such as "+
			"gs://my-bucket/status", key)
		return false
	}
	return true
})

var pageAddress = strict.Matching(strict.Expr(`^https?://[^\s/]+\S*$`), "an address such as https://status.example.com")

// checkHosts requires the address of every host that a job asks or pushes to. A config without jobs
// needs the host of reports, because commands such as report ask it.
func checkHosts(d *strict.Decoder, c *Config, service strict.Node) {
	s := c.Service
	if service == nil || s.Embedded {
		return
	}
	if s.noBaseURL && (len(c.Jobs) == 0 || slices.ContainsFunc(c.Jobs, Job.AsksService)) {
		d.Fail(service, "service: required key \"base_url\" is missing, as in base_url: https://automate.adjust.com")
	}
	if s.noToken && (len(c.Jobs)+len(c.Accounts) == 0 || slices.ContainsFunc(c.Jobs,
		func(j Job) bool { return j.AsksService() && j.Account == "" })) {
		d.Fail(service, "service: required key \"token\" is missing, as in token: ${ADJUST_TOKEN}")
	}
	for _, j := range c.Jobs {
		if j.Spend != nil && s.CostURL == "" {
			d.Fail(service, "service: job %s pushes spend, so cost_url is needed", j.Name)
		}
		if j.Sharing != nil && s.S2SURL == "" {
			d.Fail(service, "service: job %s pushes sharing choices, so s2s_url is needed", j.Name)
		}
	}
}

// Schema returns the JSON Schema (draft 2020-12) of a config, for editors that complete and check
// while one types. It is made from the tables that Parse uses, and allows every file that Parse
// takes.
func Schema() ([]byte, error) {
	// The keys at the top.
	s := configObject(new(Config)).Schema()
	s.Version = jsonschema.Version
	s.Title = "reportferry config"
	s.Description = "What reportferry ferries where. In a text, ${NAME} stands for the value of an environment " +
		"variable, and $${ for ${ itself."
	s.Definitions = jsonschema.Definitions{}
	// A job: its kind says which definition holds.
	job := &jsonschema.Schema{
		Type: "object", Required: []string{"kind"}, Properties: jsonschema.NewProperties(),
	}
	kind := kindName.Schema()
	kind.Description = "What the job does."
	job.Properties.Set("kind", kind)
	for _, k := range kinds.All {
		kind.Description += fmt.Sprintf("\n%s: %s", k.Name, k.Doc)
		one := jsonschema.NewProperties()
		one.Set("kind", &jsonschema.Schema{Const: k.Name})
		job.AllOf = append(job.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: one, Required: []string{"kind"}},
			Then: &jsonschema.Schema{Ref: "#/$defs/" + k.Name},
		})
		of := jobObject(new(Job), k).Schema()
		of.Description = k.Doc
		s.Definitions[k.Name] = of
	}
	s.Definitions["job"] = job
	strict.AllowVariables(s)
	out := &bytes.Buffer{}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("write the schema of the config: %w", err)
	}
	return out.Bytes(), nil
}
