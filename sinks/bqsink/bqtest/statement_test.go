package bqtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"google.golang.org/api/iterator"
)

// run runs a statement to the end of its job.
func (b *bench) run(id, text string) (*bigquery.JobStatus, error) {
	q := b.client.Query(text)
	q.JobID, q.Location, q.Labels = id, "US", map[string]string{"run": "r"}
	job, err := q.Run(b.Context())
	if err != nil {
		return nil, err
	}
	return job.Status(b.Context()) // it is done by the next call
}

// newSums is a bench with four rows of two days.
func newSums(t *testing.T) *bench {
	b := newBench(t, Options{Now: hour, Quotas: Quotas{MetadataUpdates: -1}})
	b.createInstalls()
	b.mustLoad(load{id: "rows", to: "installs", schema: installSchema, file: installFile(t,
		install{"2026-02-27", "a", 3, "0.100000", 0.5}, install{"2026-02-27", "b", 0, "10.200000", 1.5},
		install{"2026-02-28", "a", 4, "9.300000", 2}, install{"2026-02-28", "b", nil, "", 4})})
	return b
}

const installsTable = "DELETE FROM `p.d.installs` WHERE "

func TestDeletes(t *testing.T) {
	for _, c := range []struct {
		where string
		n     int64
		left  int
	}{
		{"`date` >= DATE '2026-02-27' AND `date` < DATE '2026-02-28'", 2, 2},
		{"`DATE` >= DATE '2026-02-01' AND `DATE` < DATE '2026-03-01'", 4, 0},
		{"`date` >= DATE '2020-01-01' AND `date` < DATE '2020-01-02'", 0, 4},
		{"TRUE", 4, 0},
	} {
		b := newSums(t)
		st, err := b.run("clear", installsTable+c.where)
		if err != nil || st.Err() != nil {
			t.Fatalf("%v, %v", err, st)
		}
		details := st.Statistics.Details.(*bigquery.QueryStatistics)
		rows, _ := b.Rows("p.d.installs")
		if details.NumDMLAffectedRows != c.n || details.StatementType != "DELETE" ||
			details.DMLStats.DeletedRowCount != c.n || len(rows) != c.left {
			t.Errorf("%s: deleted %d, left %d, %+v", c.where, details.NumDMLAffectedRows, len(rows), details)
		}
		if _, err := b.run("clear", installsTable+c.where); err == nil ||
			!strings.Contains(err.Error(), "Already Exists: Job p:US.clear") {
			t.Errorf("the same job again gave %v", err)
		}
	}
}

// A DATETIME column's range is of times, and a row without one is in no range.
func TestDeletesByTime(t *testing.T) {
	b := newBench(t, Options{Now: hour})
	b.mustLoad(load{id: "rows", to: "hours", schema: bigquery.Schema{{Name: "hour", Type: bigquery.DateTimeFieldType}},
		change: func(x *bigquery.Loader) { x.Src.(*bigquery.ReaderSource).SourceFormat = bigquery.JSON },
		file: []byte(`{"hour":"2026-01-30T23:00:00"}` + "\n" + `{"hour":"2026-01-31T00:00:00"}` + "\n" +
			`{"hour":"2026-01-31T23:59:59"}` + "\n" + `{"hour":"2026-02-01T00:00:00"}` + "\n{}\n")})
	if st, err := b.run("clear", "DELETE FROM `p.d.hours` WHERE `hour` >= DATETIME '2026-01-31 00:00:00' AND `hour` "+
		"< DATETIME '2026-02-01 00:00:00'"); err != nil || st.Err() != nil {
		t.Fatal(err, st)
	}
	b.wantRows("hours", "2026-01-30T23:00:00", "2026-02-01T00:00:00", Null)
}

// A statement that nobody here runs is named; one that is wrong fails its job, as in BigQuery.
func TestStatementsThatAreRefused(t *testing.T) {
	b := newSums(t)
	for i, text := range []string{
		"SELECT app FROM `p.d.installs`", "DELETE FROM `p.d.installs`", installsTable + "app = 'a'", "SELECT 2",
		installsTable + "`date` >= DATE '2026-02-27' AND `app` < DATE '2026-02-28'",
		installsTable + "`date` >= DATE '2026-02-27' AND `date` < DATETIME '2026-02-28 00:00:00'",
		"DROP TABLE `p.d.installs`",
	} {
		_, err := b.run(fmt.Sprint("unknown", i), text)
		if status, reason := reasonOf(err); status != 501 || reason != "notImplemented" ||
			!strings.Contains(err.Error(), "none of them: "+text) {
			t.Errorf("%s gave %v", text, err)
		}
	}
	if err := b.client.Dataset("d").Table("v").Create(t.Context(),
		&bigquery.TableMetadata{ViewQuery: "SELECT 1 AS one"}); err != nil {
		t.Fatal(err)
	}
	for i, c := range [][3]string{
		{"DELETE FROM `p.d.none` WHERE TRUE", "notFound", "Not found: Table p:d.none"},
		{"DELETE FROM `p.none.t` WHERE TRUE", "notFound", "Not found: Dataset p:none"},
		{"DELETE FROM `p.d.v` WHERE TRUE", "invalidQuery", "it is a view"},
		{installsTable + "`day` >= DATE '2026-02-27' AND `day` < DATE '2026-02-28'", "invalidQuery",
			"Unrecognized name: day"},
		{installsTable + "`app` >= DATE '2026-02-27' AND `app` < DATE '2026-02-28'", "invalidQuery",
			"No matching signature"},
	} {
		st, err := b.run(fmt.Sprint("wrong", i), c[0])
		var failed *bigquery.Error
		if err != nil || !errors.As(st.Err(), &failed) || failed.Reason != c[1] ||
			!strings.Contains(failed.Message, c[2]) {
			t.Errorf("%s gave %v, %v", c[0], err, st.Err())
		}
	}
	elsewhere := b.client.Query(installsTable + "TRUE")
	elsewhere.Location = "EU"
	job, err := elsewhere.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st, err := job.Status(t.Context()); err != nil || st.Err() == nil ||
		!strings.Contains(st.Err().Error(), "Dataset p:d was not found in location EU") {
		t.Errorf("another location gave %v, %v", err, st)
	}
	if rows, _ := b.Rows("p.d.installs"); len(rows) != 4 {
		t.Errorf("%d rows are left", len(rows))
	}
	if st, err := b.run("probe", "SELECT 1"); err != nil || st.Err() != nil {
		t.Errorf("the probe gave %v, %v", err, st)
	}
}

