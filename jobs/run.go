package jobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// Runs that are kept in the ledger.
const keepRuns = 100

// A RunRecord is one execution, written at its start and again at its end. One without an end was killed, or goes on.
type RunRecord struct {
	ID      string     `json:"id"`
	Trigger string     `json:"trigger"` // schedule, manual or backfill
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
	Exit    int        `json:"exit"`
	Results []Result   `json:"results,omitempty"`
	Errors  []string   `json:"errors,omitempty"`
}

// NewRunID is an ID that sorts by time: 20260131T060000Z-1f2e3d4c.
func NewRunID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

func runKey(id string) string { return "runs/" + id + ".json" }

// SaveRun writes the record of a run, and drops those beyond the newest hundred.
func (l *Ledger) SaveRun(ctx context.Context, r RunRecord) error {
	if err := l.write(ctx, runKey(r.ID), r); err != nil {
		return err
	}
	keys, err := l.list(ctx, "runs/")
	if err != nil {
		return err
	}
	for _, key := range keys[:max(0, len(keys)-keepRuns)] {
		if err := l.bucket.Delete(ctx, key); err != nil && !isNotFound(err) {
			return fmt.Errorf("ledger: drop %s: %w", l.location(key), err)
		}
	}
	return nil
}

// LastRun is the newest run; false when there is none.
func (l *Ledger) LastRun(ctx context.Context) (RunRecord, bool, error) {
	keys, err := l.list(ctx, "runs/")
	if err != nil || len(keys) == 0 {
		return RunRecord{}, false, err
	}
	var r RunRecord
	err = l.read(ctx, keys[len(keys)-1], &r)
	return r, err == nil, err
}
