package bqsink

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// Each refusal has its message in testdata; -update writes them.
func TestRefusals(t *testing.T) {
	for name, change := range map[string]func(s *sinks.Schema){
		"type":         func(s *sinks.Schema) { s.Columns[3].Type = sinks.Double },
		"partitioning": func(s *sinks.Schema) { s.Period = "month" },
		"clustering":   func(s *sinks.Schema) { s.ClusterBy = []string{"day", "campaign"} },
		"required":     func(s *sinks.Schema) { s.Columns[1].Name, s.ClusterBy = "network", nil },
		"several": func(s *sinks.Schema) {
			s.Period, s.ClusterBy, s.Columns[2].Type, s.Columns[1].Required = "year", nil, sinks.String, false
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, bqtest.Options{})
			s := openOn(t, server, testURL)
			mustPut(t, s, testPart("2026-01-01", "run", "old"))
			fresh := testPart("2026-01-01", "run", "new")
			change(fresh.Schema)
			_, err := s.Put(t.Context(), fresh)
			golden(t, name, fmt.Sprint(err))
			mustHold(t, server, "installs", "old")
		})
	}
}

func TestRefusedLocation(t *testing.T) {
	s := openOn(t, newServer(t, bqtest.Options{}), "bigquery://proj/ds?location=US")
	_, err := s.Put(t.Context(), testPart("2026-01-31", "run", "new"))
	golden(t, "location", fmt.Sprint(err))
	s = openOn(t, newServer(t, bqtest.Options{}), "bigquery://proj/elsewhere?location=US")
	_, err = s.Put(t.Context(), testPart("2026-01-31", "run", "new"))
	golden(t, "dataset", fmt.Sprint(err))
	// Without a location, or in other letters, it is wherever the dataset is.
	for _, u := range []string{"bigquery://proj/ds", "bigquery://proj/ds?location=eu"} {
		server := newServer(t, bqtest.Options{})
		mustPut(t, openOn(t, server, u), testPart("2026-01-31", "run", "new"))
		if got := theJob(t, server).JobReference.Location; got != "EU" {
			t.Errorf("the job runs in %q", got)
		}
	}
}

func TestRefusedPermissions(t *testing.T) {
	for _, permission := range []string{"bigquery.jobs.create", "bigquery.tables.create", "bigquery.tables.get"} {
		server := newServer(t, bqtest.Options{Denied: []string{permission}})
		_, err := openOn(t, server, testURL).Put(t.Context(), testPart("2026-01-31", "run", "new"))
		golden(t, permission, fmt.Sprint(err))
	}
}

func TestRefusedQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, bqtest.Options{Quotas: bqtest.Quotas{LoadsPerTable: 1, PartitionModifications: 1}})
		s := openOn(t, server, testURL)
		mustPut(t, s, testPart("2026-01-31", "run", "old"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Put(ctx, testPart("2026-01-31", "run", "new"))
		golden(t, "quota", fmt.Sprint(err))
		mustHold(t, server, thePartition, "old")
	})
}

// A message has the first five errors of a job, with their places.
func TestJobErrors(t *testing.T) {
	result := &bigquery.Error{Reason: "invalid", Message: "too many errors", Location: "gs://b/o"}
	var all []*bigquery.Error
	for i := range 9 {
		all = append(all, &bigquery.Error{Reason: "invalid", Message: fmt.Sprint("row ", i), Location: "file-0"})
	}
	golden(t, "joberrors", newJobError("j", result, all).Error())
}

func TestURL(t *testing.T) {
	var got []string
	for _, u := range []string{
		"bigquery://proj/ds?locaton=EU", "bigquery://proj/ds?location=EU&location=US", "bigquery://proj/ds?location=",
		"bigquery://proj", "bigquery:///ds", "bigquery://proj/ds/table", "bigquery://Proj/ds", "bigquery://proj/d-s",
		"bigquery://me@proj/ds",
		"bigquery://proj/ds#x", "bigquery://proj/ds?%zz", "bigquery://proj/%zz", "bigquery://proj/ds?job_project=a/b",
		"bigquery://proj/ds?staging=s3://b/p", "bigquery://proj/ds?staging=gs:///p",
		"bigquery://proj/ds?endpoint=https://127.0.0.1:1",
		"bigquery://proj/ds?endpoint=http://10.0.0.1:1", "bigquery://proj/ds?endpoint=http://bigquery.example:80",
		"bigquery://proj/ds?endpoint=http://127.0.0.1:1/x",
	} {
		_, err := Open(t.Context(), u)
		got = append(got, fmt.Sprint(u, "\n\t", err))
	}
	golden(t, "url", strings.Join(got, "\n"))
	all, err := parseURL("bigquery://proj/ds?location=EU&staging=gs://b/p/q&job_project=payer" +
		"&endpoint=http://localhost:9050")
	if want := (target{"bigquery://proj/ds", "proj", "ds", "payer", "EU", "gs://b/p/q",
		"http://localhost:9050/bigquery/v2/"}); err != nil || all != want {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestQuota(t *testing.T) {
	plan := func(table string, jobs, partitions int) (loads []Load) {
		for i := range jobs {
			loads = append(loads, Load{table, date("2000-01-01").AddDays(i % max(partitions, 1))})
			if partitions == 0 {
				loads[i].Partition = sinks.Whole
			}
		}
		return loads
	}
	var got []string
	for _, c := range [][]Load{
		nil, plan("installs", 23_999, 365), plan("installs", 24_000, 365), plan("installs", 30_000, 10_000),
		plan("installs", 30_001, 10_000),
		plan("installs", 10_001, 10_001), plan("creatives", 1_199, 0), plan("creatives", 1_200, 0),
		plan("creatives", 3_001, 0),
		append(append(append(append(plan("a", 23_000, 365), plan("b", 23_000, 365)...), plan("c", 23_000, 365)...),
			plan("d", 23_000, 365)...), plan("e", 24_500, 9)...),
	} {
		warnings, err := Quota(c)
		got = append(got, fmt.Sprintf("%d jobs: %v", len(c), err))
		for _, w := range warnings {
			got = append(got, "\t"+w)
		}
	}
	golden(t, "plan", strings.Join(got, "\n"))
}

func TestLabels(t *testing.T) {
	long := strings.Repeat("a", 63)
	for in, want := range map[string]string{
		"": "", "installs_2-x": "installs_2-x", long: long, "A": "a-559aead0", "a.b": "a_b-2e7e8aa5",
		long + "a": long[:54] + "-11ee3912", "20260131T060000.123Z-1f": "20260131t060000_123z-1f-b6f3f2e4",
	} {
		got := labelText(in)
		if (want == in) != (got == in) || len(got) > maxLabel || len(in) > 0 && len(got) < 2 && in != got {
			t.Errorf("%q becomes %q", in, got)
		}
	}
	if labelText("a.b") == labelText("a_b") || labelText("a.b") == labelText("a:b") ||
		labelText(long+"a") == labelText(long+"b") {
		t.Error("two texts became one")
	}
}
