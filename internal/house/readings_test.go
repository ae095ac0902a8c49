package house

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/reading"
)

const readingsPath = root + "/internal/emulator/readings.md"

// A readingRow is a line of the page of readings: a topic's reading, what the client does, and the
// tests that hold it.
type readingRow struct {
	line          int
	reading, does string
	tests         []string
}

// A readingSection is what the page says of a topic.
type readingSection struct {
	line     int
	sentence string
	rows     []readingRow
}

// readingSections reads the page: under a heading of the third level is a topic, its sentence
// quoted, and its table.
func readingSections(page string) map[string]*readingSection {
	sections := map[string]*readingSection{}
	var at *readingSection
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "### "):
			at = &readingSection{line: i + 1}
			sections[heading(line)] = at
		case strings.HasPrefix(line, "#"):
			at = nil
		case at == nil:
		case strings.HasPrefix(line, ">"):
			at.sentence = strings.TrimSpace(at.sentence + " " + strings.TrimSpace(line[1:]))
		case strings.HasPrefix(line, "|"):
			cells := markdownTable(lines[i:])
			for n, c := range cells[1:] {
				row := readingRow{line: i + n + 3, reading: c[0]}
				if len(c) == 3 && c[2] != "" {
					row.does, row.tests = c[1], strings.Split(c[2], ", ")
				}
				at.rows = append(at.rows, row)
			}
			i += len(cells)
		}
	}
	return sections
}

// plainText is a document's text as one line without marks, so that a sentence can be looked for in
// it.
func plainText(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("`", "", "|", " ").Replace(s)), " ")
}

// checkReadings wants a section of the page for each topic, with the document's words, a row for
// each reading, and tests that there are.
func checkReadings(topics []reading.Topic, page, document string, tests testFiles) (findings []string) {
	wrong := func(line int, format string, args ...any) {
		findings = append(findings, fmt.Sprintf("readings.md:%d: ", line)+fmt.Sprintf(format, args...))
	}
	sections := readingSections(page)
	for _, topic := range topics {
		section, ok := sections[topic.Name]
		if !ok {
			findings = append(findings, fmt.Sprintf("readings.md: no section ### %s", topic.Name))
			continue
		}
		delete(sections, topic.Name)
		if plainText(section.sentence) != plainText(topic.Sentence) ||
			!strings.Contains(plainText(document), plainText(topic.Sentence)) {
			wrong(section.line, "%s quotes %q, and the topic %q; want one sentence of interface.md in both", topic.Name,
				section.sentence, topic.Sentence)
		}
		var want, got []string
		for _, r := range topic.Readings {
			want = append(want, r.Name)
		}
		for _, row := range section.rows {
			got = append(got, row.reading)
			if row.does == "" || len(row.tests) == 0 {
				wrong(row.line, "%s=%s doesn't say what the client does, or names no test", topic.Name, row.reading)
			}
			for _, name := range row.tests {
				if _, _, err := tests.find(name); err != nil {
					wrong(row.line, "%s=%s names %s, and %v", topic.Name, row.reading, name, err)
				}
			}
		}
		if !slices.Equal(got, want) {
			wrong(section.line, "%s has rows for %q; want %q in this order", topic.Name, got, want)
		}
	}
	for name, section := range sections {
		wrong(section.line, "%s is no topic of internal/emulator/reading", name)
	}
	slices.Sort(findings)
	return findings
}

// TestReadings holds the page of readings against the topics, the interface document and the tests
// that there are.
func TestReadings(t *testing.T) {
	repo, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range checkReadings(reading.Topics(), text(t, readingsPath), text(t, documentPath),
		repo.tests()) {
		t.Error(finding)
	}
}

func TestReadingsNoticesEveryChange(t *testing.T) {
	topics := []reading.Topic{{Name: "size", Sentence: "Complete list of sizes: not shown.",
		Readings: []reading.Reading{{Name: "big", Means: "b"}, {Name: "small", Means: "s"}}}}
	const page = "# Readings\n\n## Area\n\n### size\n\n> Complete list of `sizes`:\n> not shown.\n\n| Reading | " +
		"Does | Tests |\n|---|---|---|\n" +
		"| `big` | takes it | a.TestA |\n| `small` | takes it | a.TestA, b.TestB/part |\n\n## Other\n"
	if findings := checkReadings(topics, page, smallDocument, smallTests); len(findings) > 0 {
		t.Fatalf("a page that is right: %q", findings)
	}
	for what, change := range map[string][2]string{
		"no section":         {"### size", "## size"},
		"a section too many": {"## Other", "### other"},
		"another sentence":   {"not shown.", "never shown."},
		"a reading's row":    {"| `big` | takes it | a.TestA |\n", ""},
		"another reading":    {"`big`", "`huge`"},
		"nothing done":       {"| `big` | takes it |", "| `big` | |"},
		"no test":            {"takes it | a.TestA |", "takes it | |"},
		"a test that isn't":  {"b.TestB/part", "b.TestZ"},
	} {
		changed := strings.Replace(page, change[0], change[1], 1)
		if changed == page {
			t.Fatalf("%s changes nothing", what)
		}
		if findings := checkReadings(topics, changed, smallDocument, smallTests); len(findings) == 0 {
			t.Errorf("%s isn't noticed", what)
		}
	}
}
