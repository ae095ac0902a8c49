package config

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/rooted"
)

// stores are hints for URL schemes that other programs use and reportferry doesn't have.
var stores = map[string]string{
	"gcs": "did you mean gs://?", "google": "did you mean gs://?",
	"s3a": "did you mean s3://?", "s3n": "did you mean s3://?", "aws": "did you mean s3://?",
	"az": "did you mean azblob://?", "azure": "did you mean azblob://?",
	"abfs":  "did you mean azblob://container/path?",
	"abfss": "did you mean azblob://container/path?", "wasb": "did you mean azblob://container/path?",
	"wasbs": "did you mean azblob://container/path?",
	"adl":   "did you mean azblob://container/path?", "adls": "did you mean azblob://container/path?",
	"bq": "did you mean bigquery://project/dataset?", "bigq": "did you mean bigquery://project/dataset?",
	"http": webAddress, "https": webAddress,
	"postgresql": postgresURL, "pg": postgresURL, "pgsql": postgresURL,
	"ice": icebergURL, "glue": icebergURL, "nessie": icebergURL, "polaris": icebergURL, "lakekeeper": icebergURL,
	"trino": icebergURL, "athena": icebergURL,
	"duckdb": loads, "redshift": loads, "snowflake": loads, "databricks": loads,
	"clickhouse": loads, "mysql": loads, "mssql": loads, "sqlite": loads, "motherduck": loads,
	"parquet": loads, "csv": "files are always Parquet; want a URL such as file://./out",
	"dbfs": "want the bucket behind it, such as s3://bucket/prefix",
	"sftp": bucketOrFolder, "ftp": bucketOrFolder, "ftps": bucketOrFolder, "hdfs": bucketOrFolder,
	"webdav": bucketOrFolder,
}

const (
	bucketOrFolder = "want a bucket such as s3://bucket/prefix, or a folder such as file:///mnt/out"
	webAddress     = "want the bucket by its own scheme: gs://bucket/prefix, s3://bucket/prefix or " +
		"azblob://container/prefix"
	postgresURL = "did you mean postgres://user@host/database/schema?"
	icebergURL  = "did you mean iceberg://catalog/namespace?type=rest&uri=https://catalog.example.com, or with " +
		"type=glue or sql?"
	loads = "no database is written but BigQuery, Postgres and Iceberg catalogs: put Parquet files into a " +
		"bucket or folder, such as file://./out, and read or load them from there"
)

// noSuchStore reports common mistakes in a URL, such as a foreign scheme, no bucket, or a plain
// path, and returns true if it found one. No message repeats a URL, because its query may hold a
// secret.
func noSuchStore(d *strict.Decoder, n strict.Node, key, s string) bool {
	scheme, _, hasScheme := strings.Cut(s, "://")
	scheme = catalog.Fold(scheme)
	switch {
	case hasScheme && stores[scheme] != "":
		d.Fail(n, "%s: there is no %s://; %s", key, scheme, stores[scheme])
	case windowsPath.MatchString(s):
		d.Fail(n, "%s: want a URL; a folder of Windows such as C:\\data is written file:///C:/data", key)
	case emptyBucket.MatchString(s):
		d.Fail(n, "%s: the name of the bucket is missing; it stands behind two slashes, as in %s://my-bucket/prefix",
			key, scheme)
	case folderHost.MatchString(s):
		d.Fail(n, "%s: write file://./out for a folder beside you, where the command runs, and file:///out for one "+
			"at the root", key)
	case key == "ledger" && scheme == "bigquery":
		d.Fail(n, "%s: the ledger is kept in a bucket or a folder, not in BigQuery; the key audit puts what runs "+
			"did there", key)
	case key == "ledger" && scheme == "postgres":
		d.Fail(n, "%s: the ledger is kept in a bucket or a folder, not in Postgres", key)
	case key == "ledger" && scheme == "iceberg":
		d.Fail(n, "%s: the ledger is kept in a bucket or a folder, not in an Iceberg catalog", key)
	case catalogAlone.MatchString(s):
		d.Fail(n, "%s: the namespace is missing; want "+
			"iceberg://catalog/namespace?type=rest&uri=https://catalog.example.com", key)
	case projectAlone.MatchString(s):
		d.Fail(n, "%s: the dataset is missing; want bigquery://project/dataset", key)
	case plainPath.MatchString(s):
		d.Fail(n, "%s: want a URL; this folder is written file://%s", key, s)
	default:
		return false
	}
	return true
}

