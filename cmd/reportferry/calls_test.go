//go:build servers

package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A toll stands between the program and a server with a bucket, which doesn't know of it. It counts the calls by kind, and each
// costs time, as it does over a network.
type toll struct {
	url   string
	takes time.Duration

	mu    sync.Mutex
	calls map[string]int
}

func newToll(t testing.TB, server string, takes time.Duration) *toll {
	to, err := url.Parse("http://" + server)
	check(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the signature is over it
	}, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	c := &toll{takes: takes, calls: map[string]int{}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.calls[kindOf(r)]++
		c.mu.Unlock()
		time.Sleep(c.takes)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	c.url = front.URL
	return c
}

// kindOf names a call as S3's documentation does.
func kindOf(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"):
		return "ListObjectsV2"
	case r.Method == http.MethodPost && q.Has("delete"):
		return "DeleteObjects"
	case r.Method == http.MethodPost || q.Has("uploadId"):
		return "multipart"
	}
	return map[string]string{http.MethodGet: "GetObject", http.MethodHead: "HeadObject", http.MethodPut: "PutObject", http.MethodDelete: "DeleteObject"}[r.Method]
}

// since gives the calls since it was asked last, and how many they are together.
func (c *toll) since() (said string, sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(c.calls)) {
		said += fmt.Sprintf(" %s %d", kind, c.calls[kind])
		sum += c.calls[kind]
	}
	clear(c.calls)
	return said, sum
}

// bucketPlace is a place whose ledger and sink are in the server's bucket, beyond the toll.
func bucketPlace(t testing.TB, s *service, c *toll, days int) *place {
	p := newPlace(t, s, days, 0, living)
	name := filepath.Join(p.dir, "reportferry.yml")
	text, err := os.ReadFile(name)
	check(t, err)
	at := "s3://bkt/calls-" + strings.ReplaceAll(strings.TrimPrefix(p.dir, os.TempDir()), "/", "-")
	query := "?" + url.Values{"endpoint": {c.url}, "use_path_style": {"true"}, "region": {"us-east-1"}}.Encode()
	for from, to := range map[string]string{
		", in_flight: 0": "", "file://" + p.dir + "/ledger": at + "/ledger" + query, "file://" + p.dir + "/out": at + "/out" + query,
		"page: 2d\n    lookback: 0": "schedule: \"0 5 * * *\"\n    page: 7d\n    lookback: 7",
	} {
		text = []byte(strings.ReplaceAll(string(text), from, to))
	}
	check(t, os.WriteFile(name, text, 0o600))
	return p
}

// What a first load and the nights after it cost in calls of a bucket, each of which is paid for in money and time.
func TestBucketCalls(t *testing.T) {
	c := newToll(t, os.Getenv("SERVERS_S3"), 0)
	p := bucketPlace(t, startService(t, "--apps", "3"), c, 60)
	for _, step := range []struct {
		name string
		args []string
		most int
	}{
		{"a first load of 60 days", []string{"run"}, 206},
		{"a night where nothing is due", []string{"run"}, 15},
		{"a night with a lookback of 7 days", []string{"run", "--now"}, 106},
		{"another one", []string{"run", "--now"}, 106},
		{"a night where nothing is due after it", []string{"run"}, 20},
	} {
		began := time.Now()
		if out, code := p.run(step.args...); code != 0 {
			t.Fatalf("%s: exit %d\n%s", step.name, code, out)
		}
		took := time.Since(began).Round(10 * time.Millisecond)
		said, sum := c.since()
		t.Logf("%-40s %4d in %v:%s", step.name, sum, took, said)
		if sum > step.most {
			t.Errorf("%s takes %d calls, want %d at most", step.name, sum, step.most)
		}
	}
}

// What a year and ten years take where a call takes 30 ms.
func BenchmarkFirstLoad(b *testing.B) {
	s := startService(b, "--apps", "3", "--days", "3660")
	for _, days := range []int{365, 3650} {
		b.Run(fmt.Sprint(days), func(b *testing.B) {
			for b.Loop() {
				c := newToll(b, os.Getenv("SERVERS_S3"), 30*time.Millisecond)
				p := bucketPlace(b, s, c, days)
				cmd, out := p.command(b.Context(), "run")
				if err := cmd.Run(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				said, sum := c.since()
				b.ReportMetric(float64(sum), "calls/op")
				b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s/op")
				b.Log(said)
			}
		})
	}
}
