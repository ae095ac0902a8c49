package wire

import (
	"context"
	"errors"
	"time"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// askTime is how long the sinks of a table may take to say what they hold.
const askTime = 10 * time.Second

// InspectSinks is Inspect for people who wait for an answer: it asks the sinks what they hold. If
// they can't be asked, it logs a warning and returns what Inspect does.
func (s *Session) InspectSinks(ctx context.Context, c config.Job, past ledger.Past) (refresh.Inspection, error) {
	short, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	in, _, asked := s.inspect(short, c, past, false)
	if asked == nil {
		return in, nil
	}
	in, _, err := s.Inspect(ctx, c, past)
	if err == nil {
		s.Log.Warn("the sinks can't be asked what they hold, so that it isn't known what was deleted there since "+
			"the last run", "job", c.Name, "error", asked)
	}
	return in, err
}

// Inspect compares what the ledger has of a job's table with the config. It opens no sink, and
// takes what the last run saw in them. It also returns what a run would fetch now. The job's kind
// must be one that has partitions.
func (s *Session) Inspect(ctx context.Context, c config.Job, past ledger.Past) (in refresh.Inspection,
	due []refresh.Due, err error) {
	return s.inspect(ctx, c, past, true)
}

// inspect does the work of Inspect. If closed is true, the sinks stay closed; otherwise they are
// opened and asked what they hold.
func (s *Session) inspect(ctx context.Context, c config.Job, past ledger.Past, closed bool) (in refresh.Inspection,
	due []refresh.Due, err error) {
	reader := s.Session("")
	reader.ReadOnly = closed
	defer func() { err = errors.Join(err, reader.Close()) }()
	job, err := reader.Job(ctx, c, Ask{})
	if err != nil {
		return in, nil, err
	}
	plan, err := job.Kind.Plan(ctx, time.Now())
	if err != nil {
		return in, nil, err
	}
	for _, u := range plan.Units {
		due = append(due, u.Due...)
	}
	in, err = plan.Table.Inspect(ctx, past)
	return in, due, err
}
