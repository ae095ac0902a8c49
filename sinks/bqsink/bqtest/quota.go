package bqtest

import (
	"strings"
	"time"
)

// A loadEvent is what a load job, or a change of a table's definition, takes from the quotas.
type loadEvent struct {
	at         int64 // ms since 1970
	project    string
	load       bool // the event is a load job
	partitions int  // how many partitions were modified; 0 for a failed job
	metadata   bool // the event is a change of the table's definition
}

// loadHistory holds the events of each table. Events older than a day are dropped.
type loadHistory map[string][]loadEvent

// The times over which daily quotas and rate limits count, and the reasons with which they refuse.
const (
	day         = 24 * time.Hour
	rateSpan    = 10 * time.Second
	rateReason  = "rateLimitExceeded"
	quotaReason = "quotaExceeded"
)

// add adds an event, and drops the table's old ones.
func (h loadHistory) add(table string, e loadEvent) {
	events := h[table]
	for len(events) > 0 && events[0].at < e.at-day.Milliseconds() {
		events = events[1:]
	}
	h[table] = append(events, e)
}

// sum adds up a number over the events of a table since a time.
func (h loadHistory) sum(table string, since int64, of func(loadEvent) int) int {
	n := 0
	for _, e := range h[table] {
		if e.at > since {
			n += of(e)
		}
	}
	return n
}

// oneLoad returns 1 for a load job, for sum to count them.
func oneLoad(e loadEvent) int {
	if e.load {
		return 1
	}
	return 0
}

// countLoad counts a load job. A failed one counts as a load that modified no partition.
// https://cloud.google.com/bigquery/quotas#load_jobs
func (s *Server) countLoad(j *job, partitions int) {
	dst := *j.Config.Load.DestinationTable
	dst.TableId, _, _ = splitDecorator(dst.TableId)
	s.loads.add(tableKey(&dst), loadEvent{at: j.Ends, project: dst.ProjectId, load: true, partitions: partitions})
}

// checkQuotas checks a load job against the quotas of its table and project when it ends. Rate
// limits and daily quotas have different reasons.
// https://cloud.google.com/bigquery/docs/troubleshoot-quotas
func (s *Server) checkQuotas(l *loadRun) []*refusal {
	at, key := l.job.Ends, tableKey(l.dst)
	today := at - day.Milliseconds()
	if most, ok := limit(s.quotas.LoadsPerTable, 1500); ok && s.loads.sum(key, today, oneLoad) >= most {
		return []*refusal{refuse(quotaReason, "Quota exceeded: Your table exceeded quota for imports or query "+
			"appends per table. Table %s has had %d load jobs in 24 hours", legacyName(l.dst), most)}
	}
	if most, ok := limit(s.quotas.LoadsPerProject, 100000); ok {
		n := 0
		for table := range s.loads {
			if strings.HasPrefix(table, l.dst.ProjectId+".") {
				n += s.loads.sum(table, today, oneLoad)
			}
		}
		if n >= most {
			return []*refusal{refuse(quotaReason,
				"Quota exceeded: Your project exceeded quota for imports per project. Project %s has had %d load "+
					"jobs in 24 hours", l.dst.ProjectId, most)}
		}
	}
	if l.table == nil || l.table.partitioned() == nil {
		return nil
	}
	if most, ok := limit(s.quotas.PartitionModifications, 30000); ok {
		if n := s.loads.sum(key, today, func(e loadEvent) int { return e.partitions }); n >= most {
			return []*refusal{refuse(quotaReason,
				"Quota exceeded: Your table exceeded quota for Number of partition modifications to a column "+
					"partitioned table. Table %s has had %d in 24 hours", legacyName(l.dst), n)}
		}
	}
	if most, ok := limit(s.quotas.Commits, 50); ok {
		recent := s.loads.sum(key, at-rateSpan.Milliseconds(), func(e loadEvent) int { return min(e.partitions, 1) })
		if recent >= most {
			return []*refusal{refuse(rateReason, "Exceeded rate limits: too many partitioned table update "+
				"operations for this table %s: %d in 10 seconds. For more information, see "+
				"https://cloud.google.com/bigquery/docs/troubleshoot-quotas", legacyName(l.dst), recent)}
		}
	}
	return nil
}

// countMetadataUpdate counts a patch of a table, or refuses it when there were too many in ten
// seconds.
func (s *Server) countMetadataUpdate(key string) *refusal {
	at := s.now().UnixMilli()
	recent := s.loads.sum(key, at-rateSpan.Milliseconds(), func(e loadEvent) int {
		if e.metadata {
			return 1
		}
		return 0
	})
	if most, ok := limit(s.quotas.MetadataUpdates, 5); ok && recent >= most {
		return refuse(rateReason, "Exceeded rate limits: too many table update operations for this table. For more "+
			"information, see https://cloud.google.com/bigquery/docs/troubleshoot-quotas")
	}
	s.loads.add(key, loadEvent{at: at, metadata: true})
	return nil
}
