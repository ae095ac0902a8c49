package partition

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// slowly is a shelf that takes its time over each part.
type slowly struct{ *shelf }

func (s slowly) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	time.Sleep(3 * time.Second)
	return s.shelf.Put(ctx, p)
}

// An outcome says how long the partitions of an answer took to be published, all together.
func TestDeliverSaysHowLongItTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPublisher(t, ledger.Target{Name: "s", Sink: slowly{newShelf()}})
		d := Definition{Schema: &sinks.Schema{}, Rules: refresh.Rules{Period: refresh.Day, Location: time.UTC}}
		to := openAt(t, p.ledger, p.target...)
		first, second := date("2026-01-01"), date("2026-01-02")
		w := refresh.Window{Due: []refresh.Due{{Partition: first, Seq: 1}, {Partition: second, Seq: 1}}}
		out, err := deliverIn(t, to, d, w, Answer{
			Fetched: moment("2026-01-09T06:00"), Parts: []table.Part{{Partition: first, Rows: 1, Hash: "A"},
				{Partition: second, Rows: 1, Hash: "B"}},
		})
		check(t, err)
		if out.Written != 2 || out.Put != 6*time.Second {
			t.Errorf("%d written in %v", out.Written, out.Put)
		}
	})
}
