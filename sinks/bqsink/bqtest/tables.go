package bqtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// A table is a resource of BigQuery's and, unless it is a view, an SQLite table of its rows.
type table struct {
	Doc     bq.Table
	Version int64
	Rows    string // name of the SQLite table
	Serial  int64  // in that name
}

var tableName = regexp.MustCompile(`^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\p{Zs}]+$`)

func (t *table) key() string  { return tableKey(t.Doc.TableReference) }
func (t *table) isView() bool { return t.Doc.View != nil }

// partitioned says how the rows are split; nil when they aren't.
func (t *table) partitioned() *bq.TimePartitioning { return t.Doc.TimePartitioning }

func tableKey(r *bq.TableReference) string { return r.ProjectId + "." + r.DatasetId + "." + r.TableId }

// legacyName is how BigQuery's messages name a table.
func legacyName(r *bq.TableReference) string {
	return r.ProjectId + ":" + r.DatasetId + "." + r.TableId
}

func (s *Server) findTable(project, dataset, id string) (*table, *refusal) {
	if _, r := s.findDataset(project, dataset); r != nil {
		return nil, r
	}
	if t := s.tables[project+"."+dataset+"."+id]; t != nil {
		return t, nil
	}
	return nil, refuse("notFound", "Not found: Table %s:%s.%s", project, dataset, id)
}

func (s *Server) keepTable(t *table) error {
	t.Version++
	t.Doc.Etag = etag(t.Version)
	t.Doc.LastModifiedTime = uint64(s.now().UnixMilli())
	s.tables[t.key()] = t
	return s.store.keep("table", t.key(), t)
}

func (s *Server) dropTable(t *table) error {
	delete(s.tables, t.key())
	if t.Rows != "" {
		if _, err := s.store.exec("DROP TABLE IF EXISTS " + t.Rows); err != nil {
			return err
		}
		if _, err := s.store.exec("DELETE FROM modified WHERE name = ?", t.Rows); err != nil {
			return err
		}
	}
	return s.store.forget("table", t.key())
}

// createTable makes an empty table of a checked definition.
func (s *Server) createTable(doc bq.Table, location string) (*table, error) {
	r := doc.TableReference
	doc.Kind, doc.Id, doc.Location = "bigquery#table", legacyName(r), location
	doc.CreationTime = s.now().UnixMilli()
	doc.Type = "TABLE"
	t := &table{Doc: doc}
	if doc.View != nil {
		t.Doc.Type = "VIEW"
		return t, s.keepTable(t)
	}
	if t.Doc.Schema == nil {
		t.Doc.Schema = &bq.TableSchema{}
	}
	s.serial++
	t.Serial, t.Rows = s.serial, fmt.Sprintf("rows_%d", s.serial)
	if err := s.createRows(t); err != nil {
		return nil, err
	}
	return t, s.keepTable(t)
}

