package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// runStatus is what status says of a job that fills no table. Where an older version wrote the ledger, runs alone tell when
// it last looked for what is due and failed at nothing, and so many runs of other jobs may lie between that all those of
// maxAge are read.
func runStatus(ctx context.Context, s *wire.Session, c config.Job, past ledger.Past, maxAge time.Duration) (tableStatus, error) {
	now, success := time.Now(), past.SuccessOf(c.Name)
	runs := past.Runs
	for n := len(runs); success == nil && n >= lastRuns && n == len(runs) && now.Sub(runs[n-1].Started) <= maxAge; {
		var err error
		n *= 4
		if runs, err = s.Ledger.Runs(ctx, n); err != nil {
			return tableStatus{}, err
		}
		success = ledger.Past{Runs: runs}.SuccessOf(c.Name)
	}
	status := tableStatus{Job: c.Name, Table: c.Table, Kind: c.Kind, Fresh: &refresh.Freshness{Success: success}, Failed: failureOf(c.Name, runs)}
	switch {
	case maxAge == 0:
	case success == nil:
		status.Stale = fmt.Sprintf("no run of it that ended without a failure is recorded of the last %v", maxAge)
	case now.Sub(*success) > maxAge:
		status.Stale = fmt.Sprintf("the last success was %v ago", now.Sub(*success).Round(time.Minute))
	}
	return status, nil
}
