package simulation

import (
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/jobs"
)

// openLedger opens the ledger as one process sees it.
func openLedger(p *process, l *link) *jobs.Ledger {
	return jobs.OpenLedger(jobs.LedgerOptions{Bucket: blob.NewBucket(l), URL: "sim://ledger"})
}
