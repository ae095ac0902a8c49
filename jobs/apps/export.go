package apps

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reportferry/reportferry/internal/lazy"
)

// ErrText says that an export isn't text, so that credentials can't be told from the rest.
var ErrText = errors.New("the export isn't text in UTF-8")

// MaskCSV copies an export of settings without what may be a credential. The interface document
// names neither columns nor layout, so a cell is hidden for any of these reasons:
//
//	a credential's name above it                    where a row is an app
//	a credential's name in its row                  where a row is a setting, or a column an app
//	such names in JSON, addresses and other texts   for any content of a cell
//	a value that itself looks like a credential     where there are no names
//
// Names of apps, settings and partners, and identifiers of apps, aren't hidden.
func MaskCSV(w io.Writer, from io.Reader) error {
	data, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return fmt.Errorf("read the export: %w", ErrText)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = separator(data), -1, true
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	if len(rows) == 0 {
		return nil // nothing matches
	}
	out := csv.NewWriter(w)
	out.Comma = r.Comma
	s := columnsOf(rows)
	for n, row := range rows {
		_ = out.Write(s.masked(n, row)) // the error stays in out
	}
	out.Flush()
	return out.Error()
}

// separator returns the separator of cells that is most frequent in the first line.
func separator(data []byte) rune {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	best := ','
	for _, c := range ";\t|" {
		if bytes.Count(line, []byte(string(c))) > bytes.Count(line, []byte(string(best))) {
			best = c
		}
	}
	return best
}

// columns are what is known about an export's columns.
type columns struct {
	headed bool     // the first row has names
	known  bool     // there are columns in path
	path   []int    // columns whose cells name the setting of a row: section, setting
	plain  []bool   // columns that hold no values, or public ones
	secret []bool   // columns that have the name of a credential
	names  []string // names of the columns, in small letters with underscores
}

var (
	// pathColumn names a column whose cells say which setting a row is about.
	pathColumn = lazy.Regexp(
		`^(section|group|category|partner(_name|_slug)?|network|module|(setting|property|parameter|param|field|config|option|attribute)(_name|_key|_path)?|path|key)$`)
	// plainColumn names a column whose cells are public.
	plainColumn = lazy.Regexp(
		`^((app|game|title|account|event|tracker)(_name|_token|_id)?|name|token|id|platform|os|store(_id|_type|_name)?|bundle_id|package(_name)?|type|kind|status|currency|time_?zone|row|line|no|(created|updated|changed|modified)(_at|_by|_on)?|date|time|environment|version)$`)
	// valueColumn names a column of values, and headerCell is the form of a name in the first row.
	valueColumn = lazy.Regexp(`value|content|current|data$`)
	headerCell  = lazy.Regexp(`^[\p{L}_][\p{L}\p{N} _.:/()\[\]-]{0,99}$`)
)

// columnsOf finds out what the columns have, from the names in the first row.
func columnsOf(rows [][]string) *columns {
	first := rows[0]
	s := &columns{headed: len(rows) > 1 && len(first) > 1, plain: make([]bool, len(first)),
		secret: make([]bool, len(first))}
	for _, cell := range first {
		s.headed = s.headed && (cell == "" || headerCell().MatchString(cell) && !secretValue(cell))
		s.names = append(s.names, snake(cell))
	}
	s.headed = s.headed && !repeats(rows)
	if !s.headed {
		return s
	}
	valued := slices.ContainsFunc(s.names, valueColumn().MatchString)
	for i, name := range s.names {
		switch {
		case pathColumn().MatchString(name) && (valued || name != "key"):
			s.path, s.plain[i] = append(s.path, i), true
		case plainColumn().MatchString(name):
			s.plain[i] = true
		default:
			s.secret[i] = secretPath(steps(first[i])) || name == "key"
		}
	}
	s.known = len(s.path) > 0
	return s
}

