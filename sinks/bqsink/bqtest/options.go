package bqtest

import (
	"fmt"
	"strings"
	"time"
)

// Options configures a Server. The zero value is a warehouse without datasets that accepts any
// credentials, with BigQuery's own quotas and no faults.
type Options struct {
	Datasets []string // "project.dataset" each
	Location string   // of Datasets; default "US"
	Token    string   // the one accepted Bearer token; "" accepts any request
	// The clock of jobs, partitions and quotas; default time.Now (fake inside testing/synctest)
	Now     func() time.Time
	JobTime time.Duration // how long a job runs; 0 completes it before the next call
	// Base URL of a fake Cloud Storage, such as "http://127.0.0.1:4443", for loads of gs:// URIs
	GCS    string
	Quotas Quotas

	// Default expirations of partitions and tables in Datasets. 0 stands for none.
	// https://cloud.google.com/bigquery/docs/reference/rest/v2/datasets
	// (defaultPartitionExpirationMs, defaultTableExpirationMs)
	PartitionExpiration, TableExpiration time.Duration

	Faults []Fault  // scripted faults, see Fault
	Denied []string // permissions that the caller lacks, such as "bigquery.tables.create"
}

// Quotas are the limits on loads. Zero stands for BigQuery's own figure and a negative number for
// no limit. https://cloud.google.com/bigquery/quotas
type Quotas struct {
	LoadsPerTable          int // load jobs of one table in a day, failed ones too: 1,500
	LoadsPerProject        int // load jobs of one project in a day: 100,000
	PartitionModifications int // of one table in a day, DML not counted: 30,000
	PartitionsPerTable     int // 10,000
	PartitionsPerJob       int // 4,000
	Commits                int // modifications of one partitioned table in 10 s: 50
	MetadataUpdates        int // tables.patch of one table in 10 s: 5
}

// limit returns n, or BigQuery's own figure when n is zero. ok is false when there is no limit.
func limit(n, own int) (most int, ok bool) {
	if n == 0 {
		return own, true
	}
	return n, n > 0
}

// withDefaults returns the options with defaults in place of zero values, or an error for options
// that make no sense.
func (o Options) withDefaults() (Options, error) {
	if o.Location == "" {
		o.Location = "US"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.GCS = strings.TrimSuffix(o.GCS, "/")
	if o.JobTime < 0 {
		return o, fmt.Errorf("new bqtest: job time %v is negative", o.JobTime)
	}
	for _, d := range o.Datasets {
		if project, dataset, ok := strings.Cut(d, "."); !ok || project == "" || dataset == "" {
			return o, fmt.Errorf("new bqtest: dataset %q is not project.dataset", d)
		}
	}
	return o, nil
}
