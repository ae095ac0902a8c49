package partition

import (
	"context"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A warrant allows puts under a claim while the lease lasts. Before a put without a condition somebody looks that nobody else has taken
// the claim over. Where puts carry conditions these keep readers safe, and a look would only save work that is done already.
type warrant struct {
	hold   ledger.Hold
	within context.Context // ends with the lease; nil: there was no put yet
	end    func()
}

// allow gives the context of one put.
func (w *warrant) allow(ctx context.Context, target ledger.Target) (context.Context, error) {
	bound := w.hold.Guard
	if _, conditional := target.Sink.(sinks.Conditional); conditional {
		if w.within != nil {
			return w.within, w.hold.Leased()
		}
		bound = w.hold.Within
	}
	w.close()
	within, end, err := bound(ctx)
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
