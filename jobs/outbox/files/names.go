package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/lazy"
)

// mostAbove limits the lines of titles above the names, such as "Report: Spend" and a range of
// days.
const mostAbove = 50

// matchNames returns how many of the wanted columns a row has, and whether it is the row of names.
// With Score, it returns what Score gives, and never that the row is the one.
func (m Mapping) matchNames(row []string) (score int, is bool) {
	if m.Score != nil {
		score = m.Score(row)
		return score, false
	}
	rejects := newCorrectedRejects(row)
	columns, _ := rejects.cells(slices.Clone(row))
	if rejects.holdsJSONLines(columns) {
		return len(columns), true
	}
	from, _ := m.sources()
	for _, column := range from {
		if column != "" && slices.Contains(columns, column) {
			score++
		}
	}
	if score == 0 || len(row) > mostColumns {
		return 0, false
	}
	_, err := m.find(columns)
	return score, err == nil
}

// A heading is the position of the names in a CSV file.
type heading struct {
	skip, lines int  // bytes and lines above them
	separator   rune // between their cells; 0: not known yet
}

// heading finds the row of names at the beginning of a CSV file: the first row that has all wanted
// columns with any separator, whatever is above it. If there is none, it returns the row below
// titles that has most of them, so that the error can say what is missing there.
func (m Mapping) heading(head []byte) (h heading, err error) {
	declared := m.Format.Separator
	// Take the separator from the config, or from a first line that gives it; otherwise try all.
	first, own, err := separatorLine(head, declared)
	if err != nil {
		return h, err
	}
	if own != 0 {
		declared, h.lines = own, 1
	}
	h.skip, h.separator = first, declared
	separators := []rune{declared}
	if declared == 0 {
		separators = []rune{',', ';', '\t'}
	}

	// Try each line as the row of names, with each separator. If none has all wanted columns, h is
	// the best one below the first line or, with Score, the best one of all.
	best := 0
	for at, line := first, h.lines; at < len(head) && line < mostAbove; line++ {
		for _, separator := range separators {
			in := csv.NewReader(bytes.NewReader(head[at:]))
			in.Comma, in.FieldsPerRecord = separator, -1
			row, err := in.Read()
			if err != nil {
				continue
			}
			switch score, is := m.matchNames(row); {
			case is:
				return heading{at, line, separator}, nil
			case score > best && (at > first || m.Score != nil):
				best, h = score, heading{at, line, separator}
			case score > best:
				best = score
			}
		}
		next := bytes.IndexByte(head[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return h, nil
}

// separatorLine reads a first line that gives Excel the separator, such as "sep=;", and returns its
// length and the separator. Without such a line, own is 0.
func separatorLine(head []byte, declared rune) (length int, own rune, err error) {
	match := sepLine().FindSubmatch(head)
	if match == nil {
		return 0, 0, nil
	}
	own = []rune(string(match[1]))[0]
	switch {
	case wordFor(Separators, own) == "":
		return 0, 0, fmt.Errorf("begins with sep=%c; want a comma, a semicolon or a tab between its cells", own)
	case declared != 0 && declared != own:
		return 0, 0, fmt.Errorf("begins with sep=%c, and the job's format says separator: %s", own,
			wordFor(Separators, declared))
	}
	return len(match[0]), own, nil
}

// sepLine matches a first line that Excel reads as a setting and not as a row.
var sepLine = lazy.Regexp(`^"?[sS][eE][pP]=([^\r\n"])"?\r?\n`)

// strangeEnds returns a hint on what else may be wrong with a row of names.
func strangeEnds(header []string) string {
	for _, name := range header {
		switch {
		case strings.Contains(name, "\r"):
			return " Lines must end in LF or CRLF; here a carriage return stands alone."
		case len(header) == 1 && strings.ContainsAny(name, ",;\t|"):
			return " Cells must be separated by commas, semicolons or tabs, and format: {separator} may say by which."
		}
	}
	return ""
}

// separatorOf returns the one of comma, semicolon and tab that is most frequent in the row of
// names, outside of quotes. If two are equally frequent, it returns an error.
func separatorOf(head []byte) (rune, error) {
	var counts [256]int
	quoted := false
	for _, c := range bytes.TrimLeft(head, "\r\n") {
		if c == '\n' && !quoted {
			break
		}
		if quoted = quoted != (c == '"'); !quoted {
			counts[c]++
		}
	}
	best, tie := ',', false
	for _, c := range ";\t" {
		if counts[c] > 0 && counts[c] >= counts[best] {
			best, tie = c, counts[c] == counts[best]
		}
	}
	if tie {
		return 0, errors.New("has two kinds of separators as often as each other in its row of names; say which one " +
			"counts by format: {separator: comma}, or semicolon, or tab")
	}
	return best, nil
}
