package strict

import (
	"bytes"
	"strings"
)

// slips are frequent mistakes of people who rarely write YAML, and what to write instead. The
// parser says only where it gave up, and not what is likely wrong.
var slips = []struct {
	form Expression
	hint string
}{
	{Expr(`^\s*\t`), "the line is indented by a tab; use blanks"},
	{Expr(`[[:] ?\*`), "a value that begins with * stands in quotes, such as \"*/5 * * * *\""},
	{Expr(`\[[^"'\]]*\$\{`), "a text with ${NAME} stands in quotes inside of brackets, such as [\"gs://${NAME}/out\"]"},
	{Expr(`(: |[[,] ?)[@%` + "`" + `]`), "a value that begins with @, % or ` stands in quotes"},
	{Expr(`^\s*(- )?[A-Za-z_]+:[^\s/]`), "a blank is missing behind the colon; write it as in key: value"},
	{Expr(`: [^"'\[{]*: `), "a value that holds a colon and a blank stands in quotes"},
}

// hint returns what is likely wrong on a line of a file that isn't YAML; line counts from 1. If it
// finds nothing, it returns the parser's message.
func hint(data []byte, line int, message string) string {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return message
	}
	text := strings.TrimRight(string(lines[line-1]), "\r")
	for _, s := range slips {
		if s.form.MatchString(text) {
			return s.hint
		}
	}
	if line > 1 && strings.Contains(message, "not allowed") && indented(text) != indented(string(lines[line-2])) {
		return "this line begins in another column than the one above it; keys that belong together begin in one column"
	}
	return message
}

// indented counts the blanks in front of a line.
func indented(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }
