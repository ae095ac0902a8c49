// Package bench measures the converter of internal/table against what its users would take instead:
// DuckDB, arrow-go, and encoding/csv with parquet-go, with the same answers, on one core, in one
// run. Without it, nobody could say how fast "fast" is, and a month of small changes that each cost
// a little would pass unseen.
//
// Its code generates answers: a Shape says how many rows and columns an answer has, and an Answer
// is the CSV text. The tests of internal/table and internal/parquet use the same answers. All else
// is tests:
//
//	TestTable         compares the values that all of them write; prints a table of their figures with -duckdb
//	TestTwoWindows    two answers at once on two cores
//	TestPeakMemory    the peak of memory, of an answer of any length with -big
//	BenchmarkWindow   the converter alone: one answer, and four at once
//
// Each conversion runs in a process of its own, so that its peak of memory can be measured.
package bench
