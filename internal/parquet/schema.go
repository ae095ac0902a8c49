package parquet

import (
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// logicalTypes holds parquet-go's descriptions of the types, by Type.
var logicalTypes = [...]parquet.Type{
	Text:      parquet.String().Type(),
	Date:      parquet.Date().Type(),
	Timestamp: parquet.TimestampAdjusted(parquet.Microsecond, false).Type(),
	Instant:   parquet.TimestampAdjusted(parquet.Microsecond, true).Type(),
	Int64:     parquet.Int(64).Type(),
	Decimal:   parquet.Decimal(DecimalScale, DecimalPrecision, parquet.Int64Type).Type(),
	Double:    parquet.DoubleType,
}

// schemaElements returns the schema of a file: the root, then the columns in their order.
func schemaElements(columns []Column) []format.SchemaElement {
	root := format.SchemaElement{Name: "table"}
	root.NumChildren.Set(int32(len(columns)))
	all := []format.SchemaElement{root}
	for _, c := range columns {
		t := logicalTypes[c.Type]
		e := format.SchemaElement{Name: c.Name}
		e.Type.Set(*t.PhysicalType())
		e.RepetitionType.Set(format.Optional)
		if c.Required {
			e.RepetitionType.Set(format.Required)
		}
		if converted := t.ConvertedType(); converted != nil {
			e.ConvertedType.Set(*converted)
		}
		if logical := t.LogicalType(); logical != nil {
			e.LogicalType = *logical
		}
		if c.Type == Decimal { // again, for older readers
			e.Scale.Set(DecimalScale)
			e.Precision.Set(DecimalPrecision)
		}
		all = append(all, e)
	}
	return all
}

// columnOrders returns the footer's statement that the bounds of all columns compare in the order
// of their types.
func columnOrders(n int) []format.ColumnOrder {
	all := make([]format.ColumnOrder, n)
	for i := range all {
		all[i].Value = new(format.TypeDefinedOrder)
	}
	return all
}
