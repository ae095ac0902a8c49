package bqtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

type dataset struct {
	Doc     bq.Dataset
	Version int64
}

// mostName is how long the name of a dataset, table or job may be, in bytes.
const mostName = 1024

var datasetName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func newDataset(project, id, location string, now time.Time) *dataset {
	return &dataset{Doc: bq.Dataset{
		Kind: "bigquery#dataset", Id: project + ":" + id, Location: location,
		DatasetReference: &bq.DatasetReference{ProjectId: project, DatasetId: id},
		CreationTime:     now.UnixMilli(), LastModifiedTime: now.UnixMilli(),
	}}
}

// etag is opaque and changes with every change of the resource.
func etag(version int64) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "v%d", version))
}

func (s *Server) keepDataset(d *dataset) error {
	d.Version++
	d.Doc.Etag = etag(d.Version)
	key := d.Doc.DatasetReference.ProjectId + "." + d.Doc.DatasetReference.DatasetId
	s.datasets[key] = d
	return s.store.keep("dataset", key, d)
}

// findDataset is the dataset, or 404 in BigQuery's words.
func (s *Server) findDataset(project, id string) (*dataset, *refusal) {
	if d := s.datasets[project+"."+id]; d != nil {
		return d, nil
	}
	return nil, refuse("notFound", "Not found: Dataset %s:%s", project, id)
}

func (s *Server) listDatasets(c *call) (any, *refusal) {
	list := &bq.DatasetList{Kind: "bigquery#datasetList"}
	for _, d := range s.datasets {
		if d.Doc.DatasetReference.ProjectId == c.project {
			list.Datasets = append(list.Datasets, &bq.DatasetListDatasets{
				Kind: "bigquery#dataset", Id: d.Doc.Id, DatasetReference: d.Doc.DatasetReference, Location: d.Doc.Location, Labels: d.Doc.Labels,
			})
		}
	}
	slices.SortFunc(list.Datasets, func(a, b *bq.DatasetListDatasets) int { return strings.Compare(a.Id, b.Id) })
	return list, nil
}

func (s *Server) getDataset(c *call) (any, *refusal) {
	d, r := s.findDataset(c.project, c.dataset)
	if r != nil {
		return nil, r
	}
	return &d.Doc, nil
}

func (s *Server) insertDataset(c *call) (any, *refusal) {
	var doc bq.Dataset
	if r := decode(c.body, &doc); r != nil {
		return nil, r
	}
	ref := doc.DatasetReference
	if ref == nil || !datasetName.MatchString(ref.DatasetId) || len(ref.DatasetId) > mostName {
		return nil, refuse("invalid", "Invalid dataset ID. Dataset IDs must be alphanumeric (plus underscores) and must be at most 1024 characters long.")
	}
	if s.datasets[c.project+"."+ref.DatasetId] != nil {
		return nil, refuse("duplicate", "Already Exists: Dataset %s:%s", c.project, ref.DatasetId)
	}
	if doc.Location == "" {
		doc.Location = s.opts.Location
	}
	d := newDataset(c.project, ref.DatasetId, doc.Location, s.now())
	fresh := d.Doc
	d.Doc = doc
	d.Doc.Kind, d.Doc.Id, d.Doc.DatasetReference = fresh.Kind, fresh.Id, fresh.DatasetReference
	d.Doc.CreationTime, d.Doc.LastModifiedTime = fresh.CreationTime, fresh.LastModifiedTime
	broken(s.keepDataset(d))
	return &d.Doc, nil
}

func (s *Server) patchDataset(c *call) (any, *refusal) {
	d, r := s.findDataset(c.project, c.dataset)
	if r != nil {
		return nil, r
	}
	if r := matches(c, d.Doc.Etag); r != nil {
		return nil, r
	}
	var doc bq.Dataset
	if r := merge(&d.Doc, c.body, &doc); r != nil {
		return nil, r
	}
	if doc.Location != d.Doc.Location {
		return nil, refuse("invalid", "Cannot change the location of dataset %s", d.Doc.Id)
	}
	doc.LastModifiedTime = s.now().UnixMilli()
	d.Doc = doc
	broken(s.keepDataset(d))
	return &d.Doc, nil
}

func (s *Server) deleteDataset(c *call) (any, *refusal) {
	if _, r := s.findDataset(c.project, c.dataset); r != nil {
		return nil, r
	}
	prefix := c.project + "." + c.dataset + "."
	for key, t := range s.tables {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if c.query.Get("deleteContents") != "true" {
			return nil, refuse("resourceInUse", "Dataset %s:%s is still in use", c.project, c.dataset)
		}
		broken(s.dropTable(t))
	}
	delete(s.datasets, c.project+"."+c.dataset)
	broken(s.store.forget("dataset", c.project+"."+c.dataset))
	return nil, nil
}

// decode reads a resource; what isn't JSON of its shape is refused as BigQuery does.
func decode(body []byte, into any) *refusal {
	if err := json.Unmarshal(body, into); err != nil {
		return refuse("badRequest", "Invalid JSON payload received: %v", err)
	}
	return nil
}

// matches is the precondition of If-Match: the resource has the named etag still.
func matches(c *call, have string) *refusal {
	if want := c.r.Header.Get("If-Match"); want != "" && want != "*" && want != have {
		return refuse("conditionNotMet", "Precondition Failed")
	}
	return nil
}

// merge is a patch: what it names replaces what was there, null takes it away, and objects other than schemas are merged.
func merge(old any, patch []byte, into any) *refusal {
	b, err := json.Marshal(old)
	broken(err)
	have, change := map[string]any{}, map[string]any{}
	broken(json.Unmarshal(b, &have))
	if r := decode(patch, &change); r != nil {
		return r
	}
	mergeMaps(have, change)
	if b, err = json.Marshal(have); err != nil {
		return refuse("badRequest", "Invalid patch: %v", err)
	}
	return decode(b, into)
}

func mergeMaps(have, change map[string]any) {
	for k, v := range change {
		below, isMap := v.(map[string]any)
		old, wasMap := have[k].(map[string]any)
		switch {
		case v == nil:
			delete(have, k)
		case isMap && wasMap && k != "schema":
			mergeMaps(old, below)
		case isMap:
			fresh := map[string]any{}
			mergeMaps(fresh, below)
			have[k] = fresh
		default:
			have[k] = v
		}
	}
}
