package bqsink

import (
	"fmt"
	"maps"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// BigQuery's limits (https://cloud.google.com/bigquery/quotas, Load jobs, Standard tables and
// Partitioned tables). Failed jobs count too. The limit of 4,000 partitions a job is never reached,
// because a job here modifies one, and the limiter of jobs keeps below 50 modifications in 10 s.
const (
	MostPartitions    = 10_000  // of a table
	MostModifications = 30_000  // of a table's partitions in a day
	MostOperations    = 1_500   // of a table without partitions in a day
	MostLoads         = 100_000 // of a project in a day
)

// warnShare is the share of a quota from which a plan is worth a warning, because failed jobs
// and other programs use the quota too.
const warnShare = 0.8

// A Load is one load job of a plan.
type Load struct {
	Table     string
	Partition civil.Date // or sinks.Whole
}

// Quota compares a plan with a day's quotas. Warnings are sentences for people, sorted by table. A
// plan with more partitions than a table can have is an error. Quota sees the plan alone: neither
// what the tables hold nor what was loaded earlier today.
func Quota(plan []Load) (warnings []string, err error) {
	loads := map[string]int{}
	partitions := map[string]map[civil.Date]bool{}
	for _, l := range plan {
		loads[l.Table]++
		if partitions[l.Table] == nil {
			partitions[l.Table] = map[civil.Date]bool{}
		}
		partitions[l.Table][l.Partition] = true
	}
	for _, table := range slices.Sorted(maps.Keys(loads)) {
		if n := len(partitions[table]); n > MostPartitions {
			return nil, fmt.Errorf("plan %s: %d partitions, and BigQuery holds at most %d in a table; start later, "+
				"or use a longer "+
				"period than the day", table, n, MostPartitions)
		}
		most, what := MostModifications, "partition modifications of a table"
		if partitions[table][sinks.Whole] {
			most, what = MostOperations, "loads of a table without partitions"
		}
		warnings = appendWarning(warnings, table, loads[table], most, what)
	}
	return appendWarning(warnings, "the whole plan", len(plan), MostLoads, "load jobs of a project"), nil
}

// appendWarning adds a warning if n load jobs of a table, or of the whole plan, come near a quota
// of most a day, or exceed it. what names the quota.
func appendWarning(warnings []string, whose string, n, most int, what string) []string {
	switch {
	case n > most:
		return append(warnings, fmt.Sprintf("%s: %d load jobs, and BigQuery allows %d %s in a day: it takes %d "+
			"days; the rest waits, or fails "+
			"with quotaExceeded and is done by later runs", whose, n, most, what, (n+most-1)/most))
	case float64(n) >= warnShare*float64(most):
		return append(warnings, fmt.Sprintf("%s: %d load jobs, and BigQuery allows %d %s in a day; jobs that fail "+
			"count too",
			whose, n, most, what))
	}
	return warnings
}
