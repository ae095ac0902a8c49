package table

import (
	"os"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// partition is what a converter knows of one period.
type partition struct {
	date   civil.Date
	group  *rowGroup // rows that aren't written yet; nil when there are none
	file   *partFile // nil until the first row group is written
	digest digest
	tally  []tally // by column
}

// part closes the partition's file and describes it.
func (p *partition) part(columns []Column, e *encoder) (Part, error) {
	size, err := e.close(p.file, p.digest.rows)
	if err != nil {
		return Part{}, err
	}
	part := Part{
		Partition: p.date, Path: p.file.path, Rows: p.digest.rows, Size: size, Hash: p.digest.String(),
		Sums: map[string]string{}, Nulls: map[string]int64{}, Rounded: map[string]int64{},
	}
	for i, c := range columns {
		t := &p.tally[i]
		if c.summed() {
			part.Sums[c.Name] = t.total(c.Type)
		}
		if t.nulls > 0 {
			part.Nulls[c.Name] = t.nulls
		}
		if t.rounded > 0 {
			part.Rounded[c.Name] = t.rounded
		}
	}
	return part, nil
}

// summed tells whether a part carries a sum of the column.
func (c Column) summed() bool {
	return c.Additive && c.Source != "" && (c.Type == catalog.Int64 || c.Type == catalog.Decimal || c.Type == catalog.Double)
}

// discard closes and removes the partition's file, if there is one.
func (p *partition) discard() {
	if p.file != nil {
		_ = p.file.file.Close() // the file goes away, whatever became of its last bytes
		_ = os.Remove(p.file.path)
	}
}
