package exit

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

// Reasons lists the stable words for kinds of failures, the more specific ones first. Alerts match
// these words, so none of them may change.
var Reasons = []struct {
	Word    string
	Meaning string
	fits    func(error) bool
}{
	{"config", "the command line, the config, or a config that contradicts what the ledger holds", refused},
	{"denied", "a token, a role or a right was refused", func(err error) bool {
		return jobs.Denied(err) ||
			errors.Is(err, adjust.ErrAuth)
	}},
	{"clock", "this machine's clock is more than an hour away from the service's or the bucket's; nothing was " +
		"published: set it", is(adjust.ErrClock)},
	{"ledger_damaged", "an object of the ledger can't be trusted, or is gone", as[*ledger.DamagedError]},
	{"lease_lost", "the process slept for longer than its lease, and another took its windows over",
		is(ledger.ErrLost)},
	{"ledger", "the ledger's bucket didn't answer", is(ledger.ErrBucket)},
	{"emptied", "an answer without rows for a period that had some; the old rows stay", is(partition.ErrEmptied)},
	{"file", "a file of ad spend or of choices on sharing has too many wrong rows, or changed after its records " +
		"were forgotten", is(outbox.ErrTooMany, outbox.ErrForgotten)},
	{"migration", "an app's migration, or an event of it, failed; the next run tries again", is(apps.ErrMigration)},
	{"sink", "a bucket or a database didn't take a partition", as[*partition.SinkError]},
	{"raw", "the store of raw answers didn't take one, and raw_required is set", as[*raw.KeepError]},
	{"contract", "contract: freeze, and the service's columns or events aren't those of the table any more; nothing " +
		"of it was touched", is(jobs.ErrContract)},
	{"answer", "the service's answer isn't what was asked for: a column more or less, or a cell of another type",
		func(err error) bool {
			return as[*table.HeaderError](err) || as[*table.CellError](err) || errors.Is(err, table.ErrEmpty)
		}},
	{"service_slow", "the service takes too long over a query", is(adjust.ErrTooSlow)},
	{"service", "the service didn't answer, or refused a query", as[*adjust.Error]},
	{"other", "none of these", func(error) bool { return true }},
}

// Reason returns the word for the kind of failure that err is. For joined errors, the first row of
// Reasons that fits any of them counts.
func Reason(err error) string {
	for _, r := range Reasons {
		if r.fits(err) {
			return r.Word
		}
	}
	return ""
}

// refused matches faults of the command line and the config, wherever they were found.
func refused(err error) bool {
	var coded *Error
	return errors.Is(err, ledger.ErrRefused) || errors.As(err, &coded) && coded.Code == jobs.ExitUsage
}

// is returns a function that matches errors which wrap any of these.
func is(any ...error) func(error) bool {
	return func(err error) bool {
		for _, one := range any {
			if errors.Is(err, one) {
				return true
			}
		}
		return false
	}
}

// as matches errors that wrap one of type E.
func as[E error](err error) bool {
	var one E
	return errors.As(err, &one)
}
