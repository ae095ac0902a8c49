package bqtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// A loadRun is a load job whose time has come: its files are read and checked, and then its rows
// are written or the job fails.
type loadRun struct {
	job       *job
	load      *bq.JobConfigurationLoad
	dst       *bq.TableReference // without decorator
	decorator string             // the partition's ID, behind the $
	decorated bool               // the destination has a decorator
	table     *table             // the destination
	isNew     bool               // the destination doesn't exist yet, and table has its definition only
	sources   []*source
	schema    *bq.TableSchema // of the rows that are loaded
	schemas   schemaChanges
	rows      []row
	rowBytes  int64
}

// load does the work of a load job, or sets the job's errors.
func (s *Server) load(ctx context.Context, j *job) {
	l := &loadRun{job: j, load: j.Config.Load}
	ref := *l.load.DestinationTable
	ref.TableId, l.decorator, l.decorated = splitDecorator(ref.TableId)
	l.dst = &ref
	l.table = s.tables[tableKey(l.dst)]
	// Check and read everything. The first step with errors fails the job.
	for _, step := range []func() []*refusal{
		func() []*refusal { return s.checkAccess(l) },
		func() []*refusal { return s.checkQuotas(l) },
		func() []*refusal { return s.readSources(ctx, l) },
		func() []*refusal { return l.checkDestination() },
		func() []*refusal { return l.convert() },
		func() []*refusal { return s.checkPartitions(l) },
	} {
		if bad := step(); len(bad) > 0 {
			for _, r := range bad {
				j.Errors = append(j.Errors, r.proto())
			}
			for _, e := range j.Errors {
				if len(l.load.SourceUris) > 0 && strings.HasPrefix(e.Message, "Error while reading data") {
					e.Location = l.load.SourceUris[0]
				}
			}
			s.countLoad(j, 0)
			return
		}
	}
	// Write the rows, and fill in the job's statistics.
	s.write(l)
	for _, src := range l.sources {
		j.Load.InputFiles++
		j.Load.InputFileBytes += src.size
	}
	j.Load.OutputRows, j.Load.OutputBytes = int64(len(l.rows)), l.rowBytes
	s.countLoad(j, l.modifiedPartitions())
}

// checkAccess checks the permissions that a load needs besides bigquery.jobs.create. BigQuery does
// so when the job runs.
// https://cloud.google.com/bigquery/docs/batch-loading-data#required_permissions
func (s *Server) checkAccess(l *loadRun) []*refusal {
	if _, r := s.findDataset(l.dst.ProjectId, l.dst.DatasetId); r != nil { // the dataset was deleted while the job ran
		return []*refusal{r}
	}
	needed := []string{"bigquery.tables.updateData"}
	if l.table == nil {
		needed = append(needed, "bigquery.tables.create")
	}
	for _, permission := range needed {
		if slices.Contains(s.denied, permission) {
			c := &call{project: l.dst.ProjectId, dataset: l.dst.DatasetId, table: l.dst.TableId}
			return []*refusal{c.denied(permission)}
		}
	}
	return nil
}

// modifiedPartitions returns how many partitions the load changes. A load without rows counts as
// one.
func (l *loadRun) modifiedPartitions() int { return max(len(l.partitions()), 1) }

// partitions returns the IDs of the partitions that get rows, or the one that the decorator names.
func (l *loadRun) partitions() []string {
	if l.decorated {
		return []string{l.decorator}
	}
	seen := map[string]bool{}
	for _, r := range l.rows {
		seen[r.partition] = true
	}
	return slices.Collect(maps.Keys(seen))
}

// readSources reads the job's files: those of its URIs, or the uploaded one.
func (s *Server) readSources(ctx context.Context, l *loadRun) []*refusal {
	add := func(name string, content []byte) *refusal {
		src, err := l.read(ctx, name, content)
		if err != nil {
			return refuse("invalid", "Error while reading data, error message: %v", err)
		}
		l.sources = append(l.sources, src)
		return nil
	}
	if len(l.load.SourceUris) == 0 {
		if r := add("", l.job.media); r != nil {
			return []*refusal{r}
		}
		return nil
	}
	for _, uri := range slices.Sorted(slices.Values(l.load.SourceUris)) {
		content, r := s.fetch(ctx, uri)
		if r == nil {
			r = add(uri, content)
		}
		if r != nil {
			return []*refusal{r}
		}
	}
	return nil
}

