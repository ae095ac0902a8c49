package table

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
)

// The headers of pages, in Thrift's compact protocol: there is one for every few thousand cells, and the general encoder
// would make garbage of each.

const (
	thriftI32    = 5
	thriftStruct = 12
)

// i32 appends the next field.
func i32(dst []byte, v int) []byte {
	return binary.AppendVarint(append(dst, 1<<4|thriftI32), int64(v)) // zigzag, as Thrift has it
}

func pageHeader(dst []byte, kind format.PageType, content, body int, field byte) []byte {
	dst = i32(i32(i32(dst, int(kind)), content), body)
	return append(dst, (field-3)<<4|thriftStruct)
}

// dataPageHeader is of a page whose values take so many bytes before and after compression, and its levels so many.
func dataPageHeader(dst []byte, p page, plain, body, levels int) []byte {
	dst = pageHeader(dst, format.DataPageV2, plain+levels, body+levels, 8)
	for _, v := range [...]int{p.rows, p.nulls, p.rows, int(p.encoding), levels, 0} {
		dst = i32(dst, v)
	}
	return append(dst, 0, 0)
}

func dictionaryPageHeader(dst []byte, values, plain, body int) []byte {
	dst = pageHeader(dst, format.DictionaryPage, plain, body, 7)
	return append(i32(i32(dst, values), int(format.Plain)), 0, 0)
}
