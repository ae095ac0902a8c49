package ledger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"
)

// Holders says which of some units of a table a run works on now, and which run that is. It is for people to look at: it goes by
// this machine's clock, so that only Claim tells whether a unit is free.
func (l *Ledger) Holders(ctx context.Context, table string, units []string) (map[string]string, error) {
	prefix := fmt.Sprintf("tables/%s/claims/", table)
	keys, err := l.list(ctx, prefix)
	if err != nil {
		return nil, err
	}
	last := map[string]string{} // the highest claim of each unit
	for _, key := range keys {
		if unit := path.Base(path.Dir(key)); slices.Contains(units, unit) && NumberOf(key) > NumberOf(last[unit]) {
			last[unit] = key
		}
	}
	held := map[string]string{}
	for unit, key := range last {
		var body claimBody
		var damaged *DamagedError
		err := l.read(ctx, key, &body)
		if isNotFound(err) || errors.As(err, &damaged) || err == nil && body.Released {
			continue
		}
		if err != nil {
			return nil, err
		}
		attrs, err := l.bucket.Attributes(ctx, key)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: claim %s: read its age: %w", ErrBucket, l.location(key), err)
		}
		if time.Since(attrs.ModTime) <= body.Lease {
			held[unit] = body.Run
		}
	}
	return held, nil
}
