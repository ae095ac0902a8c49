package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"google.golang.org/api/run/v1"

	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

var wait = flag.Duration("wait", 0, "time that each answer of the service and each load job takes, such as 5s")

// A cloud is all that the nightly job talks to: the made-up account, a bucket and a warehouse, on
// the loopback.
type cloud struct {
	service   *httptest.Server
	warehouse *bqtest.Server
	endpoint  string // of the warehouse
	bucket    string // host:port

	mu             sync.Mutex
	lists, numbers http.Handler // of apps and events; of reports
	requests       int          // to the service
	classA, classB int          // calls of the bucket, by how they are charged
}

func newCloud(t *testing.T, apps int, wait time.Duration) *cloud {
	t.Helper()
	c := &cloud{lists: account(t, 7, apps, wait)}
	c.numbers = c.lists
	c.service = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.count(&c.requests)
		c.mu.Lock()
		numbers := c.numbers
		c.mu.Unlock()
		if !strings.HasSuffix(r.URL.Path, "csv_report") {
			numbers = c.lists
		}
		numbers.ServeHTTP(w, r)
	}))
	t.Cleanup(c.service.Close)

	var err error
	c.warehouse, err = bqtest.New(bqtest.Options{Datasets: []string{"my-project.reportferry"}, Location: "EU",
		JobTime: wait})
	check(t, err)
	t.Cleanup(func() { check(t, c.warehouse.Close()) })
	c.endpoint, err = c.warehouse.Listen()
	check(t, err)

	listener := httptest.NewUnstartedServer(nil)
	c.bucket = listener.Listener.Addr().String()
	store, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, Scheme: "http", PublicHost: c.bucket, ExternalURL: "http://" + c.bucket, Writer: io.Discard,
	})
	check(t, err)
	store.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "my-project-reportferry"})
	listener.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// https://cloud.google.com/storage/pricing#operations-by-class: writing and listing are
		// class A, reading is class B, deleting is free.
		switch isList := strings.HasSuffix(r.URL.Path, "/o"); {
		case r.Method == http.MethodPost || r.Method == http.MethodPatch || r.Method == http.MethodGet && isList:
			c.count(&c.classA)
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			c.count(&c.classB)
		}
		store.HTTPHandler().ServeHTTP(w, r)
	})
	listener.Start()
	t.Cleanup(listener.Close)
	return c
}

func (c *cloud) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// A usage is what one run took.
type usage struct {
	requests, classA, classB, loads int
	wall, cpu                       time.Duration
}

// night runs the job as Cloud Run does: with the arguments and the environment of job.yaml, and
// more arguments.
func (c *cloud) night(t *testing.T, config string, more ...string) usage {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "config.yml"), []byte(config), 0o600))
	job := strict[run.Job](t, []byte(read(t, "cloudrun/job.yaml")))
	container := job.Spec.Template.Spec.Template.Spec.Containers[0]
	env := []string{
		"CLOUD_RUN_TASK_INDEX=0", "CLOUD_RUN_TASK_COUNT=1", "CLOUD_RUN_TASK_ATTEMPT=0",
		"CLOUD_RUN_EXECUTION=reportferry-abcde",
		"STORAGE_EMULATOR_HOST=" + c.bucket, "TMPDIR=" + dir, "ADJUST_TOKEN=made-up",
	}
	for _, v := range container.Env {
		if v.ValueFrom == nil {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	c.mu.Lock()
	c.requests, c.classA, c.classB = 0, 0, 0
	c.mu.Unlock()
	c.warehouse.ForgetRequests()
	args := slices.Concat(container.Args, more, []string{"--config", "config.yml", "--log-format", "json"})
	cmd := program{dir: dir, env: env}.command(t, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("the night: %v\n%s", err, out.String())
	}
	u := usage{wall: time.Since(begin), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	c.mu.Lock()
	u.requests, u.classA, u.classB = c.requests, c.classA, c.classB
	c.mu.Unlock()
	for _, r := range c.warehouse.Requests() {
		if r.Call == "jobs.insert" && r.Status < 300 {
			u.loads++
		}
	}
	return u
}

// size is what BigQuery charges a table for: bytes by its columns' types
// (https://cloud.google.com/bigquery/pricing#data, "Data size calculation").
func (c *cloud) size(t *testing.T, table string) (rows, bytes int) {
	t.Helper()
	answer, err := http.Get(c.endpoint + "/bigquery/v2/projects/my-project/datasets/reportferry/tables/" +
		table) //nolint:noctx // a test's own server
	check(t, err)
	defer func() { check(t, answer.Body.Close()) }()
	var meta struct {
		Schema struct {
			Fields []struct{ Name, Type string }
		}
	}
	check(t, json.NewDecoder(answer.Body).Decode(&meta))
	all, err := c.warehouse.Rows("my-project.reportferry." + table)
	check(t, err)
	for _, row := range all {
		for i, f := range meta.Schema.Fields {
			switch {
			case f.Type == "STRING":
				bytes += 2 + len(row[i])
			case row[i] == "": // NULL
			case f.Type == "NUMERIC":
				bytes += 16
			default: // INTEGER, FLOAT, DATE
				bytes += 8
			}
		}
	}
	return len(all), bytes
}

// The cloud's config, as it stands in this folder, runs against a bucket and BigQuery: first all
// days (16, for the test), then nothing, because all is there. And then the most that a night takes
// of 20 apps, which the guide's costs are computed from: each day of the lookback is asked for
// again, and each has other numbers, so that each is loaded again.
func TestNight(t *testing.T) {
	const days = 16
	apps := 20
	if testing.Short() {
		apps = 2
	}
	c := newCloud(t, apps, *wait)
	text := read(t, "config.yml")
	for _, change := range [][2]string{
		{"https://automate.adjust.com", c.service.URL},
		{"location=EU", "location=EU&endpoint=" + c.endpoint},
		{"start: -60d", fmt.Sprintf("start: -%dd", days)},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("config.yml has no %s", change[0])
		}
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	first := c.night(t, text)
	rows, bytes := c.size(t, "campaigns_daily")
	weekRows, weekBytes := c.size(t, "networks_weekly")
	t.Logf("%d days: %+v; campaigns_daily %d rows, %d bytes; networks_weekly %d rows, %d bytes", days, first, rows,
		bytes, weekRows, weekBytes)
	if rows == 0 || weekRows == 0 || first.loads < days {
		t.Error("not all of it is there")
	}
	if again := c.night(t, text); again.requests != 0 || again.loads != 0 {
		t.Errorf("the same night again: %+v", again)
	}

	other := account(t, 8, apps, *wait)
	c.mu.Lock()
	c.numbers = other
	c.mu.Unlock()
	night := c.night(t, text, "--now")
	t.Logf("a night: %+v", night)
	if testing.Short() {
		return // the figures are those of 20 apps
	}
	// The grid of windows and the weeks lie otherwise each day: up to twice as many windows hold
	// the lookback.
	near := func(what string, got, want int) {
		t.Helper()
		if 2*got < want || got > 2*want {
			t.Errorf("%s: %d, and the costs are computed from %d", what, got, want)
		}
	}
	near("requests", night.requests, measured.requests)
	near("calls of class A", night.classA, measured.classA)
	near("calls of class B", night.classB, measured.classB)
	near("load jobs", night.loads, measured.loads)
	near("rows a day", rows/days, measured.rowsADay)
	near("bytes a day", (bytes+weekBytes)/days, measured.bytesADay)
}
