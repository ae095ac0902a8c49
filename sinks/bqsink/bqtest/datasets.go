package bqtest

import (
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// A dataset is made by Options.Datasets and never changes.
type dataset struct{ Doc bq.Dataset }

func newDataset(project, id, location string, now time.Time) *dataset {
	return &dataset{Doc: bq.Dataset{
		Kind: "bigquery#dataset", Id: project + ":" + id, Etag: etag(1), Location: location,
		DatasetReference: &bq.DatasetReference{ProjectId: project, DatasetId: id},
		CreationTime:     now.UnixMilli(), LastModifiedTime: now.UnixMilli(),
	}}
}

// findDataset returns the dataset, or 404 in BigQuery's words.
func (s *Server) findDataset(project, id string) (*dataset, *refusal) {
	if d := s.datasets[project+"."+id]; d != nil {
		return d, nil
	}
	return nil, refuse("notFound", "Not found: Dataset %s:%s", project, id)
}

func (s *Server) getDataset(c *call) (any, *refusal) {
	d, r := s.findDataset(c.project, c.dataset)
	if r != nil {
		return nil, r
	}
	return &d.Doc, nil
}

// place returns the location in which a job on a dataset runs. A job in another location doesn't find the dataset.
// https://cloud.google.com/bigquery/docs/locations#specify_locations
func (s *Server) place(project, id, location string) (string, *refusal) {
	d, r := s.findDataset(project, id)
	if r != nil {
		return "", r
	}
	if location != "" && !strings.EqualFold(location, d.Doc.Location) {
		return "", refuse("notFound", "Not found: Dataset %s:%s was not found in location %s", project, id, location)
	}
	return d.Doc.Location, nil
}
