package bqtest

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"github.com/fsouza/fake-gcs-server/fakestorage"
)

func TestEachReasonOfAFailingJob(t *testing.T) {
	b := newBench(t, Options{Quotas: Quotas{Commits: -1}})
	b.createInstalls()
	b.mustLoad(load{id: "before", to: "installs$20260101", file: oneRow(t, "2026-01-01", "old", 1),
		schema: installSchema})
	for reason := range reasonStatus {
		b.SetFaults(Fault{Call: "jobs.insert", Kind: FaultFailJob, Reason: reason, Times: 2})
		l := load{to: "installs$20260101", file: oneRow(t, "2026-01-01", "new", 2), schema: installSchema,
			mode: bigquery.WriteAppend}
		for _, n := range []string{"1", "2"} {
			l.id = reason + n
			b.wantFailure(l, reason, reason+" (scripted)")
		}
		b.wantRows("installs", "2026-01-01|old|1|1|1")
		l.id, l.mode, l.file = reason+"3", bigquery.WriteTruncate, oneRow(t, "2026-01-01", "old", 1)
		b.mustLoad(l)
	}
}

func TestFaultsStrikeTheCallThatIsMeant(t *testing.T) {
	b := newBench(t, Options{})
	b.SetFaults(
		Fault{Call: "datasets.get", Nth: 2, Kind: FaultStatus, Status: 401},
		Fault{Call: "tables.get", Nth: 2, Kind: FaultStatus, Reason: "accessDenied", Message: "not you"},
		Fault{Job: "later", Kind: FaultStatus, Reason: "rateLimitExceeded", Status: 429},
		Fault{Call: "tables.list", Nth: 2, Every: 3, Times: 2, Kind: FaultStatus, Status: 400},
	)
	get := func(path string) int {
		status, _, _ := b.send("GET", "/bigquery/v2/projects/p/"+path, nil, nil)
		return status
	}
	var got []int
	for range 3 {
		got = append(got, get("datasets/d"))
	}
	for range 9 {
		got = append(got, get("datasets/d/tables"))
	}
	got = append(got, get("datasets/d/tables/other"), get("datasets/d/tables/t"), get("datasets/d/tables/t"),
		get("jobs/later"), get("jobs/later"))
	if want := []int{200, 401, 200, 200, 400, 200, 200, 400, 200, 200, 200, 200, 404, 403, 404, 429,
		404}; !reflect.DeepEqual(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	reasons := map[string]int{}
	for _, r := range b.Requests() {
		if r.Fault != "" {
			reasons[r.Reason]++
		}
	}
	if want := map[string]int{"authError": 1, "accessDenied": 1, "rateLimitExceeded": 1,
		"badRequest": 2}; !reflect.DeepEqual(reasons, want) {
		t.Errorf("logged %v", reasons)
	}
}

func TestLostAnswersAndResets(t *testing.T) {
	for _, c := range []struct {
		kind FaultKind
		jobs int
	}{{FaultLost, 1}, {FaultReset, 0}} {
		t.Run(string(c.kind), func(t *testing.T) {
			b := newBench(t, Options{Faults: []Fault{{Call: "jobs.insert", Kind: c.kind}}})
			l := load{id: "one", to: "t", file: oneRow(t, "2026-01-01", "a", 1)}
			if _, err := b.start(l); err == nil || !errors.Is(err, io.ErrUnexpectedEOF) &&
				!strings.Contains(err.Error(), "reset") {
				t.Fatalf("the insert gave %v", err)
			}
			if len(b.Jobs()) != c.jobs || b.Requests()[0].Status != 0 {
				t.Errorf("%d jobs, logged %+v", len(b.Jobs()), b.Requests()[0])
			}
			_, err := b.start(l)
			if status, _ := reasonOf(err); (status == 409) != (c.jobs == 1) {
				t.Errorf("the second insert gave %v", err)
			}
			b.wantRows("t", "2026-01-01|a|1|1|1")
		})
	}
}

func TestADelayedCallIsDoneLater(t *testing.T) {
	b := newBench(t, Options{Faults: []Fault{{Call: "datasets.get", Kind: FaultDelay, Delay: 30 * time.Millisecond}}})
	began := time.Now()
	if _, err := b.client.Dataset("d").Metadata(t.Context()); err != nil || time.Since(began) < 30*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestFaultsThatMeanNothing(t *testing.T) {
	for _, f := range []Fault{
		{}, {Kind: "explode"}, {Kind: FaultStatus}, {Kind: FaultStatus, Status: 200},
		{Kind: FaultFailJob, Reason: "boredom"},
		{Kind: FaultSlowJob}, {Kind: FaultDelay}, {Kind: FaultLost, Nth: -1},
	} {
		if _, err := New(Options{Faults: []Fault{f}}); err == nil {
			t.Errorf("%+v was taken", f)
		}
	}
	for _, o := range []Options{{JobTime: -1}, {Datasets: []string{"d"}}} {
		if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), "new bqtest: ") {
			t.Errorf("%+v gave %v", o, err)
		}
	}
}

