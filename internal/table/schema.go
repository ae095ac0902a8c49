package table

import (
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/reportferry/reportferry/internal/catalog"
)

// schemaElements are the columns of a file, in the order of the table, below their root.
func schemaElements(columns []Column) []format.SchemaElement {
	root := format.SchemaElement{Name: "table"}
	root.NumChildren.Set(int32(len(columns)))
	all := []format.SchemaElement{root}
	for _, c := range columns {
		t := columnType(c.Type)
		e := format.SchemaElement{Name: c.Name}
		e.Type.Set(*t.PhysicalType())
		e.RepetitionType.Set(format.Optional)
		if c.Dimension {
			e.RepetitionType.Set(format.Required)
		}
		if converted := t.ConvertedType(); converted != nil {
			e.ConvertedType.Set(*converted)
		}
		if logical := t.LogicalType(); logical != nil {
			e.LogicalType = *logical
		}
		if c.Type == catalog.Decimal { // for older readers, again
			e.Scale.Set(decimalScale)
			e.Precision.Set(decimalPrecision)
		}
		all = append(all, e)
	}
	return all
}

func columnType(t catalog.Type) parquet.Type {
	switch {
	case t == catalog.String:
		return parquet.String().Type()
	case t.IsDate():
		return parquet.Date().Type()
	case t == catalog.Hour:
		return parquet.TimestampAdjusted(parquet.Microsecond, false).Type()
	case t == catalog.Int64:
		return parquet.Int(64).Type()
	case t == catalog.Decimal:
		return parquet.Decimal(decimalScale, decimalPrecision, parquet.Int64Type).Type()
	}
	return parquet.DoubleType
}

// columnOrders say that bounds compare as the types do.
func columnOrders(n int) []format.ColumnOrder {
	all := make([]format.ColumnOrder, n)
	for i := range all {
		all[i].Value = new(format.TypeDefinedOrder)
	}
	return all
}
