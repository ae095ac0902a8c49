package text

import (
	"errors"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/raw"
)

// FailureReasons lists the stable words for kinds of failures, the more specific ones first. Alerts
// match these words, so none of them may change.
var FailureReasons = []struct {
	Word    string
	Meaning string
	fits    func(error) bool // whether an error is of this kind
}{
	{"config", "the command line, the config, or a config that contradicts what the ledger holds", isConfigFault},
	{"denied", "a token, a role or a right was refused", func(err error) bool {
		return jobs.Denied(err) ||
			errors.Is(err, adjust.ErrAuth)
	}},
	{"clock", "this machine's clock is more than an hour away from the service's or the bucket's; nothing was " +
		"published: set it", wrapsAny(adjust.ErrClock)},
	{"ledger_damaged", "an object of the ledger can't be trusted, or is gone", wrapsA[*ledger.DamagedError]},
	{"lease_lost", "the process slept for longer than its lease, and another took its windows over",
		wrapsAny(ledger.ErrLost)},
	{"ledger", "the ledger's bucket didn't answer", wrapsAny(ledger.ErrBucket)},
	{"emptied", "an answer without rows for a period that had some; the old rows stay", wrapsAny(partition.ErrEmptied)},
	{"file", "a file of ad spend or of choices on sharing has too many wrong rows, or changed after its records " +
		"were forgotten", wrapsAny(outbox.ErrTooMany, outbox.ErrForgotten)},
	{"migration", "an app's migration, or an event of it, failed; the next run tries again",
		wrapsAny(apps.ErrMigration)},
	{"sink", "a bucket or a database didn't take a partition", wrapsA[*partition.SinkError]},
	{"raw", "the store of raw answers didn't take one, and raw_required is set", wrapsA[*raw.KeepError]},
	{"contract", "contract: freeze, and the service's columns or events aren't those of the table any more; nothing " +
		"of it was touched", wrapsAny(jobs.ErrContract)},
	{"answer", "the service's answer isn't what was asked for: a column more or less, or a cell of another type",
		func(err error) bool {
			return wrapsA[*table.HeaderError](err) || wrapsA[*table.CellError](err) || errors.Is(err, table.ErrEmpty)
		}},
	{"service_slow", "the service takes too long over a query", wrapsAny(adjust.ErrTooSlow)},
	{"service", "the service didn't answer, or refused a query", wrapsA[*adjust.Error]},
	{"other", "none of these", func(error) bool { return true }},
}

// FailureReason returns the word for the kind of failure that err is. For joined errors, the first
// row of FailureReasons that fits any of them counts.
func FailureReason(err error) string {
	for _, r := range FailureReasons {
		if r.fits(err) {
			return r.Word
		}
	}
	return ""
}

// isConfigFault matches faults of the command line and the config, wherever they were found.
func isConfigFault(err error) bool {
	var coded *ExitError
	return errors.Is(err, ledger.ErrRefused) || errors.As(err, &coded) && coded.Code == jobs.ExitUsage
}

// wrapsAny returns a function that matches errors which wrap any of these.
func wrapsAny(any ...error) func(error) bool {
	return func(err error) bool {
		for _, one := range any {
			if errors.Is(err, one) {
				return true
			}
		}
		return false
	}
}

// wrapsA matches errors that wrap one of type E.
func wrapsA[E error](err error) bool {
	var one E
	return errors.As(err, &one)
}
