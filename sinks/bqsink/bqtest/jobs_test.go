package bqtest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/option"
)

// hour is a clock that stands still.
func hour() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func TestAJobIsDoneOnce(t *testing.T) {
	b := newBench(t, Options{Now: hour, JobTime: time.Minute})
	b.createInstalls()
	l := load{id: "one", to: "installs$20260101", file: oneRow(t, "2026-01-01", "a", 1), schema: installSchema,
		change: func(x *bigquery.Loader) { x.Labels = map[string]string{"run": "r1"} }}
	job, err := b.start(l)
	if err != nil {
		t.Fatal(err)
	}
	if job.LastStatus().State != bigquery.Running {
		t.Errorf("the insert answered state %v", job.LastStatus().State)
	}
	l.file = oneRow(t, "2026-01-01", "other", 2)
	for _, done := range []bool{false, true} {
		b.wantRefusal(l, 409, "duplicate", "Already Exists: Job p:US.one")
		job, err := b.client.JobFromIDLocation(t.Context(), "one", "us")
		if err != nil {
			t.Fatal(err)
		}
		config, err := job.Config()
		if err != nil {
			t.Fatal(err)
		}
		if labels := config.(*bigquery.LoadConfig).Labels; labels["run"] != "r1" ||
			config.(*bigquery.LoadConfig).Dst.TableID != "installs$20260101" {
			t.Errorf("config came back as %+v", config)
		}
		if job.LastStatus().Done() != done {
			t.Errorf("done is %v, want %v", !done, done)
		}
		if done {
			st := job.LastStatus().Statistics
			if !st.CreationTime.Equal(hour()) || !st.EndTime.Equal(hour().Add(time.Minute)) ||
				st.Details.(*bigquery.LoadStatistics).OutputRows != 1 {
				t.Errorf("statistics %+v", st)
			}
			b.wantRows("installs", "2026-01-01|a|1|1|1")
		} else {
			b.wantRows("installs")
			b.Advance(time.Minute)
		}
	}
}

func TestRowsAreOldUntilTheJobIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Datasets: []string{"p.d"}})
		if err != nil {
			t.Fatal(err)
		}
		client := inBubble(t, s)
		b := &bench{Server: s, T: t, client: client}
		b.createInstalls()
		l := load{id: "one", to: "installs$20260101", file: oneRow(t, "2026-01-01", "old", 1), schema: installSchema}
		b.mustLoad(l)
		b.SetFaults(Fault{Call: "jobs.insert", Kind: FaultSlowJob, Delay: time.Hour})
		l.id, l.file = "two", oneRow(t, "2026-01-01", "new", 2)
		job, err := b.start(l)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(59*time.Minute + 59*time.Second)
		if st, err := job.Status(t.Context()); err != nil || st.State != bigquery.Running ||
			!st.Statistics.EndTime.IsZero() {
			t.Errorf("before its end: %+v, %v", st, err)
		}
		b.wantRows("installs", "2026-01-01|old|1|1|1")
		time.Sleep(time.Second)
		b.wantRows("installs", "2026-01-01|new|2|1|1")
		if st, err := job.Status(t.Context()); err != nil || !st.Done() ||
			!st.Statistics.EndTime.Equal(began.Add(time.Hour)) {
			t.Errorf("at its end: %+v, %v", st, err)
		}

		// A slow earlier load lands after a quick later one.
		b.SetFaults(Fault{Job: "slow", Kind: FaultSlowJob, Delay: time.Minute})
		l.id, l.file = "slow", oneRow(t, "2026-01-01", "slow", 3)
		if _, err := b.start(l); err != nil {
			t.Fatal(err)
		}
		l.id, l.file = "quick", oneRow(t, "2026-01-01", "quick", 4)
		b.mustLoad(l)
		b.wantRows("installs", "2026-01-01|quick|4|1|1")
		b.Advance(time.Minute)
		b.wantRows("installs", "2026-01-01|slow|3|1|1")
	})
}

// inBubble is a client over pipes, because a real socket would hang a bubble.
func inBubble(t *testing.T, s *Server) *bigquery.Client {
	conns := make(chan net.Conn)
	h := &http.Server{Handler: s}
	go func() { _ = h.Serve(pipeListener(conns)) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		conns <- far
		return near, nil
	}}
	client, err := bigquery.NewClient(t.Context(), "p", option.WithEndpoint("http://bigquery/bigquery/v2/"),
		option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = h.Close()
		_ = s.Close()
	})
	return client
}

type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l pipeListener) Close() error   { close(l); return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func TestAJobIsFoundByItsLocation(t *testing.T) {
	b := newBench(t, Options{Location: "europe-west3"})
	b.mustLoad(load{id: "one", to: "t", file: oneRow(t, "2026-01-01", "a", 1),
		change: func(x *bigquery.Loader) { x.Location = "" }})
	if job, err := b.client.JobFromIDLocation(t.Context(), "one", "EUROPE-WEST3"); err != nil ||
		job.Location() != "europe-west3" {
		t.Errorf("%+v, %v", job, err)
	}
	for _, location := range []string{"", "US"} {
		_, err := b.client.JobFromIDLocation(t.Context(), "one", location)
		if status, reason := reasonOf(err); status != 404 || reason != "notFound" {
			t.Errorf("location %q: %v", location, err)
		}
	}
	us := newBench(t, Options{Location: "EU"})
	us.mustLoad(load{id: "one", to: "t", file: oneRow(t, "2026-01-01", "a", 1),
		change: func(x *bigquery.Loader) { x.Location = "" }})
	if _, err := us.client.JobFromID(t.Context(), "one"); err != nil {
		t.Errorf("EU without a location: %v", err)
	}
}

func TestPartialAnswers(t *testing.T) {
	b := newBench(t, Options{})
	b.mustLoad(load{id: "one", to: "t", file: oneRow(t, "2026-01-01", "a", 1)})
	for fields, want := range map[string]string{
		"status/state":                           `{"status":{"state":"DONE"}}`,
		"jobReference(jobId,location),etc":       `{"jobReference":{"jobId":"one","location":"US"}}`,
		"statistics/load(outputRows),user_email": `{"statistics":{"load":{"outputRows":"1"}},"user_email":"reporter@test.iam.gserviceaccount.com"}`,
		"status,status/state":                    `{"status":{"state":"DONE"}}`,
	} {
		if status, answer, _ := b.send("GET", "/bigquery/v2/projects/p/jobs/one?fields="+fields, nil,
			nil); status != 200 || answer != want {
			t.Errorf("fields=%s: %d %s", fields, status, answer)
		}
	}
	for _, bad := range []string{"a(b", "a)", ",", "a(b)c", "a//b"} {
		if status, _, _ := b.send("GET", "/bigquery/v2/projects/p/jobs/one?fields="+bad, nil, nil); status != 400 {
			t.Errorf("fields=%s: %d", bad, status)
		}
	}
}

func TestCancelledJobsWriteNothing(t *testing.T) {
	b := newBench(t, Options{JobTime: time.Hour})
	job, err := b.start(load{id: "one", to: "t", file: oneRow(t, "2026-01-01", "a", 1)})
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err := job.Status(t.Context())
	if err != nil || !st.Done() || st.Errors[0].Reason != "stopped" || len(b.Tables()) != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if jobs := b.Jobs(); len(jobs) != 1 || !slices.Contains([]string{"DONE"}, jobs[0].Status.State) {
		t.Errorf("jobs %+v", jobs)
	}
}
