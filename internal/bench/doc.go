// Package bench measures the converter of internal/table beside what its user would take instead:
// DuckDB, arrow-go, and encoding/csv with parquet-go, on the same answers, on one core, in one run.
// Without it, "fast" would be a word, and a slow month of small changes would pass unseen.
//
// Its code makes answers: a Shape says how many rows and columns, an Answer is their CSV text. The
// tests of internal/table and internal/parquet draw on the same answers. All else is tests:
//
//	TestTable         compares the values that all of them write; prints a table of their figures with -duckdb
//	TestTwoWindows    two answers at once on two cores
//	TestPeakMemory    the peak of memory, of an answer of any length with -big
//	BenchmarkWindow   the converter alone: one answer, and four at once
//
// Each conversion runs in a process of its own, so that its peak of memory is its own.
package bench
