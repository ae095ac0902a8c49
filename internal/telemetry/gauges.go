package telemetry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/status"
)

const (
	// mostJobs is how many jobs have series of their own. Collectors are often paid by the series,
	// so their number stops growing here, even if a config has more jobs.
	mostJobs = 1000
	// mostSeries is how many series one gauge may have: outbox.records has one for each state of
	// each job.
	mostSeries = 10 * mostJobs
)

// A gauge is a number that is reported for each table.
type gauge struct {
	name, unit, means string
	// value returns the number of a table; it isn't reported where known is false.
	value func(s console.JobStatus, now time.Time) (value float64, known bool)
}

// partitionGauge returns a gauge of partitions, whose value is known whenever the table can be
// inspected.
func partitionGauge(name, means string, count func(console.JobStatus) int) gauge {
	return gauge{name, "{partition}", means, func(s console.JobStatus, _ time.Time) (float64, bool) {
		return float64(count(s)), s.Err == nil && s.Inspect != nil
	}}
}

// tableGauges lists the gauges that are reported for each table.
var tableGauges = []gauge{
	{"table.readable", "", "1 when the ledger's records of the table can be read, else 0.",
		func(s console.JobStatus, _ time.Time) (float64, bool) {
			if s.Err != nil {
				return 0, true
			}
			return 1, true
		}},
	{"table.freshness", "s", "Time since the end of the newest period that was fetched after its end.",
		func(s console.JobStatus, now time.Time) (float64, bool) {
			return max(0, now.Sub(s.Newest).Seconds()), !s.Newest.IsZero() // a snapshot is taken before its day ends
		}},
	{"job.last_success.timestamp", "s", "When the job last ended a run without a failure, in seconds since 1970.",
		func(s console.JobStatus, _ time.Time) (float64, bool) {
			return float64(s.Success.Unix()), !s.Success.IsZero()
		}},
	partitionGauge("table.missing_partitions", "Partitions that a fetch would bring by now.",
		func(s console.JobStatus) int { return s.State.Missing() }),
	partitionGauge("table.due_partitions", "Partitions that a run would fetch now.",
		func(s console.JobStatus) int { return len(s.State.Due) }),
	partitionGauge("table.wrong_partitions", "Partitions that something is wrong with, as the command status says it.",
		func(s console.JobStatus) int { return status.Wrong(s.State.Problems) }),
	partitionGauge("table.unreconciled_partitions", "Partitions whose rows differ from the service's totals.",
		func(s console.JobStatus) int { return status.Count(s.State.Problems, status.Differing...) }),
	partitionGauge("table.held_back_partitions",
		"Partitions of which the newest answer isn't published, because it takes good rows away.",
		func(s console.JobStatus) int { return status.Count(s.State.Problems, status.HeldBack...) }),
	partitionGauge("table.changed_after_final_partitions",
		"Partitions whose numbers changed after they had been final.",
		func(s console.JobStatus) int { return status.Count(s.State.Problems, status.Moved...) }),
	{"table.leased_partitions", "{partition}", "Due partitions of the table that a run has leased now.",
		func(s console.JobStatus, _ time.Time) (float64, bool) {
			return float64(s.State.Held), s.Err == nil && s.Inspect != nil
		}},
}

// recordStates lists the states of pushed records, and how to get the number of a file's records in
// each.
var recordStates = []struct {
	state string
	count func(outbox.File) int64
}{
	{"pending", func(f outbox.File) int64 { return f.Pending }},
	{"accepted", func(f outbox.File) int64 { return f.Accepted }},
	{"rejected", func(f outbox.File) int64 { return f.Rejected }},
	{"unknown", func(f outbox.File) int64 { return f.Unknown }},
	{"refused", func(f outbox.File) int64 { return f.Refused }},
	{"duplicate", func(f outbox.File) int64 { return f.Duplicates }},
	{"conflict", func(f outbox.File) int64 { return f.Conflicts }},
}

// Watch makes the gauges show what see finds in the ledger. see is called whenever metrics are
// read: by a scrape, at intervals, and at the end of the process, so that a short process reports
// them too.
func (t *Telemetry) Watch(see func(context.Context) []console.JobStatus) {
	if t != nil {
		t.see.Store(&see)
	}
}

// gauges registers the gauges. They report nothing before Watch is called.
func (t *Telemetry) gauges(meter metric.Meter) error {
	var all []metric.Observable
	var errs []error
	observable := func(name, unit, means string) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge("reportferry."+name, metric.WithUnit(unit),
			metric.WithDescription(means))
		all, errs = append(all, g), append(errs, err)
		return g
	}
	// The instruments.
	made := make([]metric.Float64ObservableGauge, len(tableGauges))
	for i, g := range tableGauges {
		made[i] = observable(g.name, g.unit, g.means)
	}
	records := observable("outbox.records", "{record}",
		"Records of the files that are pushed, by what became of them; of a file that changed, those of its latest "+
			"content.")
	unlisted := observable("jobs.unlisted", "{job}",
		"Jobs without numbers of their own, because there are more than a thousand.")
	// The callback that reports their values.
	_, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		see := t.see.Load()
		if see == nil {
			return nil
		}
		list, now := (*see)(ctx), time.Now()
		shown := mostTroubled(list)
		o.ObserveFloat64(unlisted, float64(len(list)-len(shown)))
		for _, s := range shown {
			job := attribute.String("job.name", s.Name) // not "job", which Prometheus uses for the scraped target
			for i, g := range tableGauges {
				if value, known := g.value(s, now); known {
					o.ObserveFloat64(made[i], value, metric.WithAttributes(job))
				}
			}
			if s.Files == nil || s.Err != nil {
				continue
			}
			for _, state := range recordStates {
				o.ObserveFloat64(records, float64(sum(s.Pushed, state.count)),
					metric.WithAttributes(job, attribute.String("state", state.state)))
			}
		}
		return nil
	}, all...)
	return errors.Join(append(errs, err)...)
}

// mostTroubled returns the jobs that get series of their own: all of them or, if there are too
// many, those with the most trouble.
func mostTroubled(list []console.JobStatus) []console.JobStatus {
	if len(list) <= mostJobs {
		return list
	}
	trouble := func(s console.JobStatus) int {
		if s.Err != nil {
			return 1 << 30
		}
		if s.Inspect == nil {
			return 0
		}
		return status.Wrong(s.State.Problems) + status.Count(s.State.Problems, status.Moved...)
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b console.JobStatus) int {
		return cmp.Or(cmp.Compare(trouble(b), trouble(a)), a.Newest.Compare(b.Newest), cmp.Compare(a.Name, b.Name))
	})
	return list[:mostJobs]
}

// sum adds up a number of the files in their latest content. Earlier contents of a file don't
// count.
func sum(files []outbox.File, count func(outbox.File) int64) (n int64) {
	for _, f := range outbox.Latest(files) {
		n += count(f)
	}
	return n
}
