package wire

import (
	"context"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// LastRuns is how many run records are read to find the reasons of what is wrong.
const LastRuns = 20

// Past reads what the ledger remembers of the newest n runs. A damaged month is left out, with a
// warning that names it.
func (s *Session) Past(ctx context.Context, n int) (ledger.Past, error) {
	past, err := s.Ledger.Past(ctx, n)
	for _, damaged := range past.Damaged {
		s.Log.Warn(damaged.Error() + "; it is left out")
	}
	return past, err
}
