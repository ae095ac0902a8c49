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
	"testing"
)

// BenchmarkCost posts records over loopback, with next to no work on the client's side: requests are texts, answers of
// known length. What it takes is the emulator's.
func BenchmarkCost(b *testing.B) {
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
			list := engagements(s, 6, 0, b.N/80+1)
			b.ResetTimer()
			var wg sync.WaitGroup
			for n := range connections {
				wg.Go(func() {
					if err := postAll(l.Addr().String(), list, n, connections, b.N); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			b.StopTimer()
			if got := s.Spend(); got.Statuses[http.StatusOK] != b.N {
				b.Errorf("%+v, want %d records", got.Statuses, b.N)
			}
		})
	}
}

// postAll posts the records first, first+step, ... below n on one connection.
func postAll(addr string, list []Engagement, first, step, n int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for i := first; i < n; i += step {
		body := "cost_type=cpc&cost_currency=usd&cost_amount=0.25&cost_id=" + list[i%len(list)].CostID + "&tag=benchmark"
		if _, err := fmt.Fprintf(conn, "POST /cost HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
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
		if _, err := io.CopyN(io.Discard, in, 2); err != nil { // OK
			return err
		}
	}
	return nil
}
