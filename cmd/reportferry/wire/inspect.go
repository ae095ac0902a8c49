package wire

import (
	"context"
	"errors"
	"time"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Inspect holds what the ledger has of a job's table against the config, and opens no sink. It also gives what a run would fetch
// now. The job's kind must be one that has partitions.
func (s *Session) Inspect(ctx context.Context, c config.Job, past ledger.Past) (in refresh.Inspection, due []refresh.Due, err error) {
	reader := s.Session("")
	reader.ReadOnly = true
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
	in, err = plan.Inspect(ctx, past)
	return in, due, err
}
