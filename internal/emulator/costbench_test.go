package emulator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkCost posts records over loopback, with next to no work on the client's side: requests are texts, answers of
// known length. What it takes is the emulator's.
func BenchmarkCost(b *testing.B) {
	var s *Server
	var list []Engagement
	benchmarkPosts(b, "/cost", int64(len("OK")), func(opened *Server, n int) {
		s, list = opened, engagements(opened, 6, 0, n/80+1)
	}, func(i int) string {
		return "cost_type=cpc&cost_currency=usd&cost_amount=0.25&cost_id=" + list[i%len(list)].CostID + "&tag=benchmark"
	}, func() int { return s.Spend().Statuses[http.StatusOK] })
}

// benchmarkPosts posts b.N forms to a server with and without a kept file, and sees how many were taken.
func benchmarkPosts(b *testing.B, path string, answer int64, begin func(s *Server, n int), form func(i int) string, taken func() int) {
	const connections = 32
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%t", kept), func(b *testing.B) {
			o := Options{Now: atNoon}
			if kept {
				o.DB = filepath.Join(b.TempDir(), "facts.db")
			}
			s := open(b, o)
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
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/record") // the client's too
			b.StopTimer()
			if got := taken(); got != b.N {
				b.Errorf("%d taken, want %d", got, b.N)
			}
		})
	}
}

// cpuTime is what this process used: it tells the speed where others take the processors' time.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// postAll posts the forms first, first+step, ... below n on one connection. All are answered 200 with so many bytes.
func postAll(addr, path string, form func(i int) string, answer int64, first, step, n int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for i := first; i < n; i += step {
		body := form(i)
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body); err != nil {
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
