package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"
)

// The columns that lines have at most, a tab counted as four. Longer may be raw strings, which
// can't be broken, what comments show as it is, such as diagrams and addresses, and in tests lines
// with a text of 40 letters.
const (
	codeColumns    = 120
	commentColumns = 100
)

func checkColumns(t *tree) []string {
	var findings []string
	for _, f := range t.files {
		if f.generated {
			continue
		}
		long := map[int]bool{}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING &&
				(strings.HasPrefix(lit.Value, "`") || f.test && len(lit.Value) > 40) {
				for line := t.fset.Position(lit.Pos()).Line; line <= t.fset.Position(lit.End()).Line; line++ {
					long[line] = true
				}
			}
			return true
		})
		for i, line := range strings.Split(f.src, "\n") {
			text := strings.TrimLeft(line, "\t")
			columns := utf8.RuneCountInString(line) + 3*(len(line)-len(text))
			most := codeColumns
			if strings.HasPrefix(text, "//") {
				most = commentColumns
				if strings.HasPrefix(text, "//\t") || strings.HasPrefix(text, "//   ") ||
					strings.HasPrefix(text, "//go:") || strings.Contains(text, "://") {
					continue
				}
			}
			if columns > most && !long[i+1] {
				findings = append(findings, fmt.Sprintf("%s:%d: %d columns; at most %d", f.path, i+1, columns, most))
			}
		}
	}
	return findings
}

var columnRules = []rule{{
	name: "columns", check: checkColumns,
	bad: map[string]string{
		"a/a.go": "package p\n\n// " + strings.Repeat("w", 98) + "\n\tvar a = \"" + strings.Repeat("w",
			107) + "\"\n",
		"a/b_test.go": "package p\n\nvar a = \"" + strings.Repeat("w", 200) + "\"\n",
		"a/b.go": "package p\n\n// " + strings.Repeat("w", 97) + "\n\n//\t" + strings.Repeat("─",
			200) + "\n\nvar b = \"" + strings.Repeat("é", 110) + "\"\nvar c = `\n" +
			strings.Repeat("w", 200) + "\n`\n",
	},
	want: []string{"a/a.go:3: 101 columns", "a/a.go:4: 121 columns"},
}}
