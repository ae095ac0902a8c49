package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A store that never answers, or whose client repeats for ever, ends a call after a minute; the run's own end isn't
// taken for that.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		call, done := bounded(t.Context())
		<-call.Done()
		err := done(call.Err())
		if time.Since(start) != time.Minute || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no good answer within 1m0s") {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		ended, cancel := context.WithCancel(t.Context())
		_, done = bounded(ended)
		cancel()
		if err := done(context.Canceled); err != context.Canceled { //nolint:errorlint // unchanged
			t.Errorf("of a run that ended: %v", err)
		}
		_, done = bounded(t.Context())
		if err := done(nil); err != nil {
			t.Error(err)
		}
	})
}
