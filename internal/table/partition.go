package table

import (
	"maps"
	"slices"
	"strconv"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/parquet"
	"github.com/reportferry/reportferry/internal/table/keys"
)

// partition is the state of one partition in a converter.
type partition struct {
	date   civil.Date
	group  *parquet.Group // the rows that aren't written yet; nil when there are none
	block  int            // the number of the last block that had rows of the partition
	raw    []int          // by column: see parquet.Pool.Group, which counts in it
	file   *parquet.File  // nil until the first row group is written
	spool  *spool         // what the file is written to
	digest digest         // the content hash of the rows so far
	keys   keys.Keys      // the hashes of their keys
	tally  []tally        // by column
}

func (c *Converter) newPartition(date civil.Date) *partition {
	return &partition{date: date, raw: make([]int, len(c.columns)), tally: make([]tally, len(c.columns))}
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
	p.spool = &spool{dir: c.dir, pattern: "part-" + name + "-*.parquet", hold: c.hold}
	if c.hold == 0 {
		if err := p.spool.moveToDisk(); err != nil {
			return err
		}
	}
	p.file = c.writer.Create(p.spool)
	for _, key := range slices.Sorted(maps.Keys(c.metadata)) {
		p.file.Note(notePrefix+key, c.metadata[key])
	}
	p.file.Note(notePrefix+"partition", name)
	return nil
}

// part closes the partition's file and describes it.
func (p *partition) part(columns []Column, room *keys.Scratch) (Part, error) {
	p.file.Note(notePrefix+"rows", strconv.FormatInt(p.digest.rows, 10))
	size, err := p.file.Close()
	if err != nil {
		return Part{}, err
	}
	path, held, err := p.spool.end()
	if err != nil {
		return Part{}, err
	}
	part := Part{
		Partition: p.date, Path: path, held: held, Rows: p.digest.rows, Repeated: p.keys.Repeated(room), Size: size,
		Hash: p.digest.String(),
		Sums: map[string]string{}, Cells: map[string]int64{}, Decimals: map[string]int{}, Nulls: map[string]int64{},
		Rounded: map[string]int64{},
	}
	for i, c := range columns {
		t := &p.tally[i]
		if c.summed() {
			part.Sums[c.Name], part.Decimals[c.Name] = t.total(c.Type), t.decimals
			if c.Type != catalog.Int64 {
				part.Cells[c.Name] = t.cells
			}
		}
		if t.nulls > 0 {
			part.Nulls[c.Name] = t.nulls
		}
		part.Altered = append(part.Altered, t.altered...)
		if t.rounded > 0 {
			part.Rounded[c.Name] = t.rounded
		}
	}
	return part, nil
}

// summed reports whether a part has a sum of the column.
func (c Column) summed() bool {
	return c.Additive && c.Source != "" && (c.Type == catalog.Int64 || c.Type == catalog.Decimal ||
		c.Type == catalog.Double)
}

// discard removes the partition's file, if there is one.
func (p *partition) discard() {
	if p.spool != nil {
		p.spool.discard()
	}
}
