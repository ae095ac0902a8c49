// Package bqtest is a contract fake of the BigQuery calls that a sink of partitions makes. Without
// it, what the sink does when an answer is lost, a job fails or a quota is used up could be tried
// against a real project only, where none of that can be asked for, or against mocks that share
// whatever misunderstanding the sink has.
//
//	call ─ fault script ─ permissions ─ jobs whose time has come are done ─ the call itself ─ answer, entry in Requests
//
// It is written from BigQuery's public reference alone and reads Parquet with Arrow's reader, so
// that it shares no code with what it tests. The unmodified client cloud.google.com/go/bigquery
// runs against it, with option.WithEndpoint(url + "/bigquery/v2/") and
// option.WithoutAuthentication(). Rows are kept in memory.
//
// The rules, and the pages that they are from, below https://cloud.google.com/bigquery/docs/ :
//
//   - A job comes by jobs.insert: as JSON, as one multipart request or through a resumable session
//     (reference/api-uploads). Chunks but the last are multiples of 256 KiB, a session that is complete repeats its answer,
//     and "resume incomplete" is 308, or 200 with a header when the client asks for that.
//   - A job ID that is known is refused with 409 duplicate, whatever became of the job (managing-jobs#generate-jobid,
//     reference/rest/v2/jobs/insert).
//   - A configuration that is wrong whatever the data are is refused at the insert. Errors of the data, the table, a quota or
//     a missing permission on the table are in the job's status: errorResult and errors (error-messages).
//   - A job runs for Options.JobTime and is RUNNING until then. Its rows become visible all at once when it is DONE, and
//     never when it fails (batch-loading-data, reference/rest/v2/Job#JobConfigurationLoad: writeDisposition). There is no
//     state PENDING here.
//   - jobs.get finds a job without its location in US and EU only (reference/rest/v2/jobs/get). A job in another location
//     than its dataset's doesn't find the dataset (locations#specify_locations).
//   - table$YYYYMMDDHH, $YYYYMMDD, $YYYYMM and $YYYY name one partition by the table's granularity, $__NULL__ the rows
//     without a date. WRITE_TRUNCATE there replaces that partition alone, and a row of another one fails the job
//     (managing-partitioned-table-data, partitioned-tables#time_partitioning_tables).
//   - WRITE_TRUNCATE of a whole table takes the job's schema for the table's. Else the schemas must agree: columns are
//     added with ALLOW_FIELD_ADDITION and relaxed with ALLOW_FIELD_RELAXATION, nothing else changes, and the options are
//     refused unless rows are appended or a partition is replaced (managing-table-schemas, reference/rest/v2/Job).
//   - Parquet's types load as loading-data-cloud-storage-parquet#parquet_conversions says, decimals by decimalTargetTypes;
//     with several files the alphabetically last one has the schema, unless the job has it. Columns are found by name; one
//     that the table lacks fails the job unless ignoreUnknownValues is set.
//   - Files come with the request or from gs:// URIs; those are read when the job ends, so that a file which is
//     deleted too early fails its job. JSON lines load as well (loading-data-cloud-storage-json).
//   - tables.patch honours If-Match with 412, adds nullable columns and changes descriptions, labels, expiration, clustering
//     and the required filter, never the partitioning or a type (reference/rest/v2/tables/patch).
//   - A table that is made without an expiration has its dataset's (reference/rest/v2/datasets). A table goes at its
//     expirationTime, with whatever it holds, and a partition expirationMs after its end, in UTC
//     (managing-partitioned-tables#partition-expiration).
//   - Clustering takes up to four columns, none FLOAT64 (clustered-tables#limitations). Labels are lower case, at most 63
//     characters (labels-intro#requirements).
//   - Load jobs of a table and project in a day, failed ones too, partitions of a job and table, partition modifications in
//     a day (not those of DML) and commits in ten seconds are limited (quotas); daily ones fail with quotaExceeded and
//     rates with rateLimitExceeded (troubleshoot-quotas).
//   - The parameter fields selects fields of every answer (api-performance#partial-response).
//
// There is no SQL engine. The fake knows the statements that the sink sends, DELETE of a partition
// or of all rows, the rows of a table's partitions (information-schema-partitions), and SELECT 1,
// and refuses every other with notImplemented and the statement's text. A table that requires a
// partition filter refuses a DELETE without one (querying-partitioned-tables). Views are kept with
// whatever query they have, and never run: .ci/views.py runs their SQL in DuckDB.
//
// Not here: slots aren't counted, and all jobs are one account's. DDL, INSERT and MERGE, copy and
// extract jobs, streaming inserts, range partitioning, nested and repeated columns and wildcards in
// URIs are refused.
package bqtest
