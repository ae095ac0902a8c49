package bqtest

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
)

func TestQuotas(t *testing.T) {
	type step struct {
		table, day string // loaded; of d.<table>$<day>
		after      time.Duration
		fails      bool // by a file that doesn't fit
		reason     string
		message    string
	}
	for _, c := range []struct {
		name  string
		q     Quotas
		steps []step
	}{
		{"loads of a table, failed ones too", Quotas{LoadsPerTable: 2}, []step{
			{"a", "20260101", 0, false, "", ""}, {"a", "20260102", 0, true, "invalid", "Some rows"},
			{"a", "20260103", time.Hour, false, "quotaExceeded", "2 load jobs in 24 hours"},
			{"b", "20260101", 0, false, "", ""},
			{"a", "20260103", 25 * time.Hour, false, "", ""},
		}},
		{"loads of the project", Quotas{LoadsPerProject: 2}, []step{
			{"a", "20260101", 0, false, "", ""}, {"b", "20260101", 0, false, "", ""},
			{"a", "20260103", 0, false, "quotaExceeded", "Project p has had 2 load jobs"},
		}},
		{"partition modifications", Quotas{PartitionModifications: 2}, []step{
			{"a", "20260101", 0, false, "", ""}, {"a", "20260102", 0, true, "invalid", "Some rows"},
			{"a", "20260101", 0, false, "", ""},
			{"a", "20260101", 0, false, "quotaExceeded", "Number of partition modifications"},
			{"b", "20260101", 0, false, "", ""},
			{"a", "20260101", 25 * time.Hour, false, "", ""},
		}},
		{"commits in ten seconds", Quotas{Commits: 2}, []step{
			{"a", "20260101", 0, false, "", ""}, {"a", "20260101", 5 * time.Second, false, "", ""},
			{"a", "20260101", 4 * time.Second, false, "rateLimitExceeded",
				"Exceeded rate limits: too many partitioned table update operations for this table p:d.a"},
			{"a", "20260101", time.Second, false, "", ""}, {"a", "20260101", 0, false, "rateLimitExceeded", ""},
		}},
		{"partitions of a table", Quotas{PartitionsPerTable: 2}, []step{
			{"a", "20260101", 0, false, "", ""}, {"a", "20260102", 0, false, "", ""},
			{"a", "20260102", 0, false, "", ""},
			{"a", "20260103", 0, false, "quotaExceeded", "would have 3 partitions, allowed 2"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := hour()
			b := newBench(t, Options{Quotas: c.q, Now: func() time.Time { return now }})
			for i, st := range c.steps {
				now = now.Add(st.after)
				l := load{id: fmt.Sprint("job", i), to: st.table + "$" + st.day, schema: installSchema,
					change: func(x *bigquery.Loader) {
						x.TimePartitioning = &bigquery.TimePartitioning{Field: "date"}
					}}
				at, err := time.Parse("20060102", st.day)
				if err != nil {
					t.Fatal(err)
				}
				if st.fails {
					at = at.AddDate(0, 0, 1)
				}
				l.file = oneRow(t, at.Format(time.DateOnly), "a", 1)
				if st.reason == "" {
					b.mustLoad(l)
				} else {
					b.wantFailure(l, st.reason, st.message)
				}
			}
		})
	}
}

func TestPartitionsOfAJob(t *testing.T) {
	b := newBench(t, Options{Quotas: Quotas{PartitionsPerJob: 2, PartitionModifications: 3}})
	b.createInstalls()
	days := func(n int) []byte {
		var rows []install
		for i := range n {
			rows = append(rows, install{hour().AddDate(0, 0, i).Format(time.DateOnly), "a", 1, "1", 1})
		}
		return installFile(t, rows...)
	}
	b.wantFailure(load{id: "three", to: "installs", file: days(3), schema: installSchema}, "invalid",
		"allowed 2, query produces at least 3")
	b.mustLoad(load{id: "two", to: "installs", file: days(2), schema: installSchema})
	b.mustLoad(load{id: "again", to: "installs", file: days(2), schema: installSchema})
	b.wantFailure(load{id: "four", to: "installs", file: days(2), schema: installSchema}, "quotaExceeded",
		"has had 4 in 24 hours")
}

func TestUpdatesOfATablesDefinitionHaveARate(t *testing.T) {
	now := hour()
	b := newBench(t, Options{Now: func() time.Time { return now }})
	b.createInstalls()
	patch := func() int {
		status, _, _ := b.send("PATCH", "/bigquery/v2/projects/p/datasets/d/tables/installs", nil,
			[]byte(`{"description":"x"}`))
		return status
	}
	for i := range 6 {
		if status := patch(); (status == 403) != (i == 5) {
			t.Errorf("update %d: %d", i+1, status)
		}
	}
	now = now.Add(11 * time.Second)
	if status := patch(); status != 200 {
		t.Errorf("later: %d", status)
	}
}
