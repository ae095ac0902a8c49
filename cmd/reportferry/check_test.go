package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// check tries every step of a run before there is one, names what it tried, and goes on after a
// step that failed.
func TestCheckTriesEachStep(t *testing.T) {
	slow.Test(t)
	s := startService(t, "--apps", "2", "--days", "30", "--token", "secret-token-of-the-test")
	warehouse, err := bqtest.New(bqtest.Options{Datasets: []string{"proj.ds"}, Location: "EU"})
	check(t, err)
	t.Cleanup(func() { check(t, warehouse.Close()) })
	bigquery, err := warehouse.Listen()
	check(t, err)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<Error><Code>InvalidAccessKeyId</Code><Message>The key does not exist.</Message></Error>`)
	}))
	t.Cleanup(refuses.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "wrong")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	t.Setenv("PLAIN_BEAT", "http://beat.example/hidden")
	t.Setenv("PLAIN_HOOK", "http://hook.example/hidden?insecure=true")
	bucket := "s3://bkt/prefix?region=us-east-1&use_path_style=true&endpoint=" + refuses.URL
	out := func(p *place) string { return "file://" + p.dir + "/out" }
	for _, c := range []struct {
		name     string
		before   func(*place)
		code     int
		requests int // to the service, at most
		says     []string
	}{
		{"all is well", nil, 0, 2, []string{
			"config: ok, 1 job\n", "spool folder ", " free\n", "ledger file://",
			": ok, a probe was written, read and deleted\n",
			"service: ok, the token is good", "installs: ok, the service takes its 5 dimensions and 7 metrics\n",
			"sink file://", "installs in file://",
		}},
		{"a metric that isn't there", func(p *place) {
			p.edit(t, "metrics: [installs,",
				"types: {instals: int64}\n    metrics: [instals,")
		}, 2, 3, []string{
			"installs: failed: ", "the service refuses the metric instals", "did you mean installs?", "ledger file://",
			": ok",
		}},
		{"an event that isn't there", func(p *place) { p.edit(t, "name: Purchase", "name: Purchse") }, 1, 3, []string{
			"installs: failed: ", `near ones: purchase ("Purchase")`,
		}},
		{"a token that is refused", func(p *place) { p.token = "not-the-token" }, 5, 2, []string{
			"service: failed: ", "401", "ledger file://", "sink file://",
		}},
		{"the token isn't set", func(p *place) { p.edit(t, "TEST_TOKEN", "NO_SUCH_TOKEN") }, 2, 0, []string{
			"service: failed: ", "NO_SUCH_TOKEN", "sink file://",
		}},
		{"plain HTTP to other machines", func(p *place) {
			p.edit(t, out(p), "s3://bkt/prefix?region=us-east-1&endpoint=http://minio.example")
			p.edit(t, "lease: ", "heartbeat: ${PLAIN_BEAT}\nnotify: [{url: \"${PLAIN_HOOK}\"}]\nlease: ")
		}, 2, 3, []string{
			"heartbeat: failed: ", "notify 1: insecure=true: whoever is on the way can read",
			"installs: failed: refused: open bucket s3://bkt/prefix: http:// would send rows or secrets unencrypted",
			"service: ok",
		}},
		{"plain HTTP that is allowed", func(p *place) {
			p.edit(t, out(p), bucket+"&insecure=true")
		}, 5, 3, []string{"s3://bkt/prefix: insecure=true: whoever is on the way can read and change what goes there\n",
			"InvalidAccessKeyId"}},
		{"a sink that refuses the key", func(p *place) { p.edit(t, out(p), bucket) }, 5, 3, []string{
			"ledger file://", "sink s3://bkt/prefix: failed: ", "InvalidAccessKeyId", "service: ok",
		}},
		{"a ledger that refuses the key", func(p *place) { p.edit(t, "file://"+p.dir+"/ledger", bucket) }, 5, 3,
			[]string{
				"ledger s3://bkt/prefix: failed: ", "InvalidAccessKeyId", "service: ok", "sink file://",
			}},
		{"a dataset that takes no table", func(p *place) {
			warehouse.SetDenied("bigquery.tables.create")
			p.edit(t, out(p), `"bigquery://proj/ds?endpoint=`+bigquery+`"`)
		}, 5, 3, []string{"sink bigquery://proj/ds: failed: ", "roles/bigquery.dataEditor"}},
		{"a dataset elsewhere", func(p *place) {
			p.edit(t, out(p),
				`"bigquery://proj/ds?location=US&endpoint=`+bigquery+`"`)
		}, 1, 3, []string{
			"sink bigquery://proj/ds: failed: ", "is in EU",
		}},
		{"a dataset that is right", func(p *place) { p.edit(t, out(p), `"bigquery://proj/ds?endpoint=`+bigquery+`"`) },
			0, 3, []string{
				"sink bigquery://proj/ds: ok",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, s, 5, 1, living)
			warehouse.SetDenied()
			if c.before != nil {
				c.before(p)
			}
			before := len(s.requests(t))
			text, code := p.here("check")
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("it doesn't say %q", want)
				}
			}
			if n := len(s.requests(t)) - before; n > c.requests {
				t.Errorf("%d requests, want at most %d", n, c.requests)
			}
			if t.Failed() {
				t.Log(text)
			}
			for _, folder := range []string{"ledger", "out"} {
				left, err := filepath.Glob(filepath.Join(p.dir, folder, ".reportferry-probe*"))
				if check(t, err); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
			if left, _ := os.ReadDir(filepath.Join(p.dir, "spool")); len(left) > 0 {
				t.Errorf("left in the spool: %v", left)
			}
		})
	}
}

// A bucket that refuses the keys ends a run with 5 and the reason "denied", be it a sink's or the
// ledger's.
func TestABucketThatRefusesTheKeys(t *testing.T) {
	s := startService(t, "--apps", "1", "--days", "30", "--token", "secret-token-of-the-test")
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<Error><Code>SignatureDoesNotMatch</Code><Message>Check your key.</Message></Error>`)
	}))
	t.Cleanup(refuses.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "wrong")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	bucket := "s3://bkt/prefix?region=us-east-1&use_path_style=true&endpoint=" + refuses.URL
	for _, what := range []string{"ledger", "out"} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t, s, 5, 1, living)
			p.edit(t, "file://"+p.dir+"/"+what, bucket)
			text, code := p.here("run", "--log-format", "json")
			if code != 5 || !strings.Contains(text, `"reason":"denied"`) ||
				!strings.Contains(text, "AWS_SECRET_ACCESS_KEY") {
				t.Errorf("exit code %d, want 5: %s", code, text)
			}
		})
	}
}
