package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

const spendBenchConfig = `
service: {base_url: %s, cost_url: %s, token: "${TEST_TOKEN}", spend: {token: "${TEST_KEY}"}}
ledger: file://%s/ledger
spool_dir: %s/spool
jobs:
  - name: nightly_spend
    kind: spend
    source: file://%s/in/*
    columns: {cost_amount: spend, engaged_at: time}
    constants: {cost_type: cpi, cost_currency: USD}
    rejects: file://%s/rejects
    wait_until_quiet: false
    rate: %d
    in_flight: %d
`

func newSpendBench(b *testing.B, s *service, rate, inFlight int) *place {
	b.Helper()
	dir := b.TempDir()
	text := fmt.Sprintf(spendBenchConfig, s.url, s.url, dir, dir, dir, dir, rate, inFlight)
	check(b, os.WriteFile(filepath.Join(dir, "reportferry.yml"), []byte(text), 0o600))
	check(b, os.Mkdir(filepath.Join(dir, "in"), 0o755))
	return &place{t: b, dir: dir, token: "token", env: []string{"TEST_KEY=" + spendKey}, service: s}
}

// BenchmarkSpend pushes files of spend with the program as it is, checkpoints on disk, and the
// emulator in a process of its own on the same cores: at a rate, as fast as it goes, and beside 30
// million records that were pushed before.
func BenchmarkSpend(b *testing.B) {
	b.Run("rate=500/latency=50ms", func(b *testing.B) {
		perSecond := benchmarkPush(b, 10_000, 500, 64, "--latency", "50ms")
		if perSecond < 475 || perSecond > 525 {
			b.Errorf("%.0f records/s are not within 5 %% of 500", perSecond)
		}
	})
	b.Run("unlimited", func(b *testing.B) { benchmarkPush(b, 300_000, 1_000_000, 32) })
	// What takes memory is the number of rows, or the length of one. Five gigabytes are sixty
	// million short rows, which are only read and judged here, or five million long ones, which are
	// pushed.
	b.Run("5GB/check", func(b *testing.B) { benchmarkLarge(b, 5_000_000_000, 0, "check") })
	b.Run("5GB/push", func(b *testing.B) { benchmarkLarge(b, 5_000_000_000, 900, "push") })
}

// benchmarkPush pushes a file of so many records, and gives records a second over the program's
// whole life.
func benchmarkPush(b *testing.B, records, rate, inFlight int, args ...string) (perSecond float64) {
	const apps = 10
	account, err := emulator.New(emutest.With(emulator.Options{Seed: 7, Apps: apps, Days: 10}))
	check(b, err)
	defer account.Close() //nolint:errcheck // it was only asked for a list
	for b.Loop() {
		s := startService(b, append([]string{"--apps", strconv.Itoa(apps), "--days", "10"}, args...)...)
		p := newSpendBench(b, s, rate, inFlight)
		f, err := os.Create(filepath.Join(p.dir, "in", "tonight.csv"))
		check(b, err)
		w := bufio.NewWriter(f)
		fmt.Fprintln(w, "cost_id,spend,tag,time")
		left, now := records, time.Now()
		for e := range account.Engagements(now.AddDate(0, 0, -5), now.AddDate(0, 0, -1), records/apps/4) {
			if left--; left < 0 {
				break
			}
			fmt.Fprintf(w, "%s,%d.%05d,nightly,%s\n", e.CostID, left%9, left%100_000, e.Time.Format(time.RFC3339))
		}
		check(b, w.Flush())
		check(b, f.Close())
		served := s.cpu()
		took, own, peak := p.measure(b, "run")
		if got := s.books(b); got.States["matched"] != records || got.Duplicates > 0 {
			b.Fatalf("the service has %+v, want %d records", got, records)
		}
		perSecond = float64(records) / took.Seconds()
		b.ReportMetric(perSecond, "records/s")
		b.ReportMetric(float64(own.Microseconds())/float64(records), "own-CPU-µs/record")
		b.ReportMetric(float64((s.cpu()-served).Microseconds())/float64(records), "emulator-CPU-µs/record")
		b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	}
	b.ReportMetric(0, "ns/op")
	return perSecond
}

// benchmarkLarge works on a file of so many bytes when 30 million records were pushed before. pad
// is the length of a column that isn't looked at.
func benchmarkLarge(b *testing.B, bytes int64, pad int, command string) {
	const prior = 30_000_000
	var taken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		taken.Add(1)
		_, _ = w.Write([]byte("OK"))
	}))
	b.Cleanup(server.Close)
	p := newSpendBench(b, &service{url: server.URL}, 1_000_000, 32)
	out, err := exec.CommandContext(b.Context(), "go", "test", "../../jobs/outbox", "-run", "History", "-count", "1",
		"-args", "-history", filepath.Join(p.dir, "ledger"), "-prior", strconv.Itoa(prior)).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	path := filepath.Join(p.dir, "in", "tonight.csv")
	rows := writeLarge(b, path, bytes, strings.Repeat("x", pad))
	for b.Loop() {
		check(b, os.RemoveAll(filepath.Join(p.dir, "spool")))
		took, own, peak := p.measure(b, "spend", command)
		if command == "push" && taken.Load() != rows {
			b.Fatalf("%d records were taken of %d", taken.Load(), rows)
		}
		b.ReportMetric(float64(rows), "rows")
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
		b.ReportMetric(own.Seconds(), "own-CPU-s")
		b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
		if peak > 150<<20 {
			b.Errorf("%d MiB at most; want 150", peak>>20)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func writeLarge(b *testing.B, path string, bytes int64, pad string) (rows int64) {
	f, err := os.Create(path)
	check(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	_, err = w.WriteString("cost_id,spend,tag,time,note\n")
	// Written by hand: sixty million calls of Fprintf would take longer than what is measured.
	const digits = len("00000000000000")
	head, tail := []byte("0.25,nightly-2026-01-31,"),
		[]byte(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)+","+pad+"\n")
	line := slices.Concat([]byte("click-of-a-partner-"), make([]byte, digits), []byte(","), head, tail)
	id := line[len("click-of-a-partner-"):][:digits]
	for n := int64(0); n < bytes && err == nil; n += int64(len(line)) {
		rows++
		for i, left := digits-1, rows; i >= 0; i, left = i-1, left/10 {
			id[i] = byte('0' + left%10)
		}
		_, err = w.Write(line)
	}
	check(b, err)
	check(b, w.Flush())
	check(b, f.Close())
	return rows
}

// measure runs the program to its end, and gives how long it took, its processor time and its peak
// of memory, in bytes.
func (p *place) measure(b *testing.B, args ...string) (took, cpu time.Duration, peak int64) {
	b.Helper()
	cmd, out := p.command(b.Context(), args...)
	began := time.Now()
	check(b, cmd.Start())
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	for {
		select {
		case err := <-over:
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			return time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak
		case <-time.After(20 * time.Millisecond):
			peak = max(peak, peakMemory(cmd.Process.Pid))
		}
	}
}

// cpu is the processor time that the service has used so far; 0 where there is no /proc.
func (s *service) cpu() time.Duration {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	_, after, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
