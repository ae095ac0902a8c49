package report

import (
	"context"
	"math/big"
	"slices"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
)

// changedTotals compares the service's totals of today with those of records. It returns the
// differences by partition, and the partitions in which anything could be compared. Columns that a
// record lacks aren't compared.
func (f *fetch) changedTotals(ctx context.Context, records ledger.Records,
	today map[civil.Date]table.Part) (changed map[civil.Date][]ledger.Difference, compared map[civil.Date]bool,
	err error) {
	shapes, err := f.table.Shapes(ctx)
	if err != nil {
		return nil, nil, err
	}
	changed, compared = map[civil.Date][]ledger.Difference{}, map[civil.Date]bool{}
	for _, c := range f.cols.askedTotals {
		then, now := map[civil.Date]table.Part{}, map[civil.Date]table.Part{}
		for p, e := range records {
			part, has := f.recordedTotal(e, shapes[e.Shape], c)
			if _, had := today[p].Sums[c.Name]; has && had {
				then[p], now[p], compared[p] = part, today[p], true
			}
		}
		for p, differences := range partition.Compare([]table.Column{c}, then, now, nil) {
			changed[p] = append(changed[p], differences...)
		}
	}
	return changed, compared, nil
}

// recordedTotal returns the service's total of a column according to a record, or false when the
// record doesn't have it. A record of an earlier version has only the sum over the rows, which may
// differ from the total by what rounding loses. The part then has the number of rows, too.
func (k *Kind) recordedTotal(e ledger.Record, s ledger.Shape, c table.Column) (table.Part, bool) {
	i := slices.IndexFunc(s.Columns, func(was ledger.Column) bool {
		return was.Source == c.Source && (was.Name == c.Name || k.renamedTo(was) == c.Name)
	})
	if i < 0 {
		return table.Part{}, false
	}
	p, name := table.Part{Partition: e.Partition}, s.Columns[i].Name
	sum, has := e.Sums[name]
	if !has && e.Rows == 0 {
		sum, has = "0", true
	}
	if e.Control == nil || e.Control.Totals == nil {
		p.Rows = e.Rows
	} else if total, said := e.Control.Totals[name]; said {
		sum, has = total, true
	}
	p.Sums = map[string]string{c.Name: sum}
	if exact, ok := new(big.Rat).SetString(sum); ok {
		decimals, _ := exact.FloatPrec() // some cell had as many
		p.Decimals = map[string]int{c.Name: decimals}
	}
	return p, has
}
