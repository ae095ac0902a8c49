package table

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/parquet"
)

// partition is the state of one partition in a converter.
type partition struct {
	date   civil.Date
	group  *parquet.Group // the rows that aren't written yet; nil when there are none
	file   *spool         // nil until the first row group is written
	digest digest
	tally  []tally // by column
}

// spool is a partition's file on disk.
type spool struct {
	*parquet.File
	disk *os.File
}

// begin creates a partition's file, if there is none yet.
func (c *Converter) begin(p *partition) error {
	if p.file != nil {
		return nil
	}
	name := p.date.String()
	if c.route == NoRoute {
		name = "all"
	}
	disk, err := os.CreateTemp(c.dir, "part-"+name+"-*.parquet")
	if err != nil {
		return fmt.Errorf("create a spool file: %w", err)
	}
	p.file = &spool{c.writer.Create(disk), disk}
	for _, key := range slices.Sorted(maps.Keys(c.notes)) {
		p.file.Note(key, c.notes[key])
	}
	p.file.Note("partition", name)
	return nil
}

// part closes the partition's file and describes it.
func (p *partition) part(columns []Column) (Part, error) {
	p.file.Note("rows", strconv.FormatInt(p.digest.rows, 10))
	size, err := p.file.Close()
	if err == nil {
		err = p.file.disk.Close()
	}
	if err != nil {
		return Part{}, err
	}
	part := Part{
		Partition: p.date, Path: p.file.disk.Name(), Rows: p.digest.rows, Size: size, Hash: p.digest.String(),
		Sums: map[string]string{}, Decimals: map[string]int{}, Nulls: map[string]int64{}, Rounded: map[string]int64{},
	}
	for i, c := range columns {
		t := &p.tally[i]
		if c.summed() {
			part.Sums[c.Name], part.Decimals[c.Name] = t.total(c.Type), t.decimals
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

// summed tells whether a part has a sum of the column.
func (c Column) summed() bool {
	return c.Additive && c.Source != "" && (c.Type == catalog.Int64 || c.Type == catalog.Decimal || c.Type == catalog.Double)
}

// discard closes and removes the partition's file, if there is one.
func (p *partition) discard() {
	if p.file != nil {
		_ = p.file.disk.Close() // an error doesn't matter: the file is removed
		_ = os.Remove(p.file.disk.Name())
	}
}
