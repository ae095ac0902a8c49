package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const bulkConfig = `
service: {base_url: %s, token: "${TEST_TOKEN}"}
ledger: file://%s/ledger
spool_dir: %s/spool
jobs:
  - name: bulk
    kind: report
    sinks: [file://%s/out]
    start: "%s"
    currency: USD
    reconcile: 'off' # made-up rows have no totals
    dimensions: [day, app, app_token, partner_name, campaign, network, country_code, os_name]
    metrics: [installs, clicks, impressions, sessions, reattributions, cost, revenue, ad_revenue, ecpi_all]
`

// BenchmarkMemory runs the program over windows of seven days, 200 MB and 2 GB of CSV each, and
// reports the peak of its resident memory and its throughput. One window at a time, and four, which
// is the default of in_flight.
func BenchmarkMemory(b *testing.B) {
	const bytesPerRow = 174 // of the emulator's bulk rows under these columns
	for _, size := range []int64{200e6, 2e9} {
		for _, windows := range []int{1, 4} {
			b.Run(fmt.Sprintf("window=%dMB/windows=%d", size/1e6, windows), func(b *testing.B) {
				s := startService(b, "--bulk", strconv.FormatInt(size/bytesPerRow, 10), "--days", "400")
				for b.Loop() {
					dir := b.TempDir()
					end := time.Now().UTC().AddDate(0, 0, -7)
					for end.Weekday() != time.Sunday { // whole cells of the grid
						end = end.AddDate(0, 0, -1)
					}
					start := end.AddDate(0, 0, -7*windows)
					text := fmt.Sprintf(bulkConfig, s.url, dir, dir, dir, start.Format(time.DateOnly))
					check(b, os.WriteFile(filepath.Join(dir, "reportferry.yml"), []byte(text), 0o600))
					p := &place{t: b, dir: dir, token: "bulk", service: s}
					cmd, out := p.command(b.Context(), "backfill", "bulk", "--from", start.Format(time.DateOnly),
						"--to", end.AddDate(0, 0, -1).Format(time.DateOnly))
					began := time.Now()
					if err := cmd.Run(); err != nil {
						b.Fatalf("%v: %s", err, out)
					}
					usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
					b.ReportMetric(float64(usage.Maxrss)/1024, "MiB-peak")
					b.ReportMetric(float64(size)*float64(windows)/1e6/time.Since(began).Seconds(), "MB/s")
					for line := range strings.Lines(out.String()) {
						if strings.Contains(line, "CSV in") {
							b.Log(strings.TrimSpace(line))
						}
					}
				}
			})
		}
	}
}