// repeats reports whether a cell of the first row occurs again below it, or is a path and has other
// paths below it. The first row is then one of settings, and not of column names.
func repeats(rows [][]string) bool {
	for i, cell := range rows[0] {
		name := snake(cell)
		if name == "" || pathColumn().MatchString(name) || plainColumn().MatchString(name) {
			continue
		}
		like, path := 0, len(steps(cell)) > 1
		for _, row := range rows[1:] {
			if i < len(row) && row[i] == cell {
				return true
			}
			if path && i < len(row) && nameLike(row[i]) && len(steps(row[i])) > 1 {
				like++
			}
		}
		if path && 2*like >= len(rows)-1 {
			return true
		}
	}
	return false
}

// masked returns row n without its credentials.
func (s *columns) masked(n int, row []string) []string {
	if n == 0 && s.headed {
		return row
	}
	at, hidden := s.rowSecret(row)
	out := slices.Clone(row)
	for i, cell := range row {
		plain := i < len(s.plain) && s.plain[i]
		switch {
		case cell == "":
		case i < len(s.secret) && s.secret[i], hidden && !plain && i != at:
			out[i] = notShown
		case plain && nameLike(cell):
		case plain:
			out[i] = maskText(cell)
		default:
			out[i] = maskCell(cell)
		}
	}
	return out
}

// rowSecret reports whether a row is about a credential, and which of its cells says so; -1 means
// the columns in path.
func (s *columns) rowSecret(row []string) (at int, hidden bool) {
	if s.known {
		var path []string
		for _, i := range s.path {
			if i < len(row) {
				path = append(path, steps(row[i])...)
			}
		}
		return -1, secretPath(path)
	}
	var path []string
	for i, cell := range row {
		if !nameLike(cell) || i < len(s.plain) && s.plain[i] && len(steps(cell)) < 2 {
			continue
		}
		path = append(path, steps(cell)...)
		if secretPath(steps(cell)) || hidesAny(path) {
			return i, true
		}
	}
	return 0, false
}

// nameLike reports whether a cell can be the name of a setting.
func nameLike(cell string) bool {
	return len(cell) <= 200 && headerCell().MatchString(cell) && !strings.Contains(strings.TrimSpace(cell), " ") &&
		!secretValue(cell)
}

// steps returns the parts of a path, spelled like settings: of channelSetup.API-Key, channel_setup
// and api_key.
func steps(path string) (parts []string) {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("./>:|[]()", r) }) {
		if name := snake(part); name != "" {
			parts = append(parts, name)
		}
	}
	return parts
}

// snake spells a name in small letters with underscores.
func snake(name string) string {
	var b strings.Builder
	before := ' '
	for _, r := range strings.TrimSpace(name) {
		switch {
		case unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before)):
			b.WriteByte('_')
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteByte('_')
		}
		before = r
	}
	return strings.Trim(b.String(), "_")
}

// secretWord finds a word, or two, that names of credentials have. Tokens of apps, events and
// trackers are public.
var secretWord = lazy.Regexp(
	`(^|_)(secrets?|pass(word|wd|phrase|code)?s?|pwd|pw|private|credentials?|auth(entication|orization)?|bearer|` +
		`oauth2?|jwt|signatures?|(api|access|sdk|signing|private|public|secret|master|encryption|license|licence|report(ing)?|account|service|client|s2s|upload|hmac|ssh|pgp|gpg|skan|app)_?keys?|` +
		`(api|access|auth|refresh|bearer|security|session|s2s|sdk|upload|report(ing)?|user|id|secret|client|service)_?tokens?|connection_string|dsn|apikey|accesskey)(_|$)`)

// secretPath reports whether a path leads to, or into, a credential.
func secretPath(path []string) bool {
	return slices.ContainsFunc(path, secretWord().MatchString) || hidesAny(path)
}

// hidesAny reports whether a path leads to, or into, a value that is hidden.
func hidesAny(path []string) bool {
	for n := range path {
		if n > 0 && hides(path[:n+1]) {
			return true
		}
	}
	return false
}
