package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// publishTime is how long writing the pages after a run may take. Cloud Run and cron wait for it.
const publishTime = 2 * time.Minute

// pagesTable names a table that doesn't exist. Its lease lets one run at a time write pages: of two
// at once, each would go by a list of files that the other one then changes.
const pagesTable = "_console"

// Publish writes the pages to the place that the config names, if it names one. A run that was
// stopped leaves the pages to the next run, because it must end within seconds.
func Publish(ctx context.Context, s *wire.RunInfo) (err error) {
	if s.Config.Export == "" {
		return nil
	}
	to := sinks.Redact(s.Config.Export)
	if ctx.Err() != nil {
		s.Log.Info("the console's pages are left to the next run, because this one must end", "export", to)
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("export to %s: %w", to, err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	lease, err := leasePages(ctx, s.Session)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.End(ctx)) }()
	c, err := Of(s.Session)
	if err != nil {
		return err
	}
	b, err := bucket.Open(ctx, s.Config.Export)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	_, err = c.Export(ctx, b)
	return err
}

// leasePages waits until no other run writes pages, and returns the lease.
func leasePages(ctx context.Context, s *wire.Session) (*ledger.Lease, error) {
	t, err := s.Ledger.Table(ctx, pagesTable)
	if err != nil {
		return nil, err
	}
	for {
		lease, err := t.Begin(ctx, s.RunID, []civil.Date{sinks.Whole})
		var held *ledger.HeldError
		if !errors.As(err, &held) {
			return lease, err
		}
		if !bucket.Sleep(ctx, time.Second) {
			return nil, held
		}
	}
}