func TestTablesThatAskForAFilter(t *testing.T) {
	b := newSums(t)
	status, answer, _ := b.send("PATCH", "/bigquery/v2/projects/p/datasets/d/tables/installs", nil,
		[]byte(`{"requirePartitionFilter":true}`))
	if status != 200 {
		t.Fatal(answer)
	}
	st, err := b.run("all", installsTable+"TRUE")
	if err != nil || st.Err() == nil || !strings.Contains(st.Err().Error(),
		"Cannot query over table 'p.d.installs' without a filter over column(s) 'date'") {
		t.Errorf("%v, %v", err, st)
	}
	if st, err := b.run("day", installsTable+"`date` >= DATE '2026-02-27' AND `date` < DATE '2026-02-28'"); err !=
		nil || st.Err() != nil {
		t.Errorf("%v, %v", err, st)
	}
}

func TestViews(t *testing.T) {
	b := newSums(t)
	ctx := t.Context()
	view := b.client.Dataset("d").Table("ratios")
	const query = "SELECT date, SUM(installs) AS installs FROM `p.d.installs` GROUP BY date"
	if err := view.Create(ctx, &bigquery.TableMetadata{ViewQuery: query, Description: "ratios",
		Labels: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	meta, err := view.Metadata(ctx)
	if err != nil || meta.Type != bigquery.ViewTable || meta.ViewQuery != query || meta.UseLegacySQL ||
		meta.Labels["a"] != "b" {
		t.Fatalf("%+v, %v", meta, err)
	}
	if meta, err = view.Update(ctx, bigquery.TableMetadataToUpdate{ViewQuery: "SELECT 1 AS one"},
		meta.ETag); err != nil || meta.ViewQuery != "SELECT 1 AS one" || meta.Description != "ratios" {
		t.Errorf("%+v, %v", meta, err)
	}
	if err := view.Create(ctx, &bigquery.TableMetadata{ViewQuery: query}); err == nil {
		t.Error("the same view was made twice")
	}
	if err := b.client.Dataset("d").Table("legacy").Create(ctx, &bigquery.TableMetadata{ViewQuery: "SELECT 1",
		UseLegacySQL: true}); err == nil {
		t.Error("legacy SQL was taken")
	}
	b.wantFailure(load{id: "into", to: "ratios", file: oneRow(t, "2026-01-01", "a", 1)}, "invalid", "it is a view")
	if it := view.Read(ctx); it.Next(&[]bigquery.Value{}) == nil {
		t.Error("the rows of a view were listed")
	}
}

func TestRowsByPages(t *testing.T) {
	b := newSums(t)
	it := b.client.Dataset("d").Table("installs").Read(t.Context())
	it.PageInfo().MaxSize = 3
	n := 0
	for ; ; n++ {
		var row []bigquery.Value
		if err := it.Next(&row); errors.Is(err, iterator.Done) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, ok := row[0].(civil.Date); !ok {
			t.Errorf("row %v", row)
		}
	}
	if n != 4 || it.TotalRows != 4 {
		t.Errorf("%d rows of %d", n, it.TotalRows)
	}
	const path = "/bigquery/v2/projects/p/datasets/d/tables/"
	if status, answer, _ := b.send("GET", path+"installs$20260227/data", nil, nil); status != 200 ||
		!strings.Contains(answer, `"totalRows":"2"`) {
		t.Errorf("one partition: %d %s", status, answer)
	}
	if status, _, _ := b.send("GET", path+"installs/data?maxResults=-1", nil, nil); status != 400 {
		t.Errorf("a negative page: %d", status)
	}
	b.mustLoad(load{id: "times", to: "times", schema: bigquery.Schema{{Name: "at", Type: bigquery.TimestampFieldType},
		{Name: "ok", Type: bigquery.BooleanFieldType}},
		change: func(x *bigquery.Loader) { x.Src.(*bigquery.ReaderSource).SourceFormat = bigquery.JSON },
		file:   []byte(`{"at":"2026-01-01T00:00:00.5Z","ok":false}`)})
	for query, want := range map[string]string{"": `[{"v":"1.7672256005E+09"},{"v":"false"}]`,
		"?formatOptions.useInt64Timestamp=true": `[{"v":"1767225600500000"},`} {
		if _, answer, _ := b.send("GET", path+"times/data"+query, nil, nil); !strings.Contains(answer, want) {
			t.Errorf("%q: %s", query, answer)
		}
	}
}
