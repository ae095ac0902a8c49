package partition

import (
	"context"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A warrant allows puts under a claim: somebody has looked that nobody else has taken the claim over, and the lease lasts. Sinks whose
// puts carry conditions get by with one look for a window, because the conditions keep readers safe, and the look only saves work.
// Others take one for each put.
type warrant struct {
	hold   ledger.Hold
	within context.Context // ends with the lease; nil: nobody has looked yet
	end    func()
}

// allow gives the context of one put.
func (w *warrant) allow(ctx context.Context, target ledger.Target) (context.Context, error) {
	if _, conditional := target.Sink.(files); conditional && w.within != nil {
		return w.within, w.hold.Leased()
	}
	w.close()
	within, end, err := w.hold.Guard(ctx)
	if err == nil {
		w.within, w.end = within, end
	}
	return within, err
}

func (w *warrant) close() {
	if w.within != nil {
		w.end()
		w.within = nil
	}
}
