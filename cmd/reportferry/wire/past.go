package wire

import (
	"context"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// LastRuns is how many run records are read for the reasons of what is wrong.
const LastRuns = 20

// Past reads what the ledger remembers of runs. A damaged object is warned of by its name, and left out.
func (s *Session) Past(ctx context.Context, n int) (ledger.Past, error) {
	past, err := s.Ledger.Past(ctx, n)
	return past, s.leaveOut(err)
}

// Runs are the newest n runs, the newest first, without damaged ones, as Past has them.
func (s *Session) Runs(ctx context.Context, n int) ([]ledger.Run, error) {
	runs, err := s.Ledger.Runs(ctx, n)
	return runs, s.leaveOut(err)
}

// leaveOut warns of what is damaged, and gives the error that nothing goes on with.
func (s *Session) leaveOut(err error) error {
	damaged, err := ledger.LeftOut(err)
	for _, d := range damaged {
		s.Log.Warn(d.Error() + "; it is left out")
	}
	return err
}