func TestLoadsFromCloudStorage(t *testing.T) {
	gcs, err := fakestorage.NewServerWithOptions(fakestorage.Options{Scheme: "http", Host: "127.0.0.1",
		InitialObjects: []fakestorage.Object{
			{ObjectAttrs: fakestorage.ObjectAttrs{BucketName: "bkt", Name: "stage/a b.parquet"},
				Content: oneRow(t, "2026-01-01", "a", 1)},
			{ObjectAttrs: fakestorage.ObjectAttrs{BucketName: "bkt", Name: "stage/c.parquet"},
				Content: oneRow(t, "2026-01-01", "c", 2)},
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gcs.Stop)
	b := newBench(t, Options{GCS: gcs.URL()})
	b.createInstalls()
	status := b.mustLoad(load{id: "one", to: "installs$20260101", uris: []string{"gs://bkt/stage/c.parquet",
		"gs://bkt/stage/a b.parquet"}, schema: installSchema})
	b.wantRows("installs", "2026-01-01|a|1|1|1", "2026-01-01|c|2|1|1")
	if st := status.Statistics.Details.(*bigquery.LoadStatistics); st.InputFiles != 2 || st.OutputRows != 2 {
		t.Errorf("statistics %+v", st)
	}
	gcs.CreateObject(fakestorage.Object{ObjectAttrs: fakestorage.ObjectAttrs{BucketName: "bkt",
		Name: "stage/b.parquet"}, Content: wider(t, "2026-01-01")})
	last := []string{"gs://bkt/stage/c.parquet", "gs://bkt/stage/b.parquet"}
	// The last by name has no clicks.
	b.wantFailure(load{id: "last", to: "new", uris: last}, "invalid", "Parquet column 'clicks' is not in the schema")
	b.wantFailure(load{id: "none", to: "installs$20260101", uris: []string{"gs://bkt/stage/none"},
		schema: installSchema}, "notFound", "Not found: URI gs://bkt/stage/none")
	outside := b.wantFailure(load{id: "outside", to: "installs$20260102", uris: []string{"gs://bkt/stage/c.parquet"},
		schema: changed(func(s bigquery.Schema) bigquery.Schema { return s })}, "invalid", "Some rows belong")
	if outside.Errors[0].Location != "" {
		t.Errorf("location %q", outside.Errors[0].Location)
	}
	narrow := b.wantFailure(load{id: "narrow", to: "other", uris: []string{"gs://bkt/stage/c.parquet"},
		schema: installSchema[:2]}, "invalid", "File: gs://bkt/stage/c.parquet")
	if narrow.Errors[0].Location != "gs://bkt/stage/c.parquet" || len(narrow.Errors) != 3 {
		t.Errorf("errors %+v", narrow.Errors)
	}
	// What is deleted while the job runs is missed by it.
	b.SetFaults(Fault{Call: "jobs.insert", Kind: FaultSlowJob, Delay: time.Hour})
	job, err := b.start(load{id: "slow", to: "installs$20260101", uris: []string{"gs://bkt/stage/c.parquet"},
		schema: installSchema})
	if err != nil {
		t.Fatal(err)
	}
	if err := gcs.Client().Bucket("bkt").Object("stage/c.parquet").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Advance(time.Hour)
	if st, err := job.Status(t.Context()); err != nil || st.Err() == nil || st.Errors[0].Reason != "notFound" {
		t.Errorf("%+v, %v", st, err)
	}
	b.wantRows("installs", "2026-01-01|a|1|1|1", "2026-01-01|c|2|1|1")
}