var (
	emptyBucket  = strict.Expr(`^(gs|s3|azblob):///`)
	folderHost   = strict.Expr(`^file://[^/.]`)
	catalogAlone = strict.Expr(`^iceberg://[^/?]*/?(\?|$)`)
	projectAlone = strict.Expr(`^bigquery://[^/?]*/?(\?|$)`)

	windowsPath = strict.Expr(`^[A-Za-z]:[\\/]`)
	plainPath   = strict.Expr(`^\.{0,2}/([A-Za-z0-9._-]+/?)*$`)
)

// rootVariable is the environment variable that overrides the key root.
const rootVariable = "REPORTFERRY_ROOT"

// place makes the field of an optional key whose value is, or contains, a path that may be
// relative. Show gives the value as it was written, and then the absolute path.
func place(key string, s strict.Shape[string], to *string, example, doc string) strict.Field {
	f := strict.Optional(key, s, to, example, doc).Noting(func() string { return located(*to) })
	f.Now = func() any { return strict.Plain(rooted.Written(*to)) }
	return f
}

// required makes a key mandatory.
func required(f strict.Field) strict.Field {
	f.Required = true
	return f
}

// located lists the absolute paths of the places that were written as relative paths.
func located(places ...string) string {
	var list []string
	for _, p := range places {
		switch folder := rooted.Folder(p); {
		case folder != "" && rooted.Written(p) != p:
			list = append(list, folder)
		case strings.HasPrefix(p, "${file:"):
			list = append(list, p)
		case p != "" && !strings.Contains(p, "://") && !strings.HasPrefix(p, "${"):
			if abs, err := filepath.Abs(p); err == nil {
				list = append(list, abs)
			}
		}
	}
	return strings.Join(list, ", ")
}

// locate resolves all relative paths: against REPORTFERRY_ROOT, or else the key root, or else the
// config file's folder. Without a config file, that is the working directory.
func (c *Config) locate(d *strict.Decoder, at strict.Node) {
	root := rooted.File(filepath.Dir(d.File()), cmp.Or(c.Root, "."))
	if named := d.Env(rootVariable); named != "" && d.File() != "" {
		root, c.RootNamed = named, true
	} else {
		c.RootNamed = c.Root != ""
	}
	var err error
	if c.Root, err = filepath.Abs(root); err != nil {
		d.Fail(at, "root: %v", err)
		return
	}
	if c.RootNamed {
		root = c.Root
	}
	urls := []*string{&c.Ledger, &c.Audit, &c.Export, &c.Raw.URL}
	files := []*string{&c.SpoolDir}
	references := []*string{&c.Heartbeat, &c.Service.Token, &c.Service.Spend.Token, &c.Service.Sharing.Token}
	for _, a := range c.Accounts {
		references = append(references, &a.Token)
	}
	for i := range c.Notify {
		references = append(references, &c.Notify[i].URL)
	}
	for _, j := range c.Jobs {
		for i := range j.Sinks {
			urls = append(urls, &j.Sinks[i])
		}
		switch {
		case j.Report != nil:
			urls = append(urls, &j.Report.Raw.URL)
		case j.Spend != nil:
			urls = append(urls, &j.Spend.Source, &j.Spend.Rejects)
		case j.Sharing != nil:
			urls = append(urls, &j.Sharing.Source, &j.Sharing.Rejects)
		case j.Apps != nil:
			files = append(files, &j.Apps.File)
		}
	}
	for _, u := range urls {
		*u = rooted.URL(c.Root, *u)
	}
	for _, f := range files { // by the config's folder as it was written, as messages name it
		*f = rooted.File(root, *f)
	}
	for _, r := range references {
		*r = rooted.Reference(c.Root, *r)
	}
}