// read reads one file. JSON has no types of its own, so it is read with the job's schema, or the
// table's.
func (l *loadRun) read(ctx context.Context, name string, content []byte) (*source, error) {
	if l.load.SourceFormat == formatParquet {
		return readParquet(ctx, name, content, l.load.DecimalTargetTypes)
	}
	schema := l.load.Schema
	if schema == nil && l.table != nil {
		schema = l.table.Doc.Schema
	}
	if schema == nil {
		return nil, fmt.Errorf("no schema specified on job or table")
	}
	return readNDJSON(name, content, schema)
}

// fileSchema returns the schema of the alphabetically last file, which is used when the job has
// none. https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet#parquet_schemas
func (l *loadRun) fileSchema() *bq.TableSchema {
	s := &bq.TableSchema{}
	for _, c := range l.sources[len(l.sources)-1].columns {
		mode := "NULLABLE"
		if c.required {
			mode = "REQUIRED"
		}
		s.Fields = append(s.Fields, &bq.TableFieldSchema{Name: c.name, Type: c.kind, Mode: mode})
	}
	return s
}

// checkDestination finds the definition of a table that is to be created, or how the existing one
// has to change.
func (l *loadRun) checkDestination() []*refusal {
	// Find the schema of the rows: the job's, the table's for JSON, or the file's.
	l.schema = l.load.Schema
	if l.schema == nil && l.load.SourceFormat == formatJSON {
		l.schema = l.table.Doc.Schema
	}
	if l.schema == nil {
		l.schema = l.fileSchema()
		if r := normalizeSchema(l.schema); r != nil {
			return []*refusal{r}
		}
	}
	if l.table == nil {
		return l.checkNewTable()
	}
	// Compare the job's settings with the existing table.
	t := l.table
	if t.isView() {
		return []*refusal{refuse("invalid", "Cannot load into %s: it is a view", t.Doc.Id)}
	}
	if p := l.load.TimePartitioning; p != nil {
		p.Type = strings.ToUpper(p.Type)
		if have, want := partitioningText(t.partitioned()), partitioningText(p); have != want {
			return []*refusal{refuse("invalid", "Incompatible table partitioning specification. Expected "+
				"partitioning specification %s, but input partitioning specification is %s", have, want)}
		}
	}
	if c := l.load.Clustering; c != nil {
		if have, want := clusteringText(t.Doc.Clustering), clusteringText(c); have != want {
			return []*refusal{refuse("invalid", "Incompatible table partitioning specification. Expected clustering "+
				"%s, but input clustering is %s", have, want)}
		}
	}
	if l.decorated {
		if r := checkDecorator(l.dst, l.decorator, t.partitioned()); r != nil {
			return []*refusal{r}
		}
	}
	if l.replacesTable() {
		if r := checkPartitioning(t.partitioned(), l.schema); r != nil {
			return []*refusal{r}
		}
		if r := checkClustering(t.Doc.Clustering, l.schema); r != nil {
			return []*refusal{r}
		}
		return nil
	}
	l.schemas = compareSchemas(t.Doc.Schema, l.schema)
	options := l.load.SchemaUpdateOptions
	var bad []*refusal
	for _, msg := range l.schemas.allForbidden(slices.Contains(options, "ALLOW_FIELD_ADDITION"),
		slices.Contains(options, "ALLOW_FIELD_RELAXATION")) {
		bad = append(bad, refuse("invalid", "Provided Schema does not match Table %s. %s", legacyName(l.dst), msg))
	}
	return bad
}

// replacesTable reports whether the load replaces all rows and the schema.
func (l *loadRun) replacesTable() bool {
	return l.load.WriteDisposition == "WRITE_TRUNCATE" && !l.decorated
}

