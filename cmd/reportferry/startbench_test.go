package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const startConfig = `
service: {base_url: "http://%s", token: "${TEST_TOKEN}"}
ledger: file://%s/ledger
spool_dir: %s/spool
jobs:
  - name: installs
    kind: report
    sinks: [file://%s/out]
    start: -1d
    lookback: 0
    currency: USD
    dimensions: [day, app_token, campaign]
    metrics: [installs, cost, all_revenue, retained_users_d7]
`

// BenchmarkStart gives the time from the start of a process to the first byte that reaches the
// service: what a user waits before anything is asked, and what every tick of a cron pays. The
// median, since one late tick says nothing. The process is killed then, so each has a folder of its
// own.
func BenchmarkStart(b *testing.B) {
	for _, args := range [][]string{{"run", "--now"}, {"report", "--dimensions", "day", "--metrics", "installs"}} {
		b.Run(args[0], func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			check(b, err)
			defer func() { check(b, l.Close()) }()
			var took []time.Duration
			for b.Loop() {
				took = append(took, firstByte(b, l.(*net.TCPListener), args))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/first-byte")
			b.ReportMetric(0, "ns/op") // it would count the folders too
		})
	}
}

func firstByte(b *testing.B, l *net.TCPListener, args []string) time.Duration {
	dir := b.TempDir()
	text := fmt.Sprintf(startConfig, l.Addr(), dir, dir, dir)
	check(b, os.WriteFile(filepath.Join(dir, "reportferry.yml"), []byte(text), 0o600))
	p := &place{t: b, dir: dir, token: "start"}
	cmd, out := p.command(b.Context(), args...)
	check(b, l.SetDeadline(time.Now().Add(10*time.Second)))
	began := time.Now()
	check(b, cmd.Start())
	defer func() {
		check(b, cmd.Process.Kill())
		_ = cmd.Wait() // killed
	}()
	conn, err := l.Accept()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	defer func() { check(b, conn.Close()) }()
	_, err = conn.Read(make([]byte, 1))
	took := time.Since(began)
	check(b, err)
	return took
}
