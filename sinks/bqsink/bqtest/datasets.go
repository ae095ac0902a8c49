package bqtest

import (
	"slices"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// A dataset is made by Options.Datasets and never changes.
type dataset struct{ Doc bq.Dataset }

// newDataset returns a dataset of the options.
func newDataset(project, id string, o Options, now time.Time) *dataset {
	return &dataset{Doc: bq.Dataset{
		Kind: "bigquery#dataset", Id: project + ":" + id, Etag: etag(1), Location: o.Location,
		DatasetReference: &bq.DatasetReference{ProjectId: project, DatasetId: id},
		CreationTime:     now.UnixMilli(), LastModifiedTime: now.UnixMilli(),
		DefaultPartitionExpirationMs: o.PartitionExpiration.Milliseconds(),
		DefaultTableExpirationMs:     o.TableExpiration.Milliseconds(),
	}}
}

// findDataset returns the dataset, or 404 in BigQuery's words.
func (s *Server) findDataset(project, id string) (*dataset, *refusal) {
	if d := s.datasets[project+"."+id]; d != nil {
		return d, nil
	}
	return nil, refuse("notFound", "Not found: Dataset %s:%s", project, id)
}

// getDataset answers datasets.get.
func (s *Server) getDataset(c *call) (any, *refusal) {
	d, r := s.findDataset(c.project, c.dataset)
	if r != nil {
		return nil, r
	}
	return &d.Doc, nil
}

// jobLocation returns the location in which a job on a dataset runs. A job in another location
// doesn't find the dataset. https://cloud.google.com/bigquery/docs/locations#specify_locations
func (s *Server) jobLocation(project, id, location string) (string, *refusal) {
	d, r := s.findDataset(project, id)
	if r != nil {
		return "", r
	}
	if location != "" && !strings.EqualFold(location, d.Doc.Location) {
		return "", refuse("notFound", "Not found: Dataset %s:%s was not found in location %s", project, id, location)
	}
	return d.Doc.Location, nil
}

// setDefaultExpirations gives a new table the default expirations of its dataset. A partitioned
// table takes the default for partitions instead of the one for tables.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/datasets
func (s *Server) setDefaultExpirations(doc *bq.Table) {
	d := s.datasets[doc.TableReference.ProjectId+"."+doc.TableReference.DatasetId]
	switch {
	case d == nil || doc.View != nil:
	case doc.TimePartitioning != nil && d.Doc.DefaultPartitionExpirationMs > 0:
		if doc.TimePartitioning.ExpirationMs == 0 {
			doc.TimePartitioning.ExpirationMs = d.Doc.DefaultPartitionExpirationMs
		}
	case doc.ExpirationTime == 0 && d.Doc.DefaultTableExpirationMs > 0:
		doc.ExpirationTime = s.now().UnixMilli() + d.Doc.DefaultTableExpirationMs
	}
}

// expire deletes the tables and the partitions whose time has come.
// https://cloud.google.com/bigquery/docs/managing-partitioned-tables#partition-expiration
func (s *Server) expire() {
	now := s.now()
	for key, t := range s.tables {
		if at := t.Doc.ExpirationTime; at > 0 && at <= now.UnixMilli() {
			delete(s.tables, key)
			continue
		}
		p := t.partitioned()
		over := func(r row) bool {
			end, dated := endOf(p, r.partition)
			return dated && !end.Add(time.Duration(p.ExpirationMs)*time.Millisecond).After(now)
		}
		if p != nil && p.ExpirationMs > 0 && slices.ContainsFunc(t.rows, over) {
			t.rows = slices.DeleteFunc(slices.Clone(t.rows), over)
			s.saveTable(t)
		}
	}
}

// endOf returns the moment at which a partition's period is over. dated is false for a partition
// that isn't named by a date.
func endOf(p *bq.TimePartitioning, id string) (end time.Time, dated bool) {
	from, err := time.Parse(partitionLayouts[p.Type], id)
	switch p.Type {
	case "HOUR":
		end = from.Add(time.Hour)
	case "DAY":
		end = from.AddDate(0, 0, 1)
	case "MONTH":
		end = from.AddDate(0, 1, 0)
	case "YEAR":
		end = from.AddDate(1, 0, 0)
	}
	return end, err == nil
}
