package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// publishTime is how long the pages may take after a run. Cloud Run and cron wait for them.
const publishTime = 2 * time.Minute

// pagesClaim is the claim in the ledger under which one run at a time writes pages, of a table that there isn't. Two at once would
// each list files as the other has not left them.
const pagesTable, pagesClaim = "_console", "pages"

// Publish writes the pages to the place that the config names, if it names one. A run that was stopped leaves them to the next one,
// because it must end in seconds.
func Publish(ctx context.Context, s *wire.Session) (err error) {
	if s.Config.Export == "" || ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	claim, err := turn(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Release(context.WithoutCancel(ctx))) }()
	c, err := Of(s)
	if err != nil {
		return err
	}
	b, err := blobsink.OpenBucket(ctx, s.Config.Export)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	_, err = c.Export(ctx, b)
	return err
}

// turn waits until no other run writes pages.
func turn(ctx context.Context, s *wire.Session) (*ledger.Claim, error) {
	for {
		claim, err := s.Ledger.Claim(ctx, pagesTable, pagesClaim, s.RunID, s.Config.Lease)
		var held *ledger.HeldError
		if !errors.As(err, &held) {
			return claim, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("export: %w", held)
		case <-time.After(time.Second):
		}
	}
}
