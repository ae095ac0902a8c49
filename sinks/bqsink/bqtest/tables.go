package bqtest

import (
	"regexp"
	"slices"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// A table is BigQuery's resource and the table's rows; a view has none. A change replaces the slice
// of rows and never writes into it, so that a reader who holds the slice sees one state of the
// table.
type table struct {
	Doc     bq.Table
	version int64
	rows    []row
}

// A row has its cells in the order of the table's schema, and the ID of its partition. A cell is
// nil, a string (STRING, and as text NUMERIC, DATE and DATETIME), an int64 (INTEGER, and TIMESTAMP
// in microseconds), a float64 or a bool.
type row struct {
	partition string
	bytes     int64 // logical size
	cells     []any
}

// cell returns the cell of a column, which is NULL when the column was added after the row.
func (r row) cell(i int) any {
	if i < len(r.cells) {
		return r.cells[i]
	}
	return nil
}

// mostName is how long the name of a table or job may be, in bytes.
const mostName = 1024

// tableName matches the names that a table can have.
var tableName = regexp.MustCompile(`^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\p{Zs}]+$`)

func (t *table) key() string  { return tableKey(t.Doc.TableReference) }
func (t *table) isView() bool { return t.Doc.View != nil }

// partitioned returns how the rows are partitioned, and nil when they aren't.
func (t *table) partitioned() *bq.TimePartitioning { return t.Doc.TimePartitioning }

// tableKey returns the key under which the server keeps a table.
func tableKey(r *bq.TableReference) string { return r.ProjectId + "." + r.DatasetId + "." + r.TableId }

// legacyName names a table as BigQuery's messages do.
func legacyName(r *bq.TableReference) string {
	return r.ProjectId + ":" + r.DatasetId + "." + r.TableId
}

// findTable returns the table, or 404 in BigQuery's words.
func (s *Server) findTable(project, dataset, id string) (*table, *refusal) {
	if _, r := s.findDataset(project, dataset); r != nil {
		return nil, r
	}
	if t := s.tables[project+"."+dataset+"."+id]; t != nil {
		return t, nil
	}
	return nil, refuse("notFound", "Not found: Table %s:%s.%s", project, dataset, id)
}

// saveTable makes the table's present state visible under a new etag.
func (s *Server) saveTable(t *table) {
	t.version++
	t.Doc.Etag = etag(t.version)
	t.Doc.LastModifiedTime = uint64(s.now().UnixMilli())
	s.tables[t.key()] = t
}

// createTable makes an empty table of a checked definition.
func (s *Server) createTable(doc bq.Table, location string) *table {
	doc.Kind, doc.Id, doc.Location = "bigquery#table", legacyName(doc.TableReference), location
	doc.CreationTime, doc.Type = s.now().UnixMilli(), "TABLE"
	if doc.View != nil {
		doc.Type = "VIEW"
	} else if doc.Schema == nil {
		doc.Schema = &bq.TableSchema{}
	}
	s.setDefaultExpirations(&doc)
	t := &table{Doc: doc}
	s.saveTable(t)
	return t
}

// partitions returns the IDs of the partitions that have rows.
func (t *table) partitions() map[string]bool {
	ids := map[string]bool{}
	for _, r := range t.rows {
		ids[r.partition] = true
	}
	return ids
}

// resource returns the table as tables.get answers it, with the numbers and sizes of its rows.
func (s *Server) resource(t *table) *bq.Table {
	doc := t.Doc
	if t.isView() {
		return &doc
	}
	for _, r := range t.rows {
		doc.NumBytes += r.bytes
	}
	doc.NumRows, doc.NumTotalLogicalBytes = uint64(len(t.rows)), doc.NumBytes
	doc.ForceSendFields = []string{"NumRows", "NumBytes"}
	if t.partitioned() != nil {
		doc.NumPartitions = int64(len(t.partitions()))
	}
	return &doc
}

func (s *Server) getTable(c *call) (any, *refusal) {
	id, _, _ := strings.Cut(c.table, "$")
	t, r := s.findTable(c.project, c.dataset, id)
	if r != nil {
		return nil, r
	}
	return s.resource(t), nil
}

func (s *Server) insertTable(c *call) (any, *refusal) {
	var doc bq.Table
	if r := decode(c.body, &doc); r != nil {
		return nil, r
	}
	d, r := s.findDataset(c.project, c.dataset)
	if r != nil {
		return nil, r
	}
	if doc.TableReference == nil || !tableName.MatchString(doc.TableReference.TableId) ||
		len(doc.TableReference.TableId) > mostName {
		return nil, refuse("invalid",
			"Invalid table ID. Table IDs must be letters, marks, numbers, connectors, dashes or spaces, at most "+
				"1024 bytes.")
	}
	doc.TableReference = &bq.TableReference{ProjectId: c.project, DatasetId: c.dataset,
		TableId: doc.TableReference.TableId}
	if s.tables[tableKey(doc.TableReference)] != nil {
		return nil, refuse("duplicate", "Already Exists: Table %s", legacyName(doc.TableReference))
	}
	if doc.View != nil {
		r = checkView(&doc, c.body, false)
	} else {
		r = checkTable(&doc)
	}
	if r != nil {
		return nil, r
	}
	return s.resource(s.createTable(doc, d.Doc.Location)), nil
}

// patchTable gives a table a new definition as far as BigQuery allows that.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/tables/patch
func (s *Server) patchTable(c *call) (any, *refusal) {
	t, r := s.findTable(c.project, c.dataset, c.table)
	if r != nil {
		return nil, r
	}
	if r := checkEtag(c, t.Doc.Etag); r != nil {
		return nil, r
	}
	if r := s.countMetadataUpdate(t.key()); r != nil {
		return nil, r
	}
	doc := bq.Table{}
	if r := merge(&t.Doc, c.body, &doc); r != nil {
		return nil, r
	}
	doc.Kind, doc.Id, doc.TableReference, doc.Type = t.Doc.Kind, t.Doc.Id, t.Doc.TableReference, t.Doc.Type
	doc.Location, doc.CreationTime = t.Doc.Location, t.Doc.CreationTime
	if t.isView() {
		r = checkView(&doc, c.body, true)
	} else {
		r = checkChange(t, &doc)
	}
	if r != nil {
		return nil, r
	}
	t.Doc = doc
	s.saveTable(t)
	return s.resource(t), nil
}

// checkChange refuses a change of the partitioning, and changes of the schema under which the rows
// wouldn't be valid.
func checkChange(t *table, doc *bq.Table) *refusal {
	if doc.Schema == nil {
		doc.Schema = t.Doc.Schema
	}
	if doc.View != nil {
		return refuse("invalid", "Cannot change table %s into a view", t.Doc.Id)
	}
	if r := checkTable(doc); r != nil {
		return r
	}
	if have, want := partitioningText(t.partitioned()), partitioningText(doc.TimePartitioning); have != want {
		return refuse("invalid", "Cannot change partitioning of table %s. Expected partitioning specification %s, "+
			"but input partitioning specification is %s",
			t.Doc.Id, have, want)
	}
	changes := compareSchemas(t.Doc.Schema, doc.Schema)
	if msg := changes.firstForbidden(true, true); msg != "" {
		return refuse("invalid", "Provided Schema does not match Table %s. %s", t.Doc.Id, msg)
	}
	return nil
}

func (s *Server) deleteTable(c *call) (any, *refusal) {
	t, r := s.findTable(c.project, c.dataset, c.table)
	if r != nil {
		return nil, r
	}
	delete(s.tables, t.key())
	return nil, nil
}

func (s *Server) listTables(c *call) (any, *refusal) {
	if _, r := s.findDataset(c.project, c.dataset); r != nil {
		return nil, r
	}
	list := &bq.TableList{Kind: "bigquery#tableList"}
	for key, t := range s.tables {
		if strings.HasPrefix(key, c.project+"."+c.dataset+".") {
			list.Tables = append(list.Tables, &bq.TableListTables{
				Kind: "bigquery#table", Id: t.Doc.Id, TableReference: t.Doc.TableReference, Type: t.Doc.Type,
				Labels:           t.Doc.Labels,
				TimePartitioning: t.Doc.TimePartitioning, Clustering: t.Doc.Clustering,
				CreationTime: t.Doc.CreationTime,
			})
		}
	}
	slices.SortFunc(list.Tables, func(a, b *bq.TableListTables) int { return strings.Compare(a.Id, b.Id) })
	list.TotalItems = int64(len(list.Tables))
	return list, nil
}

// checkView checks a view's definition except for its query, which nothing here runs. useLegacySql
// defaults to true, unless a patch leaves it as it was.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#ViewDefinition
func checkView(doc *bq.Table, body []byte, patch bool) *refusal {
	var raw struct {
		View *struct {
			UseLegacySQL *bool `json:"useLegacySql"`
		} `json:"view"`
	}
	if r := decode(body, &raw); r != nil {
		return r
	}
	if v := raw.View; v != nil && (v.UseLegacySQL == nil && !patch || v.UseLegacySQL != nil && *v.UseLegacySQL) {
		return refuse("notImplemented", "bqtest has no legacy SQL: set view.useLegacySql to false")
	}
	if strings.TrimSpace(doc.View.Query) == "" {
		return refuse("invalid", "Required parameter is missing: view.query")
	}
	return checkLabels(doc.Labels)
}
