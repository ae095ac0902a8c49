package dbt

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
	"github.com/reportferry/reportferry/sinks/bqsink"
	"github.com/reportferry/reportferry/sinks/pgsink"
)

// A place says where the tables are, in the terms of a dbt source. Parts that may differ in another
// environment are variables of dbt.
type place struct {
	database, schema string // names, or templates of dbt variables; empty where the source has none
	files            string // SQL that reads a table's files; dbt-duckdb puts the table's name in
	output           output
	typeName         func(sinks.ColumnType) string // the SQL type of a column
}

// An output says how dbt connects, and where it creates models: in a schema or file beside the
// tables', so that no model replaces a table.
type output struct {
	Type       string   `yaml:"type"`
	Path       string   `yaml:"path,omitempty"`
	Extensions []string `yaml:"extensions,omitempty"`
	Secrets    []secret `yaml:"secrets,omitempty"`
	Method     string   `yaml:"method,omitempty"`
	Project    string   `yaml:"project,omitempty"`
	Dataset    string   `yaml:"dataset,omitempty"`
	Location   string   `yaml:"location,omitempty"`
	Host       string   `yaml:"host,omitempty"`
	Port       string   `yaml:"port,omitempty"`
	User       string   `yaml:"user,omitempty"`
	Password   string   `yaml:"password,omitempty"`
	DBName     string   `yaml:"dbname,omitempty"`
	Schema     string   `yaml:"schema,omitempty"`
	Threads    int      `yaml:"threads"`
}

// A secret says by which credentials DuckDB reads a bucket.
type secret struct {
	Type     string `yaml:"type"`
	Provider string `yaml:"provider,omitempty"`
	KeyID    string `yaml:"key_id,omitempty"`
	Secret   string `yaml:"secret,omitempty"`
}

// variable returns the template of a dbt variable with a default.
func variable(name, usual string) string { return fmt.Sprintf("{{ var(%q, %q) }}", name, usual) }

// environment returns the template of an environment variable with a default.
func environment(name, usual string) string { return fmt.Sprintf("{{ env_var(%q, %q) }}", name, usual) }

// placeOf returns the place of a sink. The sink's URL may name the user and the location; secrets
// in it are left out.
func placeOf(target ledger.Target, rawURL string, d views.Dialect) (at place, err error) {
	where, err := url.Parse(rawURL)
	if err != nil {
		return at, fmt.Errorf("%s isn't an address", target.Name)
	}
	path := strings.Trim(where.Path, "/")
	at.output = output{Type: d.Name, Threads: 4}
	switch d.Name {
	case views.BigQuery.Name:
		at.typeName = bqsink.TypeName
		at.database, at.schema = variable("reportferry_database", where.Host), variable("reportferry_schema", path)
		at.output.Method, at.output.Project, at.output.Dataset = "oauth", where.Host, path+"_dbt"
		at.output.Location = where.Query().Get("location")
	case views.Postgres.Name:
		database, schema, found := strings.Cut(path, "/")
		if !found {
			schema = "public"
		}
		at.typeName, at.schema = pgsink.TypeName, variable("reportferry_schema", schema)
		at.output.Host, at.output.DBName, at.output.Schema = environment("PGHOST", where.Hostname()), database,
			schema+"_dbt"
		at.output.Port = strings.Replace(environment("PGPORT", cmp.Or(where.Port(), "5432")), " }}", " | as_number }}",
			1)
		at.output.User, at.output.Password = environment("PGUSER", where.User.Username()), environment("PGPASSWORD", "")
	default:
		at.typeName = blobsink.TypeName
		if at.files, err = filesOf(target.Sink.(*blobsink.Sink)); err != nil {
			return at, err
		}
		at.output.Path = "reportferry.duckdb"
		switch where.Scheme {
		case "gs":
			at.output.Extensions = []string{"httpfs"}
			at.output.Secrets = []secret{{Type: "gcs", KeyID: environment("GCS_HMAC_KEY", ""),
				Secret: environment("GCS_HMAC_SECRET", "")}}
		case "s3":
			at.output.Extensions, at.output.Secrets = []string{"httpfs", "aws"},
				[]secret{{Type: "s3", Provider: "credential_chain"}}
		case "azblob":
			at.output.Extensions, at.output.Secrets = []string{"azure"},
				[]secret{{Type: "azure", Provider: "credential_chain"}}
		}
	}
	return at, nil
}

// filesOf returns the SQL that reads all files of a table in a folder or bucket. The path of a
// folder is absolute, because dbt runs in another one.
func filesOf(sink *blobsink.Sink) (string, error) {
	const name = "{identifier}" // dbt-duckdb puts the name of the source's table in its place
	pattern := sink.Pattern(name)
	if !strings.Contains(pattern, "://") {
		whole, err := filepath.Abs(pattern)
		if err != nil {
			return "", fmt.Errorf("find the folder %s: %w", pattern, err)
		}
		pattern = whole
	}
	root := pattern[:strings.Index(pattern, name)]
	if date := strings.Index(root, "*"); date >= 0 { // a layout with the date before the table
		root = root[:date]
	}
	root = root[:strings.LastIndex(root, "/")]
	return see.DuckDBScan(variable("reportferry_files", root)+pattern[len(root):], true), nil
}
