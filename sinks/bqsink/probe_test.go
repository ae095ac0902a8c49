package bqsink

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// A probe finds what a load would be refused for, names what to do, and leaves no table behind.
func TestProbe(t *testing.T) {
	for _, c := range []struct {
		name, url, denied string
		want              string // part of the error; empty: none
		permission        bool
	}{
		{"all is well", testURL, "", "", false},
		{"no such dataset", "bigquery://proj/nothing?location=EU", "", "bq --location=EU mk --dataset proj:nothing",
			false},
		{"another location", "bigquery://proj/ds?location=US", "", "is in EU, and the sink's URL says location=US",
			false},
		{"no table may be made", testURL, "bigquery.tables.create", "roles/bigquery.dataEditor", true},
		{"no job may be run", testURL, "bigquery.jobs.create", "run a query as project proj: ", true},
		{"the dataset is hidden", testURL, "bigquery.datasets.get", "look up the dataset", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := newServer(t, bqtest.Options{})
			if c.denied != "" {
				server.SetDenied(c.denied)
			}
			err := openOn(t, server, c.url).Probe(t.Context())
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			case errors.Is(err, fs.ErrPermission) != c.permission:
				t.Errorf("a matter of permission or not: %v", err)
			}
			if left := server.Tables(); len(left) > 0 {
				t.Errorf("%d tables are left behind", len(left))
			}
		})
	}
}
