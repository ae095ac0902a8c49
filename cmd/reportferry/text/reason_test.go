package text

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/raw"
)

func TestFailureReasons(t *testing.T) {
	for want, err := range map[string]error{
		"config": fmt.Errorf("job: %w: no such zone", ledger.ErrRefused),
		"denied": &adjust.Error{Status: 401, Err: adjust.ErrAuth},
		"clock":  fmt.Errorf("%w: %w", jobs.ErrStop, &adjust.Error{Err: adjust.ErrClock}),
		"ledger_damaged": fmt.Errorf("%w: %w", ledger.ErrBucket, &ledger.DamagedError{Location: "x",
			Err: errors.New("y")}),
		"ledger":       fmt.Errorf("%w: read x: timeout", ledger.ErrBucket),
		"lease_lost":   fmt.Errorf("%w: record: %w", ledger.ErrBucket, ledger.ErrLost),
		"emptied":      fmt.Errorf("put: %w (204)", partition.ErrEmptied),
		"file":         fmt.Errorf("push x: %w", outbox.ErrTooMany),
		"migration":    fmt.Errorf("apply x: %w: events", apps.ErrMigration),
		"sink":         &partition.SinkError{Err: errors.New("put x: no space")},
		"raw":          &raw.KeepError{Location: "x", Err: errors.New("no space")},
		"contract":     fmt.Errorf("%w: %w", jobs.ErrContract, &table.HeaderError{Extra: []string{"x"}}),
		"answer":       &adjust.Error{Err: &table.CellError{Row: 1}},
		"service_slow": &adjust.Error{Status: 504, Err: adjust.ErrTooSlow},
		"service":      &adjust.Error{Status: 503},
		"other":        errors.New("x"),
	} {
		if got := FailureReason(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
		if got := FailureReason(errors.Join(err, errors.New("x"))); got != want {
			t.Errorf("joined: %s, want %s", got, want)
		}
	}
}
