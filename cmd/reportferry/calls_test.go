//go:build servers

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// A toll stands between the program and a server with a bucket, which doesn't know of it. It counts
// the calls by kind, and each costs time, as it does over a network.
type toll struct {
	url   string
	takes time.Duration

	mu    sync.Mutex
	calls map[string]int
	sink  int // of calls about what lies in the sink
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
		c.calls[callOf(r)]++
		if strings.Contains(r.URL.Path+r.URL.Query().Get("prefix"), "/out/") {
			c.sink++
		}
		c.mu.Unlock()
		time.Sleep(c.takes)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	c.url = front.URL
	return c
}

// callOf names a call as S3's documentation does.
func callOf(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"):
		return "ListObjectsV2"
	case r.Method == http.MethodPost && q.Has("delete"):
		return "DeleteObjects"
	case r.Method == http.MethodPost || q.Has("uploadId"):
		return "multipart"
	}
	return map[string]string{http.MethodGet: "GetObject", http.MethodHead: "HeadObject", http.MethodPut: "PutObject",
		http.MethodDelete: "DeleteObject"}[r.Method]
}

// since gives the calls since it was asked last, and how many they are together.
func (c *toll) since() (said string, sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sink = 0
	return taken(c.calls)
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
		", in_flight: 0": "", "file://" + p.dir + "/ledger": at + "/ledger" + query,
		"file://" + p.dir + "/out":  at + "/out" + query,
		"page: 2d\n    lookback: 0": "schedule: \"0 5 * * *\"\n    page: 7d\n    lookback: 7",
	} {
		text = []byte(strings.ReplaceAll(string(text), from, to))
	}
	check(t, os.WriteFile(name, text, 0o600))
	return p
}

// What a first load and the nights after it cost in calls of a bucket, each of which is paid for in
// money and time. Where nothing is due the sink itself gets one, which lists the table.
func TestBucketCalls(t *testing.T) {
	c := newToll(t, os.Getenv("SERVERS_S3"), 0)
	s := startService(t, "--apps", "3")
	p := bucketPlace(t, s, c, 60)
	for _, step := range []struct {
		name string
		args []string
		most int
	}{
		{"a first load of 60 days", []string{"run"}, 106},
		{"a night where nothing is due", []string{"run"}, 7},
		{"a night with a lookback of 7 days", []string{"run", "--now"}, 19},
		{"another one", []string{"run", "--now"}, 20},
		{"one on which all of them have changed", []string{"run", "--now"}, 31},
		{"a night where nothing is due after it", []string{"run"}, 8},
	} {
		if strings.Contains(step.name, "changed") {
			for back := range 8 {
				day := civil.DateOf(time.Now().UTC()).AddDays(-back)
				s.admin(t, http.MethodPost, "restatements",
					[]map[string]any{{"day": day.String(), "metric": "cost", "factor": 0.75}})
			}
		}
		began := time.Now()
		if out, code := p.run(step.args...); code != 0 {
			t.Fatalf("%s: exit %d\n%s", step.name, code, out)
		}
		took, asked := time.Since(began).Round(10*time.Millisecond), c.sink
		said, sum := c.since()
		if strings.HasPrefix(step.name, "a night where nothing is due") && asked != 1 {
			t.Errorf("%s takes %d calls about the sink's table, want 1", step.name, asked)
		}
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

// What a Postgres is asked in statements: one query, in a transaction of its own, tells a night
// what there is.
func TestPostgresCalls(t *testing.T) {
	server := sinktest.StartPostgres(t)
	front := newTap(t, server.Addr)
	w := newShelf(t, server, front.addr, startService(t, "--apps", "3"), 60, living, "")
	w.asks(t, []int{1100, 3, 60, 3}, front.since)
}

// A tap stands between the program and a Postgres. It counts the messages by which a client has a
// statement done: Query and Execute
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).
type tap struct {
	addr string
	mu   sync.Mutex
	sent map[string]int
}

func newTap(t *testing.T, server string) *tap {
	w := &tap{sent: map[string]int{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	w.addr = l.Addr().String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(client, to); _ = client.Close() }()
			go func() { w.carry(to, bufio.NewReader(client)); _ = to.Close() }()
		}
	}()
	return w
}

// carry forwards messages: the first one is without a type, and the length of each counts itself.
func (w *tap) carry(to io.Writer, from *bufio.Reader) {
	head := make([]byte, 5)
	for start := 1; ; start = 0 {
		if _, err := io.ReadFull(from, head[start:]); err != nil {
			return
		}
		body := make([]byte, int(head[1])<<24|int(head[2])<<16|int(head[3])<<8|int(head[4])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		w.mu.Lock()
		switch text := string(body); {
		case start == 1:
		case head[0] == 'Q':
			w.sent[strings.ToLower(strings.Fields(strings.Trim(text, "\x00") + " ;")[0])]++
		case head[0] == 'E':
			w.sent["execute"]++
		}
		w.mu.Unlock()
		if _, err := to.Write(append(head[start:5:5], body...)); err != nil {
			return
		}
	}
}

func (w *tap) since() (said string, sum int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return taken(w.sent)
}
