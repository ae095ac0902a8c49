package bqsink

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
)

// mostRaces bounds how often others may change a table between our reading of it and our change.
const mostRaces = 10

// datasetInfo holds the dataset's location and default, which are looked up once.
type datasetInfo struct {
	mutex
	location          string
	defaultExpiration time.Duration // of partitions in a table that is made without one; 0 if they never expire
}

// locateDataset returns the location in which jobs must run. A dataset that isn't where the URL
// says is an error.
func (s *Sink) locateDataset(ctx context.Context) (string, error) {
	if err := s.datasetInfo.lock(ctx); err != nil {
		return "", err
	}
	defer s.datasetInfo.unlock()
	if s.datasetInfo.location != "" {
		return s.datasetInfo.location, nil
	}
	var d *bigquery.DatasetMetadata
	err := repeat(ctx, func() (err error) {
		// The view leaves out the access list, because the client fails on entries of kinds that it
		// doesn't know.
		d, err = s.client.DatasetInProject(s.project, s.dataset).MetadataWithOptions(ctx,
			bigquery.WithDatasetView(bigquery.DatasetMetadataView))
		return err
	})
	if hasStatus(err, http.StatusNotFound) {
		return "", fmt.Errorf("the dataset %s.%s doesn't exist: %w; create it where its rows may be stored, for "+
			"example by "+
			"bq --location=%s mk --dataset %s:%s", s.project, s.dataset, s.explain(err), cmp.Or(s.location, "EU"),
			s.project, s.dataset)
	}
	if err != nil {
		return "", fmt.Errorf("look up the dataset: %w", s.explain(err))
	}
	if s.location != "" && !strings.EqualFold(s.location, d.Location) {
		return "", fmt.Errorf("the dataset %s.%s is in %s, and the sink's URL says location=%s; a dataset can't be "+
			"moved: "+
			"correct the URL, or name a dataset in that location", s.project, s.dataset, d.Location, s.location)
	}
	s.datasetInfo.location = cmp.Or(d.Location, s.location)
	s.datasetInfo.defaultExpiration = d.DefaultPartitionExpiration
	return s.datasetInfo.location, nil
}

// tables holds the tables that fit their schemas, so that a run looks each up once.
type tables struct {
	mu    sync.Mutex
	known map[string]*knownTable
}

// A knownTable is what this process knows of one table.
type knownTable struct {
	mutex
	schema *sinks.Schema           // the schema that ensure was last called with
	table  *bigquery.TableMetadata // the table, which fits schema; nil when ensure has to check it
	listed *bigquery.TableMetadata // the table as it was last looked up; nil once ensure has used it
	absent bool                    // the table didn't exist when it was last looked up
}

// named returns what is known of a table, which may be nothing yet.
func (t *tables) named(name string) *knownTable {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[string]*knownTable{}
	}
	if t.known[name] == nil {
		t.known[name] = &knownTable{mutex: newMutex()}
	}
	return t.known[name]
}

// ensure returns the table as it is in BigQuery, after it was created or got the columns that it
// lacked.
func (s *Sink) ensure(ctx context.Context, name string, schema *sinks.Schema,
	warn func(error)) (*bigquery.TableMetadata, error) {
	k := s.tables.named(name)
	if err := k.lock(ctx); err != nil {
		return nil, err
	}
	defer k.unlock()
	if k.table != nil && (k.schema == schema || reflect.DeepEqual(k.schema, schema)) {
		return k.table, nil
	}
	table, err := s.bringToSchema(ctx, name, k.listed, schema, warn)
	k.listed, k.absent = nil, false
	if err != nil {
		return nil, err
	}
	k.schema, k.table = schema, table
	return table, nil
}

// forget makes the next Put look the table up again: a job failed, and a changed table may be the
// cause.
func (t *tables) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, name)
}

// bringToSchema creates the table, or adds the columns that it lacks and makes it keep its
// partitions for as long as the config says. If another process changes the table meanwhile,
// bringToSchema begins again. listed is the table as it was seen last, or nil.
func (s *Sink) bringToSchema(ctx context.Context, name string, listed *bigquery.TableMetadata, schema *sinks.Schema,
	warn func(error)) (have *bigquery.TableMetadata, err error) {
	for range mostRaces {
		if have, listed = listed, nil; have == nil {
			have, err = s.getTable(ctx, name)
		}
		if hasStatus(err, http.StatusNotFound) {
			if err = s.createTable(ctx, name, schema); err != nil && !hasStatus(err, http.StatusConflict) {
				return nil, err
			}
			continue // the table exists now, whoever created it: perhaps a request of ours whose answer was lost
		}
		if err != nil {
			return nil, fmt.Errorf("look up the table: %w", s.explain(err))
		}
		missing, err := compare(name, have, schema)
		if err == nil && len(missing) > 0 {
			have, err = s.addColumns(ctx, name, have, missing)
		}
		if err == nil {
			have, err = s.setExpiration(ctx, name, have, schema.Expiration, warn)
		}
		if hasStatus(err, http.StatusPreconditionFailed) {
			continue
		}
		return have, err
	}
	return nil, fmt.Errorf("the table %s changed %d times while it was brought to the job's config; does another "+
		"program change it?", name, mostRaces)
}

// table returns the client's handle of a table, without a call.
func (s *Sink) table(name string) *bigquery.Table {
	return s.client.DatasetInProject(s.project, s.dataset).Table(name)
}

// getTable looks up a table.
func (s *Sink) getTable(ctx context.Context, name string) (t *bigquery.TableMetadata, err error) {
	err = repeat(ctx, func() (err error) {
		t, err = s.table(name).Metadata(ctx)
		return err
	})
	return t, err
}

// createTable creates a table of the schema.
func (s *Sink) createTable(ctx context.Context, name string, schema *sinks.Schema) error {
	wanted, err := newTable(schema)
	if err != nil {
		return err
	}
	if err := repeat(ctx, func() error { return s.table(name).Create(ctx, wanted) }); err != nil {
		return fmt.Errorf("create the table: %w", s.explain(err))
	}
	return nil
}

// addColumns adds columns, unless the table changed since it was looked up. The request has the
// whole list of columns, with everything that the client knows of them, because a patch replaces
// lists.
func (s *Sink) addColumns(ctx context.Context, name string, have *bigquery.TableMetadata,
	missing bigquery.Schema) (*bigquery.TableMetadata, error) {
	return s.patch(ctx, name, have, bigquery.TableMetadataToUpdate{Schema: slices.Concat(have.Schema, missing)},
		"add columns to the table")
}

// patch changes a table, unless it changed since it was looked up.
func (s *Sink) patch(
	ctx context.Context, name string, have *bigquery.TableMetadata, wanted bigquery.TableMetadataToUpdate, what string,
) (made *bigquery.TableMetadata, err error) {
	err = repeat(ctx, func() (err error) {
		made, err = s.table(name).Update(ctx, wanted, have.ETag)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, s.explain(err))
	}
	return made, nil
}
