package bench

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/cespare/xxhash/v2"
)

// content is what the files of a contender hold, column by column, whatever the order of their
// rows.
type content struct {
	rows    int64
	bytes   int64
	types   []string
	columns []sums
}

// sums are comparable: of two columns with equal ones, no value differs but by a freak of the hash.
type sums struct {
	nulls int64
	total string // of numbers, exactly; of doubles cut to units of 2^-40
	mixed uint64 // the sum of the hashes of all values
}

// readBack reads files by arrow-go.
func readBack(files []string) (c content, err error) {
	for _, name := range files {
		if err := c.add(name); err != nil {
			return c, fmt.Errorf("read back %s: %w", name, err)
		}
	}
	return c, nil
}

func (c *content) add(name string) error {
	f, err := file.OpenParquetFile(name, false)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1 << 16}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	schema, err := r.Schema()
	if err != nil {
		return err
	}
	c.types = c.types[:0]
	if c.columns == nil {
		c.columns = make([]sums, schema.NumFields())
	}
	for i, field := range schema.Fields() {
		c.types = append(c.types, field.Type.String())
		for g := range f.NumRowGroups() {
			t, err := r.RowGroup(g).Column(i).Read(context.Background())
			if err != nil {
				return err
			}
			for _, chunk := range t.Chunks() {
				if err := c.columns[i].add(chunk); err != nil {
					return err
				}
			}
			t.Release()
		}
	}
	c.rows += f.NumRows()
	return nil
}

func (s *sums) add(a arrow.Array) error {
	total, wide, ok := int64(0), new(big.Int), true
	if s.total != "" {
		wide, ok = wide.SetString(s.total, 10)
	}
	if !ok {
		return fmt.Errorf("a broken sum %q", s.total)
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			s.nulls++
			continue
		}
		var bits uint64
		switch a := a.(type) {
		case *array.String:
			s.mixed += xxhash.Sum64String(a.Value(i))
			total += int64(len(a.Value(i)))
			continue
		case *array.Date32:
			bits = uint64(a.Value(i))
			total += int64(a.Value(i))
		case *array.Int64:
			bits = uint64(a.Value(i))
			total += a.Value(i)
		case *array.Decimal128:
			v := a.Value(i)
			if !v.FitsInPrecision(18) {
				return fmt.Errorf("%s doesn't fit 18 digits", v.BigInt())
			}
			bits = v.LowBits()
			total += int64(bits)
		case *array.Float64:
			bits = math.Float64bits(a.Value(i))
			total += int64(math.Ldexp(a.Value(i), 40))
		default:
			return fmt.Errorf("unexpected type %s", a.DataType())
		}
		s.mixed += spread(bits)
	}
	s.total = wide.Add(wide, big.NewInt(total)).String()
	return nil
}

// spread is a mix of 64 bits (the finalizer of splitmix64, https://prng.di.unimi.it/splitmix64.c).
func spread(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// differs tells what is other in two contents, or "".
func (c content) differs(of content) string {
	if c.rows != of.rows || len(c.columns) != len(of.columns) {
		return fmt.Sprintf("%d rows of %d columns, and %d of %d", c.rows, len(c.columns), of.rows, len(of.columns))
	}
	for i := range c.columns {
		if c.columns[i] != of.columns[i] {
			return fmt.Sprintf("column %d: %+v, and %+v", i+1, c.columns[i], of.columns[i])
		}
	}
	return ""
}
