package bqsink

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

func visible(server *bqtest.Server) func(*testing.T) []sinktest.Row {
	return func(t *testing.T) (all []sinktest.Row) {
		t.Helper()
		for name := range server.Tables() {
			rows, err := server.Rows(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				row := sinktest.Row{Table: strings.TrimPrefix(name, "proj.ds."), Partition: sinks.Whole}
				if len(r) == 3 {
					row.Partition, r = date(r[0]), r[1:]
				}
				row.Name = r[0]
				if row.Number, err = strconv.ParseInt(r[1], 10, 64); err != nil {
					t.Fatal(err)
				}
				all = append(all, row)
			}
		}
		return all
	}
}

// The suite over real sockets, by Open and a URL as a config has it.
func TestSuite(t *testing.T) {
	sinktest.RunRows(t, func(t *testing.T) sinktest.RowFixture {
		t.Parallel() // much of it is waiting for jobs
		server := newServer(t, bqtest.Options{Quotas: bqtest.Quotas{Commits: -1}})
		base, err := server.Listen()
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), testURL+"&endpoint="+base)
		if err != nil {
			t.Fatal(err)
		}
		return sinktest.RowFixture{Sink: s.(*Sink).Unpaced(), Visible: visible(server)}
	})
}

// startGCS starts a fake of Cloud Storage with a bucket bkt, and leads gs:// URLs to it.
func startGCS(t *testing.T) (gcs *fakestorage.Server, base string) {
	t.Helper()
	listener := httptest.NewUnstartedServer(nil)
	addr := listener.Listener.Addr().String()
	gcs, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, Scheme: "http", PublicHost: addr, ExternalURL: "http://" + addr,
	})
	if err != nil {
		t.Fatal(err)
	}
	gcs.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "bkt"})
	listener.Config.Handler = gcs.HTTPHandler()
	listener.Start()
	t.Cleanup(listener.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", addr)
	return gcs, "http://" + addr
}

func TestSuiteStaged(t *testing.T) {
	_, base := startGCS(t)
	sinktest.RunRows(t, func(t *testing.T) sinktest.RowFixture {
		t.Parallel()
		server := newServer(t, bqtest.Options{GCS: base, Quotas: bqtest.Quotas{Commits: -1}})
		s := openOn(t, server, testURL+"&staging=gs://bkt/tmp/"+strings.ToLower(rand.Text()))
		return sinktest.RowFixture{Sink: s.Unpaced(), Visible: visible(server)}
	})
}
