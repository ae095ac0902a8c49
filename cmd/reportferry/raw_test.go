package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// rawFiles are the raw answers under the folder raw.
func rawFiles(t *testing.T, table string) []string {
	t.Helper()
	names, err := filepath.Glob("raw/" + table + "/*/*")
	check(t, err)
	return names
}

// A run keeps what the service said, beside what it made of it; a job may have a place and a time
// of its own.
func TestRawAnswers(t *testing.T) {
	slow.Test(t)
	s := newShell(t, campaignsJob+strings.ReplaceAll(campaignsJob, "name: campaigns\n",
		"name: others\n    raw: file://./elsewhere\n"))
	change(t, "\njobs:", "\nraw: file://./raw\nraw_keep: 3d\njobs:")()
	s.says("check", 0, "raw answers file://./raw: ok, a probe was written, read and deleted",
		"raw answers file://./elsewhere: ok")
	s.says("run", 0, "written 12", "!raw")
	names := rawFiles(t, "campaigns")
	if len(names) != 3 || len(rawFiles(t, "others")) > 0 {
		t.Fatalf("kept are %q", names)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".csv.zst") {
			t.Errorf("there is %s", name)
		}
	}
	others, err := filepath.Glob("elsewhere/others/*/*.csv.zst")
	if err != nil || len(others) != 3 {
		t.Errorf("elsewhere are %q, %v", others, err)
	}
	s.says("check", 0, "as recorded")
	for range 5 {
		s.clock += 24 * time.Hour
		s.says("run", 0, "!not kept")
	}
	for _, name := range names {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is older than raw_keep: %v", name, err)
		}
	}
	if again, err := filepath.Glob("elsewhere/others/*/*.csv.zst"); err != nil || len(again) <= len(others) {
		t.Errorf("a job with a place of its own keeps for ever: %q", again)
	}
}

// A place that takes nothing is said in the last lines, in JSON and by the exit code, and the rows
// are published. With raw_required they aren't: the old ones stay.
func TestRawAnswersRefused(t *testing.T) {
	s := newShell(t, campaignsJob)
	change(t, "\njobs:", "\nraw: file://./raw\njobs:")()
	check(t, os.MkdirAll("raw", 0o755))
	check(t, os.WriteFile("raw/campaigns", nil, 0o600)) // no folder can have this name now, whoever asks
	s.says("run", 3, "written 12", "raw         3 answers not kept", "a raw answer isn't kept", "keep the answer as",
		"file://./raw/campaigns/",
		"Something is left out, as said above.")
	s.clock += 24 * time.Hour
	s.says("run --log-format json", 3, `"unkept":1`, `"exit":3`, `"left_out":1`)
	change(t, "\njobs:", "\nraw_required: true\njobs:")()
	parts, err := filepath.Glob("out/campaigns/*/*.parquet")
	check(t, err)
	before := map[string]time.Time{}
	for _, name := range parts {
		info, err := os.Stat(name)
		check(t, err)
		before[name] = info.ModTime()
	}
	s.clock += 24 * time.Hour
	s.says("run", 1, "failed 3", "fetch campaigns/", "keep the answer as", "file://./raw/campaigns/")
	s.says("run --log-format json", 1, `"reason":"raw"`)
	for name, was := range before {
		if info, err := os.Stat(name); err != nil || !info.ModTime().Equal(was) {
			t.Errorf("%s was replaced: %v", name, err)
		}
	}
	check(t, os.Remove("raw/campaigns"))
	s.says("run", 0, "failed 0", "!not kept")
	if len(rawFiles(t, "campaigns")) == 0 {
		t.Error("nothing is kept")
	}
}

// What can't be a place of raw answers is refused before anything is asked.
func TestRawPlaces(t *testing.T) {
	s := newShell(t, campaignsJob)
	check(t, os.WriteFile("file", nil, 0o600))
	for place, want := range map[string]string{
		"file://./file":           "not a directory",
		"mem://":                  "no bucket is opened by mem://",
		"bigquery://project/data": "no bucket is opened by bigquery://",
		"file://./raw?prefix=a/":  "write the directory into the path",
	} {
		change(t, "\njobs:", "\nraw: \""+place+"\"\njobs:")()
		s.says("run", 2, "job campaigns: raw: ", want)
		change(t, "\nraw: \""+place+"\"\njobs:", "\njobs:")()
	}
}

// A bucket that refuses the credentials costs the rows nothing, unless the copies are required:
// then it is exit code 5, as with a sink.
func TestRawRefusedByTheBucket(t *testing.T) {
	slow.Test(t)
	c := startCloud(t)
	var refuses atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses.Load() && r.Method == http.MethodPost {
			http.Error(w,
				`{"error":{"code":403,"message":"no storage.objects.create access","errors":[{"reason":"forbidden"}]}}`,
				http.StatusForbidden)
			return
		}
		r.Host = c.addr // by which it tells reads from calls
		c.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	svc := startService(t, "--apps", "2", "--days", "30")
	p := newPlace(t, svc, 5, 1, living)
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(server.URL, "http://"))
	p.edit(t, "jobs:", "raw: gs://bkt/raw\njobs:")
	p.says(t, 0, "written 5", "run")
	if names := c.names(t, "raw/installs/"); len(names) == 0 || !strings.HasSuffix(names[0], ".csv.zst") {
		t.Errorf("kept are %q", names)
	}
	p.says(t, 0, "raw answers gs://bkt/raw: ok", "check")
	refuses.Store(true)
	p.says(t, 3, "no storage.objects.create access", "run", "--force")
	p.says(t, 5, "raw answers gs://bkt/raw: failed", "check")
	p.edit(t, "jobs:", "raw_required: true\njobs:")
	p.says(t, 5, "no storage.objects.create access", "run", "--force")
}
