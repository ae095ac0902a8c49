// Package metrics gives what the ledger knows of tables as gauges for Prometheus. Without it a table that is late would be found
// by whoever misses its numbers, and not by an alert.
//
//	ledger ─ internal/console ─▶ collector ─▶ GET /metrics of serve
package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reportferry/reportferry/internal/console"
)

// scrapeTime is how long the ledger may take to answer a scrape.
const scrapeTime = 8 * time.Second

// A gauge is one number of each table.
type gauge struct {
	*prometheus.Desc
	of func(console.Seen, time.Time) (value float64, known bool)
}

// counted is a gauge that is known whenever the table is.
func counted(name, help string, of func(console.Seen) int) gauge {
	return gauge{desc(name, help), func(s console.Seen, _ time.Time) (float64, bool) {
		return float64(of(s)), s.Err == nil && s.Look != nil
	}}
}

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("reportferry_"+name, help, []string{"job_name"}, nil) // not job, which Prometheus gives to what it scrapes
}

var gauges = []gauge{
	{desc("table_readable", "1 when the ledger's records of the table can be read, else 0."), func(s console.Seen, _ time.Time) (float64, bool) {
		if s.Err != nil {
			return 0, true
		}
		return 1, true
	}},
	{desc("table_freshness_seconds", "Time since the end of the newest period that was fetched after its end."), func(s console.Seen, now time.Time) (float64, bool) {
		return max(0, now.Sub(s.Newest).Seconds()), !s.Newest.IsZero() // a snapshot is taken before its day ends
	}},
	{desc("job_last_success_timestamp_seconds", "When the job last ended a run without a failure."), func(s console.Seen, _ time.Time) (float64, bool) {
		return float64(s.Success.Unix()), !s.Success.IsZero()
	}},
	counted("table_missing_partitions", "Partitions that a fetch would bring by now.", func(s console.Seen) int { return s.Found.Missing() }),
	counted("table_due_partitions", "Partitions that a run would fetch now.", func(s console.Seen) int { return len(s.Found.Due) }),
	counted("table_unreconciled_partitions", "Partitions whose rows differ from the service's totals.", func(s console.Seen) int { return s.Found.Standing.Unreconciled }),
	counted("table_changed_after_final_partitions", "Partitions whose numbers changed after they had been final.", func(s console.Seen) int {
		return s.Found.Standing.Moved + s.Found.Standing.Left
	}),
}

// A collector reads the ledger at each scrape, as the pages do.
type collector struct{ console *console.Console }

// Describe names the gauges.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, g := range gauges {
		to <- g.Desc
	}
}

// Collect gives each gauge of each job that has it.
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	now := time.Now()
	for _, s := range c.console.See(ctx) {
		for _, g := range gauges {
			if value, known := g.of(s, now); known {
				to <- prometheus.MustNewConstMetric(g.Desc, prometheus.GaugeValue, value, s.Name)
			}
		}
	}
}

// Handler answers scrapes with what a console knows.
func Handler(c *console.Console) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{c})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
