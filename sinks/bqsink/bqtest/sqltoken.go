package bqtest

import (
	"strconv"
	"strings"
	"unicode"
)

// A token of GoogleSQL. https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical
type token struct {
	kind string // "word", "quoted" (in backticks), "number", "string", "symbol" or "" at the end
	text string
	pos  int
}

// symbols, the longest first.
var symbols = []string{"<=", ">=", "!=", "<>", "||", "(", ")", ",", ".", "*", "+", "-", "/", "=", "<", ">", ";"}

// tokens splits a statement.
func tokens(query string) ([]token, *refusal) {
	var all []token
	for i := 0; i < len(query); {
		rest := query[i:]
		c := rest[0]
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(rest, "--") || c == '#':
			i += lengthUntil(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += lengthUntil(rest, "*/")
		case c == '`':
			end := strings.IndexByte(rest[1:], '`')
			if end < 0 {
				return nil, syntax(query, i, "Unclosed identifier literal")
			}
			all = append(all, token{"quoted", rest[1 : end+1], i})
			i += end + 2
		case c == '\'' || c == '"':
			text, length, ok := stringLiteral(rest)
			if !ok {
				return nil, syntax(query, i, "Unclosed string literal")
			}
			all = append(all, token{"string", text, i})
			i += length
		case c >= '0' && c <= '9' || c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			n := numberLength(rest)
			all = append(all, token{"number", rest[:n], i})
			i += n
		case c == '_' || unicode.IsLetter(rune(c)):
			n := 1
			for n < len(rest) && (rest[n] == '_' || rest[n] >= '0' && rest[n] <= '9' || unicode.IsLetter(rune(rest[n]))) {
				n++
			}
			all = append(all, token{"word", rest[:n], i})
			i += n
		default:
			found := ""
			for _, s := range symbols {
				if strings.HasPrefix(rest, s) {
					found = s
					break
				}
			}
			if found == "" {
				return nil, syntax(query, i, "Unexpected \""+string(c)+"\"")
			}
			all = append(all, token{"symbol", found, i})
			i += len(found)
		}
	}
	return append(all, token{pos: len(query)}), nil
}

func lengthUntil(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// stringLiteral reads 'text' or "text"; of the escapes, those that a program writes.
func stringLiteral(s string) (text string, length int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return b.String(), i + 1, true
		case c == '\n':
			return "", 0, false
		case c == '\\' && i+1 < len(s):
			i++
			if escaped := strings.IndexByte("nrt", s[i]); escaped >= 0 {
				b.WriteByte("\n\r\t"[escaped])
				continue
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

func numberLength(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.' || s[n] == 'e' || s[n] == 'E' ||
		(s[n] == '-' || s[n] == '+') && (s[n-1] == 'e' || s[n-1] == 'E')) {
		n++
	}
	return n
}

// syntax is an error with BigQuery's place [line:column].
func syntax(query string, pos int, message string) *refusal {
	return refuse("invalidQuery", "Syntax error: %s at %s", message, place(query, pos))
}

func place(query string, pos int) string {
	before := query[:min(pos, len(query))]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndex(before, "\n")
	return "[" + strconv.Itoa(line) + ":" + strconv.Itoa(column) + "]"
}
