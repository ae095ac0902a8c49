package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What a night of 20 apps takes: TestNight measures it. The made-up account has about 30 rows a day
// and app in campaigns_daily. wall and cpu are of `-args -wait 5s`, on one machine with the service
// and the warehouse.
var measured = struct {
	requests, classA, classB, loads, rowsADay, bytesADay int
	wall, cpu                                            time.Duration
}{
	requests: 6, classA: 20, classB: 18, loads: 12, rowsADay: 555, bytesADay: 114703,
	wall: 41 * time.Second, cpu: 500 * time.Millisecond,
}

// List prices in USD of the cheapest regions, before what is free each month. The pages are stored
// copies without a date, read in November 2026; look at them before you count on them.
const (
	vCPUSecond  = 0.000018 // jobs; https://cloud.google.com/run/pricing, tier 1
	gibSecond   = 0.000002 // jobs; the same page. Confirmed at second hand only
	thousandA   = 0.005    // https://cloud.google.com/storage/pricing-examples, Standard in one region
	thousandB   = 0.0004   // the same page
	gbMonth     = 0.020    // the same page
	bigQueryGB  = 0.020    // a month, active logical storage; https://cloud.google.com/bigquery/pricing. Loads are free
	secretMonth = 0.06     // an active version; https://cloud.google.com/secret-manager/pricing
	tenthousand = 0.03     // accesses of secrets; the same page
	tickMonth   = 0.10     // a job of the scheduler; https://cloud.google.com/scheduler/pricing
	imageMonth  = 0.10     // a GB in Artifact Registry; https://cloud.google.com/artifact-registry/pricing
)

const (
	nights   = 365
	memory   = 1.0  // GiB, of job.yaml
	imageGB  = 0.07 // what the image may have at most
	ledgerGB = 0.01 // after a year; a record is a few hundred bytes
	minute   = 60.0 // Cloud Run is said to charge a task for a minute at least
	alerts   = 1.50 // a condition and month, announced; https://cloud.google.com/monitoring/alerts/cost-control
)

// costs is the guide's table: every line says how it was computed.
func costs() string {
	var b strings.Builder
	total := 0.0
	line := func(what string, usd float64, format string, args ...any) {
		total += usd
		fmt.Fprintf(&b, "| %s | %s | %.2f |\n", what, fmt.Sprintf(format, args...), usd)
	}
	fmt.Fprintf(&b, "| | a year | USD |\n|---|---|---|\n")
	line("requests to the service", 0, "%d a night × %d = %d", measured.requests, nights, measured.requests*nights)
	seconds := max(measured.wall.Seconds(), minute)
	line("Cloud Run, CPU", seconds*nights*vCPUSecond, "%.0f s × 1 vCPU × %d = %.0f vCPU-s × %.6f", seconds, nights,
		seconds*nights, vCPUSecond)
	line("Cloud Run, memory", seconds*memory*nights*gibSecond, "%.0f s × %.0f GiB × %d = %.0f GiB-s × %.6f", seconds,
		memory, nights, seconds*memory*nights, gibSecond)
	a, byB := float64(measured.classA*nights)/1000, float64(measured.classB*nights)/1000
	line("bucket, writing and listing", a*thousandA, "%d × %d = %d calls × %.3f / 1,000", measured.classA, nights,
		measured.classA*nights, thousandA)
	line("bucket, reading", byB*thousandB, "%d × %d = %d calls × %.4f / 1,000", measured.classB, nights,
		measured.classB*nights, thousandB)
	line("bucket, the ledger", ledgerGB*12*gbMonth, "%.2f GB × 12 × %.3f", ledgerGB, gbMonth)
	line("BigQuery, loads", 0, "%d × %d = %d load jobs, free", measured.loads, nights, measured.loads*nights)
	gb := float64(measured.bytesADay) * nights / 1e9
	line("BigQuery, the tables", gb*12*bigQueryGB, "%.1f kB × %d = %.3f GB × 12 × %.3f",
		float64(measured.bytesADay)/1e3, nights, gb, bigQueryGB)
	line("Secret Manager", 2*12*secretMonth+2*nights*tenthousand/1e4,
		"2 versions × 12 × %.2f, and %d accesses × %.2f / 10,000", secretMonth, 2*nights, tenthousand)
	line("Cloud Scheduler", 12*tickMonth, "1 job × 12 × %.2f", tickMonth)
	line("Artifact Registry", imageGB*12*imageMonth, "%.2f GB × 12 × %.2f", imageGB, imageMonth)
	fmt.Fprintf(&b, "| together | before what is free each month | %.2f |\n", total)
	return b.String()
}

func TestCostsOfTheGuide(t *testing.T) {
	page := read(t, "costs.md")
	if table := costs(); !strings.Contains(page, table) {
		t.Errorf("the guide's table isn't what these constants come to:\n%s", table)
	}
	for _, figure := range []string{
		fmt.Sprintf("%d rows", measured.rowsADay), fmt.Sprintf("%.1f s of CPU", measured.cpu.Seconds()),
		fmt.Sprintf("%.0f s", measured.wall.Seconds()),
		fmt.Sprintf("a hundred times as many, BigQuery's line is %.2f USD",
			100*float64(measured.bytesADay)*nights/1e9*12*bigQueryGB),
		fmt.Sprintf("2 × 12 × %.2f = %.0f USD", alerts, 2*12*alerts),
	} {
		if !strings.Contains(page, figure) {
			t.Errorf("the guide doesn't say %q", figure)
		}
	}
}
