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

// compareTotals asks for today's totals of partitions, by one request unless the service is too slow for it, and gives those that
// aren't what was recorded, and how many it could compare. Columns that a record lacks aren't compared.
func (f *fetch) compareTotals(ctx context.Context, partitions []civil.Date) (found map[civil.Date][]ledger.Difference, compared int, err error) {
	if f.cols, err = f.resolve(ctx, f.client); err != nil || len(f.cols.totalled) == 0 {
		return nil, 0, err
	}
	shapes, err := f.table.Shapes(ctx)
	if err != nil {
		return nil, 0, err
	}
	last := partitions[len(partitions)-1]
	var row []civil.Date
	for p := partitions[0]; !p.After(last); p = f.rules.Period.Next(p) {
		row = append(row, p)
	}
	answer, err := f.totals(ctx, row, f.o.Query.Filters[appTokenIn])
	if err != nil {
		return nil, 0, err
	}
	today, had := byPartition(answer), map[civil.Date]bool{}
	found = map[civil.Date][]ledger.Difference{}
	for _, c := range f.cols.totalled {
		then, now := map[civil.Date]table.Part{}, map[civil.Date]table.Part{}
		for _, p := range partitions {
			e, _ := f.table.Record(p)
			if e.State == ledger.Publishing { // by another unit, which holds its own rows against the totals
				had[p] = true
				continue
			}
			if part, has := recorded(e, shapes[e.Shape], c); has {
				then[p], now[p], had[p] = part, today[p], true
			}
		}
		for p, differences := range partition.Compare([]table.Column{c}, then, now) {
			found[p] = append(found[p], differences...)
		}
	}
	return found, len(had), nil
}

// recorded is what a record says that the total of a column was: the sum over the rows or, when those differed from it, the total
// itself. It is false when the record hasn't got the column.
func recorded(e ledger.Record, s ledger.Shape, c table.Column) (table.Part, bool) {
	sum, has := e.Sums[c.Name]
	if e.Rows == 0 {
		sum, has = "0", true
	}
	has = has && slices.ContainsFunc(s.Columns, func(was ledger.Column) bool { return was.Name == c.Name && was.Source == c.Source })
	if e.Control != nil {
		for _, d := range e.Control.Differences {
			if d.Metric == c.Name {
				sum = d.Total
			}
		}
	}
	p := table.Part{Partition: e.Partition, Rows: e.Rows, Sums: map[string]string{c.Name: sum}}
	if exact, ok := new(big.Rat).SetString(sum); ok {
		decimals, _ := exact.FloatPrec() // some cell had as many
		p.Decimals = map[string]int{c.Name: decimals}
	}
	return p, has
}
