package bqsink

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"

	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

func staged(t *testing.T, gcs *fakestorage.Server) string {
	t.Helper()
	list, err := gcs.ListObjectsWithOptionsPaginated("bkt", fakestorage.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range list.Objects {
		names = append(names, o.Name)
	}
	return strings.Join(names, " ")
}

// A file is staged under its content's hash and its run, and deleted once its load is done. What a
// killed run left of the partition goes when no load can need it any more.
func TestStaging(t *testing.T) {
	gcs, base := startGCS(t)
	server := newServer(t, bqtest.Options{GCS: base})
	s := openOn(t, server, testURL+"&staging=gs://bkt/tmp/rf")
	killed := testPart("2026-01-31", "killed", "k")
	at, err := locate(killed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.staging.upload(t.Context(), at, killed); err != nil {
		t.Fatal(err)
	}
	left := "tmp/rf/installs/20260131/" + killed.Hash + ".killed.parquet"
	object, err := gcs.GetObject("bkt", left)
	file, openErr := killed.Open()
	if err != nil || openErr != nil {
		t.Fatal(err, openErr)
	}
	var want bytes.Buffer
	if _, err := want.ReadFrom(file); err != nil || !bytes.Equal(object.Content, want.Bytes()) {
		t.Errorf("the staged file isn't the part's: %v", err)
	}

	a, b := testPart("2026-01-31", "run", "a"), testPart("2026-02-01", "run", "b")
	mustPut(t, s, a, b)
	mustHold(t, server, "installs", "a b")
	key := "gs://bkt/tmp/rf/installs/20260131/" + a.Hash + ".run.parquet"
	if got := server.Jobs()[0].Configuration.Load.SourceUris; len(got) != 1 || got[0] != key {
		t.Errorf("the job reads %q, want %s", got, key)
	}
	if got := staged(t, gcs); got != left {
		t.Errorf("staged after the loads: %s", got)
	}
	if err := s.staging.cleanUp(t.Context(), at, "", time.Now().Add(staleAge+time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := staged(t, gcs); got != "" {
		t.Errorf("left a day later: %s", got)
	}
}

// A part that is tried again is staged once, and one without rows not at all.
func TestStagedOnce(t *testing.T) {
	gcs, base := startGCS(t)
	server := newServer(t, bqtest.Options{GCS: base, Faults: []bqtest.Fault{
		{Call: "jobs.insert", Kind: bqtest.FaultLost}, {Call: "jobs.insert", Kind: bqtest.FaultFailJob,
			Reason: "backendError"},
	}})
	s := openOn(t, server, testURL+"&staging=gs://bkt")
	opened := 0
	p := testPart("2026-01-31", "run", "a")
	open := p.Open
	p.Open = func() (r io.ReadCloser, err error) { opened++; return open() }
	mustPut(t, s, p)
	mustHold(t, server, "installs", "a")
	if opened != 1 {
		t.Errorf("the file was read %d times", opened)
	}
	mustPut(t, s, testPart("2026-01-31", "run"))
	if got := staged(t, gcs); got != "" {
		t.Errorf("staged: %s", got)
	}
}

// Half a file is never staged.
func TestBrokenPartIsNotStaged(t *testing.T) {
	gcs, base := startGCS(t)
	s := openOn(t, newServer(t, bqtest.Options{GCS: base}), testURL+"&staging=gs://bkt")
	p := testPart("2026-01-31", "run", "a")
	p.Size++
	_, err := s.Put(t.Context(), p)
	mustContain(t, err, "stage the part at gs://bkt/installs/20260131/", "unexpected EOF", "nothing was changed")
	if got := staged(t, gcs); got != "" {
		t.Errorf("staged: %s", got)
	}
}

func TestStagingRefused(t *testing.T) {
	_, base := startGCS(t)
	server := newServer(t, bqtest.Options{GCS: base})
	s := openOn(t, server, testURL+"&staging=gs://missing")
	_, err := s.Put(t.Context(), testPart("2026-01-31", "run", "a"))
	mustContain(t, err, "stage the part at gs://missing/installs/20260131/", "nothing was changed")
}
