//go:build bqreal

package bqsink_test

import (
	"os"
	"strings"
	"testing"
)

// The suite, the audit and the views on a dataset of a real project, with the application's default
// credentials:
//
//	REPORTFERRY_TEST_BIGQUERY=project.dataset go test -tags bqreal ./sinks/bqsink -run RealDataset -v -timeout 1h
//
// Whoever runs it needs roles/bigquery.jobUser on the project and roles/bigquery.dataEditor on the
// dataset. It makes load jobs, which are free, and a few queries of the least size that is billed.
// Its tables have a random suffix beginning with _test_ and are deleted when their test ends; those
// of a run that was killed stay.
func TestRealDataset(t *testing.T) {
	const variable = "REPORTFERRY_TEST_BIGQUERY"
	project, name, found := strings.Cut(os.Getenv(variable), ".")
	if !found {
		t.Fatalf("%s=%q: want project.dataset, a dataset in BigQuery that tables may be made in and deleted from",
			variable, os.Getenv(variable))
	}
	dataset{project: project, name: name}.try(t)
}
