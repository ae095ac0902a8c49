package views

import (
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/formula"
)

// A Dialect says how an engine's SQL writes what differs between engines. Its texts are formats of
// package fmt.
type Dialect struct {
	Name string
	formula.Dialect
	types map[catalog.Type]string // SQL types, for NULLs in place of a column

	unionByName bool   // the engine knows UNION ALL BY NAME, which fills columns that a table lacks
	ageMinutes  string // minutes from the newest value of the column fetched, in UTC, until now
	today       string // the date in a zone that is so many minutes ahead of UTC
	addInterval string // a date plus an interval, given by a number and a unit
	daysBetween string // the number of days from one date to another
}

// standardInterval is addInterval in standard SQL.
const standardInterval = "CAST(%s + INTERVAL '%d' %s AS DATE)"

// The dialects. The types of the columns of state tables are those that the engine finds when it
// reads them from Parquet or Iceberg.
var (
	BigQuery = Dialect{
		Name: "bigquery", types: bigqueryTypes,
		today:       "DATE(TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL %d MINUTE), 'UTC')",
		addInterval: "DATE_ADD(%s, INTERVAL %d %s)", daysBetween: "DATE_DIFF(%[2]s, %[1]s, DAY)",
		Dialect: formula.Dialect{Quote: backticks, Divide: func(left, right string) string {
			return "SAFE_DIVIDE(CAST(" + left + " AS FLOAT64), " + right + ")"
		}},
	}
	DuckDB = Dialect{
		Name: "duckdb", Dialect: formula.Dialect{Quote: quotes, Divide: divideAs("DOUBLE")},
		types: typesOf("VARCHAR", "DOUBLE", "TIMESTAMP", "TIMESTAMPTZ"), unionByName: true,
		ageMinutes:  "date_diff('minute', MAX(fetched), now() AT TIME ZONE 'UTC')",
		today:       "CAST((now() AT TIME ZONE 'UTC') + INTERVAL '%d' MINUTE AS DATE)",
		addInterval: standardInterval, daysBetween: "date_diff('day', %s, %s)",
	}
	Trino = Dialect{
		Name: "trino", Dialect: formula.Dialect{Quote: quotes, Divide: divideAs("DOUBLE")},
		types:       typesOf("VARCHAR", "DOUBLE", "TIMESTAMP(6)", "TIMESTAMP(6) WITH TIME ZONE"),
		ageMinutes:  "date_diff('minute', MAX(fetched), CAST(current_timestamp AT TIME ZONE 'UTC' AS TIMESTAMP(6)))",
		today:       "CAST((current_timestamp AT TIME ZONE 'UTC') + INTERVAL '%d' MINUTE AS DATE)",
		addInterval: standardInterval, daysBetween: "date_diff('day', %s, %s)",
	}
	Spark = Dialect{
		Name: "spark", Dialect: formula.Dialect{Quote: backticks, Divide: divideAs("DOUBLE")},
		types:       typesOf("STRING", "DOUBLE", "TIMESTAMP_NTZ", "TIMESTAMP"),
		ageMinutes:  "timestampdiff(MINUTE, MAX(fetched), convert_timezone('UTC', localtimestamp()))",
		today:       "CAST(convert_timezone('UTC', localtimestamp()) + INTERVAL '%d' MINUTE AS DATE)",
		addInterval: standardInterval, daysBetween: "datediff(%[2]s, %[1]s)",
	}
	Postgres = Dialect{
		Name: "postgres", Dialect: formula.Dialect{Quote: quotes, Divide: divideAs("DOUBLE PRECISION")},
		types:       typesOf("TEXT", "DOUBLE PRECISION", "TIMESTAMP", "TIMESTAMPTZ"),
		ageMinutes:  "CAST(FLOOR(EXTRACT(EPOCH FROM now() AT TIME ZONE 'UTC' - MAX(fetched)) / 60) AS BIGINT)",
		today:       "CAST((now() AT TIME ZONE 'UTC') + INTERVAL '%d' MINUTE AS DATE)",
		addInterval: standardInterval, daysBetween: "(%[2]s - %[1]s)",
	}
)

// bigqueryTypes are the types that the BigQuery sink gives columns.
var bigqueryTypes = map[catalog.Type]string{
	catalog.String: "STRING", catalog.Int64: "INT64", catalog.Double: "FLOAT64", catalog.Decimal: "NUMERIC",
	catalog.Day: "DATE", catalog.Hour: "DATETIME",
	catalog.Instant: "TIMESTAMP",
}

// typesOf returns the types of an engine, given those that differ between engines. All call whole
// numbers BIGINT, days DATE and money DECIMAL(18,6).
func typesOf(text, double, moment, instant string) map[catalog.Type]string {
	return map[catalog.Type]string{
		catalog.String: text, catalog.Int64: "BIGINT", catalog.Double: double, catalog.Day: "DATE",
		catalog.Month: "DATE", catalog.Hour: moment,
		catalog.Decimal: "DECIMAL(18,6)", catalog.Instant: instant,
	}
}

// divideAs returns a function that writes a division of doubles, whose type the engine calls so. A
// division by zero is NULL.
func divideAs(double string) func(left, right string) string {
	return func(left, right string) string {
		return "CAST(" + left + " AS " + double + ") / NULLIF(" + right + ", 0)"
	}
}

// quotes and backticks return a name quoted as an engine's SQL wants it.
func quotes(name string) string    { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func backticks(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
