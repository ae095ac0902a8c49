package table

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/catalog"
)

// GroupSeparator stands between the values that name a group of rows.
const GroupSeparator = "\x1f"

// Grouped reads a part back and sums its additive columns by the values of the text columns by. It
// returns each group as a Part without a file and without a hash; its key is the group's values
// joined by GroupSeparator. columns must be those that the part was written with.
func (p Part) Grouped(ctx context.Context, columns []Column, by []string) (groups map[string]Part, err error) {
	disk, err := p.open()
	if err != nil {
		return nil, err
	}
	defer disk.Close() //nolint:errcheck // read only
	file, err := openColumns(disk, p.Size, columns)
	g := grouping{columns: columns, by: by, groups: map[string]*group{}}
	if err == nil {
		for _, rows := range file.RowGroups() {
			if err = g.add(ctx, rows); err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sum the groups of a part: %w", err)
	}
	return g.parts(p), nil
}

// A grouping sums rows by the group that they belong to.
type grouping struct {
	columns []Column
	by      []string
	groups  map[string]*group
}

// A group is the number of rows and the sums of one group.
type group struct {
	rows  int64
	tally []tally // by column
}

// add adds the rows of a row group to their groups.
func (g *grouping) add(ctx context.Context, rows parquet.RowGroup) error {
	n, chunks := int(rows.NumRows()), rows.ColumnChunks()
	// The group of each row.
	names := make([][]string, n) // by row: the values that name its group
	for _, name := range g.by {
		i := slices.IndexFunc(g.columns, func(c Column) bool { return c.Name == name })
		if i < 0 || g.columns[i].Type != catalog.String {
			return fmt.Errorf("there is no column %s of texts", name)
		}
		same := map[string]string{}
		if err := eachValue(chunks[i], n, func(row int, v parquet.Value) {
			text, known := same[string(v.ByteArray())]
			if !known {
				text = string(v.ByteArray())
				same[text] = text
			}
			names[row] = append(names[row], text)
		}); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	groupOf := make([]*group, n) // by row
	for row, values := range names {
		name := strings.Join(values, GroupSeparator)
		if g.groups[name] == nil {
			g.groups[name] = &group{tally: make([]tally, len(g.columns))}
		}
		groupOf[row] = g.groups[name]
		groupOf[row].rows++
	}
	// The sums of each group.
	for i, c := range g.columns {
		if !c.summed() {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := eachValue(chunks[i], n, func(row int, v parquet.Value) {
			if !v.IsNull() {
				groupOf[row].tally[i].add(c.Type, []int64{stored(v, c.Type)})
			}
		}); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return nil
}

// stored returns a number as a converter holds it.
func stored(v parquet.Value, t catalog.Type) int64 {
	if t == catalog.Double {
		return int64(math.Float64bits(v.Double()))
	}
	return v.Int64()
}

// parts returns each group as a Part; whole is the part that was read.
func (g *grouping) parts(whole Part) map[string]Part {
	parts := map[string]Part{}
	for name, group := range g.groups {
		p := Part{Partition: whole.Partition, Rows: group.rows, Sums: map[string]string{}, Decimals: whole.Decimals}
		for i, c := range g.columns {
			if c.summed() {
				p.Sums[c.Name] = group.tally[i].total(c.Type)
			}
		}
		parts[name] = p
	}
	return parts
}
