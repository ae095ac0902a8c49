package spend_test

import (
	"net/http"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// BenchmarkCost posts records over loopback, with next to no work on the client's side: requests
// are texts, answers of known length. What it takes is the emulator's.
func BenchmarkCost(b *testing.B) {
	var s *emulator.Server
	var list []emulator.Engagement
	emutest.BenchmarkPosts(b, "/cost", int64(len("OK")), func(opened *emulator.Server, n int) {
		s, list = opened, emutest.Engagements(opened, emutest.Noon, 6, 0, n/80+1)
	}, func(i int) string {
		return "cost_type=cpc&cost_currency=usd&cost_amount=0.25&cost_id=" + list[i%len(list)].CostID + "&tag=benchmark"
	}, func() int { return s.Spend().Statuses[http.StatusOK] })
}