// resource is the table as tables.get answers it, with the figures of its rows.
func (s *Server) resource(t *table) *bq.Table {
	doc := t.Doc
	if !t.isView() {
		rows, err := s.store.rows("SELECT COUNT(*), COALESCE(SUM(" + bytesColumn + "), 0), COUNT(DISTINCT " + partColumn + ") FROM " + t.Rows)
		broken(err)
		doc.NumRows, doc.NumBytes = uint64(rows[0][0].(int64)), rows[0][1].(int64)
		doc.NumTotalLogicalBytes = doc.NumBytes
		doc.ForceSendFields = []string{"NumRows", "NumBytes"}
		if t.partitioned() != nil {
			doc.NumPartitions = rows[0][2].(int64)
		}
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
	if doc.TableReference == nil || !tableName.MatchString(doc.TableReference.TableId) || len(doc.TableReference.TableId) > mostName {
		return nil, refuse("invalid", "Invalid table ID. Table IDs must be letters, marks, numbers, connectors, dashes or spaces, at most 1024 bytes.")
	}
	doc.TableReference = &bq.TableReference{ProjectId: c.project, DatasetId: c.dataset, TableId: doc.TableReference.TableId}
	if s.tables[tableKey(doc.TableReference)] != nil {
		return nil, refuse("duplicate", "Already Exists: Table %s", legacyName(doc.TableReference))
	}
	if doc.View != nil {
		r = s.checkView(&doc, c.body, false)
	} else {
		r = checkTable(&doc)
	}
	if r != nil {
		return nil, r
	}
	var t *table
	broken(s.store.within(func() (err error) {
		t, err = s.createTable(doc, d.Doc.Location)
		return err
	}))
	return s.resource(t), nil
}

func (s *Server) patchTable(c *call) (any, *refusal) { return s.changeTable(c, true) }

func (s *Server) updateTable(c *call) (any, *refusal) { return s.changeTable(c, false) }

// changeTable gives a table a new definition as far as BigQuery allows that.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/tables/patch
func (s *Server) changeTable(c *call, patch bool) (any, *refusal) {
	t, r := s.findTable(c.project, c.dataset, c.table)
	if r != nil {
		return nil, r
	}
	if r := matches(c, t.Doc.Etag); r != nil {
		return nil, r
	}
	if r := s.countMetadataUpdate(t.key()); r != nil {
		return nil, r
	}
	doc := bq.Table{}
	if patch {
		r = merge(&t.Doc, c.body, &doc)
	} else {
		r = decode(c.body, &doc)
	}
	if r != nil {
		return nil, r
	}
	doc.Kind, doc.Id, doc.TableReference, doc.Type = t.Doc.Kind, t.Doc.Id, t.Doc.TableReference, t.Doc.Type
	doc.Location, doc.CreationTime = t.Doc.Location, t.Doc.CreationTime
	var added []*bq.TableFieldSchema
	if t.isView() {
		r = s.checkView(&doc, c.body, patch)
	} else {
		added, r = s.checkChange(t, &doc)
	}
	if r != nil {
		return nil, r
	}
	broken(s.store.within(func() error {
		t.Doc = doc
		if err := s.addColumns(t, added); err != nil {
			return err
		}
		return s.keepTable(t)
	}))
	return s.resource(t), nil
}

// checkChange is what may change about a table: not its partitioning, and of its schema only what keeps the rows valid.
func (s *Server) checkChange(t *table, doc *bq.Table) ([]*bq.TableFieldSchema, *refusal) {
	if doc.Schema == nil {
		doc.Schema = t.Doc.Schema
	}
	if doc.View != nil {
		return nil, refuse("invalid", "Cannot change table %s into a view", t.Doc.Id)
	}
	if r := checkTable(doc); r != nil {
		return nil, r
	}
	if have, want := specOf(t.partitioned()), specOf(doc.TimePartitioning); have != want {
		return nil, refuse("invalid", "Cannot change partitioning of table %s. Expected partitioning specification %s, but input partitioning specification is %s",
			t.Doc.Id, have, want)
	}
	changes := compareSchemas(t.Doc.Schema, doc.Schema)
	if msg := changes.forbidden(true, true); msg != "" {
		return nil, refuse("invalid", "Provided Schema does not match Table %s. %s", t.Doc.Id, msg)
	}
	return changes.added, nil
}

func (s *Server) deleteTable(c *call) (any, *refusal) {
	t, r := s.findTable(c.project, c.dataset, c.table)
	if r != nil {
		return nil, r
	}
	broken(s.store.within(func() error { return s.dropTable(t) }))
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
				Kind: "bigquery#table", Id: t.Doc.Id, TableReference: t.Doc.TableReference, Type: t.Doc.Type, Labels: t.Doc.Labels,
				TimePartitioning: t.Doc.TimePartitioning, Clustering: t.Doc.Clustering, CreationTime: t.Doc.CreationTime,
			})
		}
	}
	slices.SortFunc(list.Tables, func(a, b *bq.TableListTables) int { return strings.Compare(a.Id, b.Id) })
	list.TotalItems = int64(len(list.Tables))
	return list, nil
}

// checkView is a view's query; useLegacySql is true unless the request says otherwise, or a patch leaves it as it was.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#ViewDefinition
func (s *Server) checkView(doc *bq.Table, body []byte, patch bool) *refusal {
	var raw struct {
		View *struct {
			UseLegacySQL *bool `json:"useLegacySql"`
		} `json:"view"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return refuse("badRequest", "Invalid JSON payload received: %v", err)
	}
	if v := raw.View; v != nil && (v.UseLegacySQL == nil && !patch || v.UseLegacySQL != nil && *v.UseLegacySQL) {
		return &refusal{http.StatusNotImplemented, "notImplemented", "bqtest has no legacy SQL: set view.useLegacySql to false"}
	}
	if r := checkLabels(doc.Labels); r != nil {
		return r
	}
	given := doc.Schema
	schema, r := s.viewSchema(tableKey(doc.TableReference), doc.View.Query)
	if r != nil {
		return r
	}
	doc.Schema = schema
	if given != nil { // descriptions may be set on a view's columns; the rest comes from its query
		for _, f := range schema.Fields {
			for _, g := range given.Fields {
				if strings.EqualFold(f.Name, g.Name) {
					f.Description = g.Description
				}
			}
		}
	}
	return nil
}
