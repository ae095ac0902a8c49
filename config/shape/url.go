// Package shape reads the values that keys of several parts of the config have: names, zones,
// numbers of days, places and URLs. Without it, the same value would be read in two ways.
package shape

import (
	"net/url"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// schemeHints are the hints for URL schemes that other programs use and reportferry doesn't have.
var schemeHints = map[string]string{
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
	"duckdb": loadFiles, "redshift": loadFiles, "snowflake": loadFiles, "databricks": loadFiles,
	"clickhouse": loadFiles, "mysql": loadFiles, "mssql": loadFiles, "sqlite": loadFiles, "motherduck": loadFiles,
	"parquet": loadFiles, "csv": "files are always Parquet; want a URL such as file://./out",
	"dbfs": "want the bucket behind it, such as s3://bucket/prefix",
	"sftp": bucketOrFolder, "ftp": bucketOrFolder, "ftps": bucketOrFolder, "hdfs": bucketOrFolder,
	"webdav": bucketOrFolder,
}

// The hints that several schemes share.
const (
	bucketOrFolder = "want a bucket such as s3://bucket/prefix, or a folder such as file:///mnt/out"
	webAddress     = "want the bucket by its own scheme: gs://bucket/prefix, s3://bucket/prefix or " +
		"azblob://container/prefix"
	postgresURL = "did you mean postgres://user@host/database/schema?"
	icebergURL  = "did you mean iceberg://catalog/namespace?type=rest&uri=https://catalog.example.com, or with " +
		"type=glue or sql?"
	loadFiles = "no database is written but BigQuery, Postgres and Iceberg catalogs: put Parquet files into a " +
		"bucket or folder, such as file://./out, and read or load them from there"
)

// failCommonMistake reports common mistakes in a URL, such as a foreign scheme, no bucket, or a
// plain path, and returns true if it found one. No message repeats a URL, because its query may
// hold a secret.
func failCommonMistake(d *strict.Decoder, n strict.Node, key, s string) bool {
	scheme, _, hasScheme := strings.Cut(s, "://")
	scheme = catalog.Fold(scheme)
	switch {
	case hasScheme && schemeHints[scheme] != "":
		d.Fail(n, "%s: there is no %s://; %s", key, scheme, schemeHints[scheme])
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

// What common mistakes look like.
var (
	emptyBucket  = strict.Expr(`^(gs|s3|azblob):///`)
	folderHost   = strict.Expr(`^file://[^/.]`)
	catalogAlone = strict.Expr(`^iceberg://[^/?]*/?(\?|$)`)
	projectAlone = strict.Expr(`^bigquery://[^/?]*/?(\?|$)`)

	windowsPath = strict.Expr(`^[A-Za-z]:[\\/]`)
	plainPath   = strict.Expr(`^\.{0,2}/([A-Za-z0-9._-]+/?)*$`)
)

// schemeForm matches the beginning of a URL.
var schemeForm = strict.Expr(`^[a-z][a-z0-9+.-]*://`)

// BucketURL reads the URL of a ledger or a sink. Messages don't repeat it, because its query may
// hold a secret.
var BucketURL = strict.Shape[string]{
	Read: strict.Checked(strict.Text, func(d *strict.Decoder, n strict.Node, key, s string) bool {
		_, err := url.Parse(s)
		switch {
		case failCommonMistake(d, n, key, s):
		case !schemeForm.MatchString(s):
			d.Fail(n, "%s: want a URL with a scheme, such as file://./out or gs://bucket/prefix", key)
		case err != nil:
			d.Fail(n, "%s: this isn't a URL", key)
		default:
			return true
		}
		return false
	}).Read,
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Title: "a URL such as gs://bucket/prefix",
			Pattern: schemeForm.String()}
	},
}
