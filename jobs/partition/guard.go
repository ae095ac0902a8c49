package partition

import (
	"context"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A putGuard allows puts while the lease lasts. Before a put without a condition it reads whether
// another run has taken something over. Puts with conditions need no such read: the conditions keep
// readers safe, and reading would only save work that is done already.
type putGuard struct {
	lease  *ledger.Lease
	within context.Context // ends with the lease; nil: there was no put yet
	end    func()
}

// allow returns the context for one put, or an error if the lease is lost.
func (g *putGuard) allow(ctx context.Context, target ledger.Target) (context.Context, error) {
	if _, conditional := target.Sink.(sinks.Conditional); !conditional {
		if err := g.lease.Check(ctx); err != nil {
			return nil, err
		}
	}
	if g.within != nil {
		return g.within, g.lease.Leased()
	}
	within, end, err := g.lease.Within(ctx)
	if err == nil {
		g.within, g.end = within, end
	}
	return within, err
}

// close ends the context of the puts.
func (g *putGuard) close() {
	if g.within != nil {
		g.end()
	}
}
