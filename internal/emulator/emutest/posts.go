package emutest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

// PostCost posts parameters to /cost as a form, or in the query when form is false. headers are
// pairs of a name and a value. Any pair takes the place of the default Authorization; one with an
// empty value isn't sent.
func PostCost(s *emulator.Server, v url.Values, form bool, headers ...string) *httptest.ResponseRecorder {
	at, body := "/cost", io.Reader(strings.NewReader(v.Encode()))
	if !form {
		at, body = at+"?"+v.Encode(), nil
	}
	r := httptest.NewRequest(http.MethodPost, at, body)
	if form {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Authorization", "Bearer partner")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del("Authorization")
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Cost returns the parameters of a record of spend.
func Cost(typ, currency, amount, id, tag string) url.Values {
	return url.Values{"cost_type": {typ}, "cost_currency": {currency}, "cost_amount": {amount}, "cost_id": {id},
		"tag": {tag}}
}

// Engagements returns what the server's Engagements yields from from days ago to to days ago.
func Engagements(s *emulator.Server, now time.Time, from, to, perDay int) []emulator.Engagement {
	return slices.Collect(s.Engagements(now.AddDate(0, 0, -from), now.AddDate(0, 0, -to), perDay))
}

// Form encodes pairs of a name and a value, in their order.
func Form(pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
	}
	return strings.Join(out, "&")
}

// BenchmarkPosts posts b.N forms to a server, once without and once with a database file, and
// checks how many were taken. Each answer has a body of answer bytes; begin prepares a server for n
// forms, form makes the i-th of them, and taken counts those that the server took.
func BenchmarkPosts(b *testing.B, path string, answer int64, begin func(s *emulator.Server, n int),
	form func(i int) string, taken func() int) {
	const connections = 32
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%t", kept), func(b *testing.B) {
			o := emulator.Options{Now: AtNoon}
			if kept {
				o.DB = filepath.Join(b.TempDir(), "facts.db")
			}
			s := Open(b, o)
			l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			web := &http.Server{Handler: s}
			go func() { _ = web.Serve(l) }()
			defer func() { _ = web.Close() }()
			begin(s, b.N)
			before := cpuTime(b)
			b.ResetTimer()
			var wg sync.WaitGroup
			for n := range connections {
				wg.Go(func() {
					if err := postAll(l.Addr().String(), path, form, answer, n, connections, b.N); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			// The CPU time includes the client's.
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/record")
			b.StopTimer()
			if got := taken(); got != b.N {
				b.Errorf("%d taken, want %d", got, b.N)
			}
		})
	}
}

// cpuTime returns the CPU time that this process has used. It measures the speed even where other
// processes take the processors' time.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// postAll posts the forms first, first+step, ... below n on one connection. Each must be answered
// 200, with a body of answer bytes.
func postAll(addr, path string, form func(i int) string, answer int64, first, step, n int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for i := first; i < n; i += step {
		body := form(i)
		if _, err := fmt.Fprintf(conn,
			"POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Type: "+
				"application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", path, len(body),
			body); err != nil {
			return err
		}
		for line := ""; line != "\r\n"; {
			if line, err = in.ReadString('\n'); err != nil {
				return err
			}
			if strings.HasPrefix(line, "HTTP/1.1 ") && !strings.HasPrefix(line, "HTTP/1.1 200") {
				return fmt.Errorf("answer %q", line)
			}
		}
		if _, err := io.CopyN(io.Discard, in, answer); err != nil {
			return err
		}
	}
	return nil
}
