// Package bench measures the converter of internal/table beside what its user would take instead: DuckDB, arrow-go, and
// encoding/csv with parquet-go, on the same answers, on one core, in one run. Without it, "fast" would be a word, and a
// slow month of small changes would pass unseen.
//
// It makes the answers; all else is tests. TestTable compares values, and prints the table when it is given DuckDB.
package bench
