package bqtest

import (
	"encoding/json"
	"slices"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// namedJob returns the job ID in the body of jobs.insert, or "".
func namedJob(body []byte) string {
	var b struct {
		JobReference struct {
			JobID string `json:"jobId"`
		} `json:"jobReference"`
	}
	_ = json.Unmarshal(body, &b) // insertJob answers what is wrong with the body
	return b.JobReference.JobID
}

// insertJob refuses a configuration that is wrong whatever the data are, and accepts every other.
// Errors that depend on the data or the table are in the job's status.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/insert
func (s *Server) insertJob(c *call) (any, *refusal) {
	var doc bq.Job
	if r := decode(c.body, &doc); r != nil {
		return nil, r
	}
	if doc.Configuration == nil {
		return nil, refuse("invalid", "Job configuration is missing")
	}
	ref := bq.JobReference{ProjectId: c.project}
	if doc.JobReference != nil {
		if p := doc.JobReference.ProjectId; p != "" && p != c.project {
			return nil, refuse("invalid", "Value of JobReference.projectId %s differs from the project of the call, %s",
				p, c.project)
		}
		ref.JobId, ref.Location = doc.JobReference.JobId, doc.JobReference.Location
	}
	config := doc.Configuration
	if r := checkLabels(config.Labels); r != nil {
		return nil, r
	}
	var r *refusal
	switch {
	case config.Load != nil:
		config.JobType = "LOAD"
		ref.Location, r = s.checkLoad(c, config.Load, ref.Location)
	case config.Query != nil:
		config.JobType = "QUERY"
		ref.Location, r = s.checkQuery(config.Query, ref.Location)
	default:
		r = refuse("notImplemented", "bqtest has load and query jobs only")
	}
	if r != nil {
		return nil, r
	}
	j, r := s.startJob(c, ref, config, c.media)
	if r != nil {
		return nil, r
	}
	answer := j.resource()
	// A job without a duration is done before the next call, but the answer to this one says
	// RUNNING.
	s.finishJobs(c.request.Context())
	return answer, nil
}

// Formats of files.
const (
	formatParquet = "PARQUET"
	formatJSON    = "NEWLINE_DELIMITED_JSON"
)

// The values of three settings of a load job.
var (
	createDispositions = []string{"CREATE_IF_NEEDED", "CREATE_NEVER"}
	writeDispositions  = []string{"WRITE_APPEND", "WRITE_TRUNCATE", "WRITE_EMPTY"}
	updateOptions      = []string{"ALLOW_FIELD_ADDITION", "ALLOW_FIELD_RELAXATION"}
)

// checkLoad refuses a load configuration that BigQuery refuses or bqtest doesn't have, fills in
// the defaults, and returns the job's location.
func (s *Server) checkLoad(c *call, load *bq.JobConfigurationLoad, location string) (string, *refusal) {
	dst := load.DestinationTable
	if dst == nil || dst.DatasetId == "" || dst.TableId == "" {
		return "", refuse("invalid", "Required parameter is missing: configuration.load.destinationTable")
	}
	if dst.ProjectId == "" {
		dst.ProjectId = c.project
	}
	id, decorator, decorated := splitDecorator(dst.TableId)
	if !tableName.MatchString(id) || decorated && decorator == "" {
		return "", refuse("invalid", "Invalid table ID \"%s\".", dst.TableId)
	}
	if load.CreateDisposition == "" {
		load.CreateDisposition = "CREATE_IF_NEEDED"
	}
	if load.WriteDisposition == "" {
		load.WriteDisposition = "WRITE_APPEND"
	}
	switch {
	case load.SourceFormat != formatParquet && load.SourceFormat != formatJSON:
		return "", refuse("notImplemented", "bqtest reads %s and %s only, not %q", formatParquet, formatJSON,
			load.SourceFormat)
	case !slices.Contains(createDispositions, load.CreateDisposition):
		return "", refuse("invalid", "Invalid value for createDisposition: %s", load.CreateDisposition)
	case !slices.Contains(writeDispositions, load.WriteDisposition):
		return "", refuse("invalid", "Invalid value for writeDisposition: %s", load.WriteDisposition)
	case c.media == nil && len(load.SourceUris) == 0:
		return "", refuse("invalid", "Load configuration must specify at least one source URI")
	case c.media != nil && len(load.SourceUris) > 0:
		return "", refuse("invalid", "Load configuration must not specify source URIs for an upload")
	case load.HivePartitioningOptions != nil || load.RangePartitioning != nil || load.Autodetect && load.Schema != nil:
		return "", refuse("notImplemented", "bqtest has no hive or range partitioning, nor autodetect beside a schema")
	}
	for _, o := range load.SchemaUpdateOptions {
		if !slices.Contains(updateOptions, o) {
			return "", refuse("invalid", "Invalid value for schemaUpdateOptions: %s", o)
		}
	}
	if len(load.SchemaUpdateOptions) > 0 && load.WriteDisposition != "WRITE_APPEND" &&
		(load.WriteDisposition != "WRITE_TRUNCATE" || !decorated) {
		return "", refuse("invalid", "Schema update options should only be specified with WRITE_APPEND disposition, "+
			"or with WRITE_TRUNCATE disposition on a table partition.")
	}
	for _, uri := range load.SourceUris {
		if bucket, key, ok := splitURI(uri); !ok || bucket == "" || key == "" || strings.Contains(uri, "*") {
			return "", refuse("invalid", "Source URI \"%s\" is not gs://bucket/object (bqtest has no wildcards)", uri)
		}
	}
	if r := normalizeSchema(load.Schema); r != nil {
		return "", r
	}
	return s.jobLocation(dst.ProjectId, dst.DatasetId, location)
}
