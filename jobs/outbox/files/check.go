package files

import (
	"context"
	"math/big"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// A Checked is what a push would do before sending, and how the file was understood.
type Checked struct {
	outbox.Report
	Read  Understanding
	First [][]Shown // the first records as they would be sent
	// Totals holds sums by what would happen to the rows, and then by the key of the push's tally.
	// They include only records whose amounts are known.
	Totals   map[outbox.Disposition]map[string]*Total
	Beyond   int64     // records left out of Totals, because there were too many different keys before
	Problems []Problem // why rows would be refused
}

// A Total is the sum of some records.
type Total struct {
	Records int64
	Amount  big.Int
}

// A Shown is a field of a record, for people.
type Shown struct{ Field, Value string }

// mostShown is how many records a check shows.
const mostShown = 3

// mostTotals is how many sums Totals has at most. It limits the memory for a file that has another
// day, currency or tag in each row.
const mostTotals = 10_000

// Check does what a push would do before sending, and writes nothing.
func Check[V any](ctx context.Context, o *outbox.Outbox, push outbox.Task[V], f *File[V]) (Checked, error) {
	c := Checked{Totals: map[outbox.Disposition]map[string]*Total{}}
	p := &problems{byReason: map[Refusal]*Problem{}}
	totals := 0 // how many sums c.Totals has
	push.Source = f
	var err error
	c.Report, err = outbox.Check(ctx, o, push, func(r *outbox.Record[V], disposition outbox.Disposition) {
		if disposition == outbox.IsRefused && r.Refusal != nil {
			p.count(Refusal(*r.Refusal), r.Row)
		}
		if disposition == outbox.ToSend && f.Show != nil && len(c.First) < mostShown {
			c.First = append(c.First, f.Show(r.Value))
		}
		if push.Tally == nil {
			return
		}
		key, amount := push.Tally(r.Value)
		if key == "" {
			return // the amount isn't known
		}
		if c.Totals[disposition] == nil {
			c.Totals[disposition] = map[string]*Total{}
		}
		t := c.Totals[disposition][key]
		switch {
		case t == nil && totals == mostTotals:
			c.Beyond++
			return
		case t == nil:
			t = &Total{}
			c.Totals[disposition][key] = t
			totals++
		}
		t.Records++
		t.Amount.Add(&t.Amount, big.NewInt(amount))
	})
	c.Read, c.Problems = f.read, p.list()
	return c, err
}

// A Problem is one reason for which rows of a file would be refused, or for which a person should
// look at them.
type Problem struct {
	Refusal
	Rows  int64
	First int64 // the first such row
	Sent  bool  // it is only a warning, and the rows are sent
}

// problems counts the reasons for refusals during one reading. order has them as they first came.
type problems struct {
	byReason map[Refusal]*Problem
	order    []*Problem
}

// list returns the problems in the order in which they first came.
func (p *problems) list() (all []Problem) {
	for _, one := range p.order {
		all = append(all, *one)
	}
	return all
}

// mostProblems is how many reasons are counted separately. A row's reason may contain numbers of
// its own, so there may be as many as rows.
const mostProblems = 1000

// count counts a row that is refused for a reason.
func (p *problems) count(r Refusal, row int64) {
	one := p.byReason[r]
	if one == nil && len(p.byReason) >= mostProblems {
		r = Refusal{Reason: "(other reasons)"}
		one = p.byReason[r]
	}
	if one == nil {
		one = &Problem{Refusal: r, First: row}
		p.byReason[r] = one
		p.order = append(p.order, one)
	}
	one.Rows++
}
