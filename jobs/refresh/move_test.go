package refresh

import (
	"fmt"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// The size of a move is how much it is of a usual day, so that a tenth of a big metric comes after
// a half of a small one.
func TestMovesAreListedBySize(t *testing.T) {
	p := civil.Date{Year: 2026, Month: 1, Day: 2}
	content := func(d, seq int, hash, cost, installs string) ledger.Record {
		return ledger.Record{Partition: p.AddDays(d), Seq: seq, Hash: hash, State: ledger.Written, Rows: 4,
			Sums: map[string]string{"cost": cost, "installs": installs}}
	}
	was, is, other := content(0, 1, "a", "100", "5"), content(0, 2, "b", "90", "10"), content(1, 1, "c", "110", "0")
	same := content(1, 2, "d", "110", "0") // rows that moved although no sum did
	list := Moves([]ledger.Record{was, is, other, same}, ledger.Records{p: is, p.AddDays(1): same})
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprintf("%s %s %s %.2f", m.Partition, m.Metric, m.Delta, m.Size))
	}
	want := "[2026-01-02 installs 5 0.50 2026-01-02 cost -10 -0.10 2026-01-03 rows 0 0.00]"
	if fmt.Sprint(got) != want {
		t.Errorf("moves are %v, want %s", got, want)
	}
}
