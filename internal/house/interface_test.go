package house

import (
	"regexp"
	"strings"
)

// An item is what the interface document says in one place: a table's line by its first cell, a
// numbered rule, a status code, a filter, a metric's name, or a paragraph by its first words.
type item struct{ section, name string }

var (
	numbered   = regexp.MustCompile(`^(\d+)\. `)
	statusCode = regexp.MustCompile(`\b[1-5]\d\d\b`)
	filterName = regexp.MustCompile("`(<[dm]>__[a-z_]+)`")
	notShown   = regexp.MustCompile(`^[^.]*not shown\.$`)
)

// wordsOfText is how many words name a paragraph.
const wordsOfText = 6

// documentItems gives the items in the document's order. Only what the document leaves open ("...
// not shown.") is none.
func documentItems(document string) []item {
	var items []item
	section := ""
	add := func(kind, name string) { items = append(items, item{section, kind + " " + name}) }
	lines := strings.Split(document, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			section = heading(line)
		case strings.HasPrefix(line, "|"):
			table := markdownTable(lines[i:])
			header, twice := table[0][0], repeats(table[1:])
			for _, cells := range table[1:] {
				name := cells[0]
				if twice {
					name = beforeBracket(name) + " " + cells[1]
				}
				add(header, name)
			}
			i += len(table) // and the line under the header
		case numbered.MatchString(line):
			add("Rule", numbered.FindStringSubmatch(line)[1])
		default:
			for _, f := range filterName.FindAllStringSubmatch(line, -1) {
				add("Filter", f[1])
			}
			if names, ok := strings.CutPrefix(line, "Allowed metric names: "); ok {
				for name := range strings.SplitSeq(strings.TrimSuffix(names, "."), ", ") {
					add("Metric", name)
				}
			} else if isText(line) {
				add("Text", firstWords(line))
			}
			for _, code := range statusCode.FindAllString(line, -1) {
				add("Status", code)
			}
		}
	}
	return items
}

func heading(line string) string {
	return strings.ReplaceAll(strings.TrimSpace(strings.TrimLeft(line, "#")), "`", "")
}

// isText tells paragraphs that say something by themselves from introductions of what follows and
// lists of the above.
func isText(line string) bool {
	introduces := strings.HasSuffix(line, ":") && !strings.Contains(line, ". ")
	return !introduces && !strings.HasPrefix(line, "(") && !strings.HasPrefix(line, "Status codes") &&
		!filterName.MatchString(line) && !notShown.MatchString(line)
}

func firstWords(line string) string {
	line, _, _ = strings.Cut(line, ":")
	words := strings.Fields(strings.ReplaceAll(line, "`", ""))
	return strings.TrimRight(strings.Join(words[:min(len(words), wordsOfText)], " "), ".,")
}

// markdownTable reads the table that the lines begin with: its header, and its rows without the
// line between.
func markdownTable(lines []string) (table [][]string) {
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i == 1 {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), "`", ""))
		}
		table = append(table, cells)
	}
	return table
}

func beforeBracket(cell string) string {
	cell, _, _ = strings.Cut(cell, " (")
	return cell
}

// repeats reports whether first cells come again, so that the second has to tell them apart.
func repeats(rows [][]string) bool {
	seen := map[string]bool{}
	for _, cells := range rows {
		if name := beforeBracket(cells[0]); seen[name] {
			return true
		} else {
			seen[name] = true
		}
	}
	return false
}
