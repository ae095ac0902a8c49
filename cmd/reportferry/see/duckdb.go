package see

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fileSink is a sink whose tables are files, which readers find by a pattern.
type fileSink interface{ Pattern(table string) string }

// DuckDBScan returns the DuckDB expression that reads all files that a pattern matches. It matches
// columns by name, because older files may lack some.
func DuckDBScan(pattern string, hive bool) string {
	return fmt.Sprintf("read_parquet(%s, hive_partitioning=%t, union_by_name=true)", duckDBText(pattern), hive)
}

// duckDBText returns a text as an SQL string literal.
func duckDBText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// shellEscapes escapes what a shell would change between double quotes.
var shellEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// readFiles returns the folder of the files that a pattern matches, and a command that shows their
// rows. A folder below the working directory is named relative to it. The command may have two
// lines, because a quoted argument may go on in the next line.
func readFiles(pattern string) (at, command string) {
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(pattern) {
		if rel, err := filepath.Rel(here, pattern); err == nil && filepath.IsLocal(rel) {
			pattern = rel
		}
	}
	at, _, _ = strings.Cut(pattern, "*")
	at = at[:max(0, strings.LastIndex(at, "/"))]
	command = shellEscapes.Replace("FROM " + DuckDBScan(pattern, true))
	command = `duckdb -c "` + strings.Replace(command, ", hive_", ",\n  hive_", 1) + `"`
	if strings.Contains(at, "://") {
		command += "\n(DuckDB needs the bucket's credentials first: CREATE SECRET)"
	}
	return at, command
}