// checkNewTable checks the definition of a table that the load creates.
func (l *loadRun) checkNewTable() []*refusal {
	if l.load.CreateDisposition == "CREATE_NEVER" {
		return []*refusal{refuse("notFound", "Not found: Table %s", legacyName(l.dst))}
	}
	if l.decorated && l.load.TimePartitioning == nil {
		l.load.TimePartitioning = &bq.TimePartitioning{Type: "DAY"}
	}
	doc := bq.Table{
		TableReference: l.dst, Schema: l.schema, TimePartitioning: l.load.TimePartitioning,
		Clustering:              l.load.Clustering,
		EncryptionConfiguration: l.load.DestinationEncryptionConfiguration,
	}
	if p := l.load.DestinationTableProperties; p != nil {
		doc.Description, doc.FriendlyName, doc.Labels = p.Description, p.FriendlyName, p.Labels
	}
	if r := checkTable(&doc); r != nil {
		return []*refusal{r}
	}
	if l.decorated {
		if r := checkDecorator(l.dst, l.decorator, doc.TimePartitioning); r != nil {
			return []*refusal{r}
		}
	}
	l.table, l.isNew = &table{Doc: doc}, true // write creates it
	return nil
}

// write makes the rows visible. It happens under the server's lock and can't fail: readers see all
// the old rows or all the new ones.
func (s *Server) write(l *loadRun) {
	t := l.table
	rows := slices.Clone(t.rows)
	switch {
	case l.isNew:
		d := s.datasets[l.dst.ProjectId+"."+l.dst.DatasetId] // checkAccess has found it
		t = s.createTable(t.Doc, d.Doc.Location)
	case l.replacesTable():
		t.Doc.Schema, rows = l.schema, nil
	default:
		t.Doc.Schema = &bq.TableSchema{Fields: append(slices.Clone(t.Doc.Schema.Fields), l.schemas.added...)}
		for i, f := range t.Doc.Schema.Fields {
			if slices.Contains(l.schemas.relaxed, f.Name) {
				relaxed := *f
				relaxed.Mode = "NULLABLE"
				t.Doc.Schema.Fields[i] = &relaxed
			}
		}
		if l.load.WriteDisposition == "WRITE_TRUNCATE" {
			rows = slices.DeleteFunc(rows, func(r row) bool { return r.partition == l.decorator })
		}
	}
	t.rows = append(rows, l.rows...)
	s.saveTable(t)
}

// checkPartitions checks the rows against WRITE_EMPTY and the limits on partitions.
func (s *Server) checkPartitions(l *loadRun) []*refusal {
	have := l.table.partitions()
	if l.load.WriteDisposition == "WRITE_EMPTY" && (have[l.decorator] || !l.decorated && len(have) > 0) {
		return []*refusal{refuse("duplicate", "Already Exists: Table %s", legacyName(l.load.DestinationTable))}
	}
	if l.table.partitioned() == nil {
		return nil
	}
	if most, ok := limit(s.quotas.PartitionsPerJob, 4000); ok && l.modifiedPartitions() > most {
		return []*refusal{refuse("invalid", "Too many partitions produced by query, allowed %d, query produces at "+
			"least %d partitions", most, l.modifiedPartitions())}
	}
	after := map[string]bool{}
	if !l.replacesTable() {
		maps.Copy(after, have)
	}
	for _, r := range l.rows {
		after[r.partition] = true
	}
	if most, ok := limit(s.quotas.PartitionsPerTable, 10000); ok && len(after) > most {
		return []*refusal{refuse("quotaExceeded",
			"Quota exceeded: Your table exceeded quota for Number of partitions. Table %s would have %d partitions, "+
				"allowed %d", legacyName(l.dst), len(after), most)}
	}
	return nil
}

// location names the source in a message, if it has a name.
func (src *source) location() string {
	if src.name == "" {
		return ""
	}
	return fmt.Sprintf(" File: %s", src.name)
}
