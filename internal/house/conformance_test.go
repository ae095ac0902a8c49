package house

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The interface document is kept whole: what this project builds is what was asked for there. The
// table beside it names for each of its items the tests that hold it.
const (
	documentPath = root + "/internal/emulator/interface.md"
	tablePath    = root + "/internal/emulator/conformance/testdata/coverage.txt"
	documentSum  = "603b83ebcad7fe438daa883455b3553b262bb133bddd56a44387570463e78d55"
)

var ran = flag.String("ran", "", "what go test -json ./... printed: the tests that the table names must have passed "+
	"in it")

// A conformanceRow is a line of the table: an item, in words what holds it, and the tests, each as
// folder.Test or folder.Test/subtest, where folder is as much of the path's end as tells the test
// from one of the same name in another folder: report.TestA, or jobs/report.TestA where
// emulator/report has a TestA too.
type conformanceRow struct {
	item
	line  int
	held  string
	tests []string
}

// tableRows reads the table; its headings are the document's.
func tableRows(table string) (rows []conformanceRow) {
	section := ""
	lines := strings.Split(table, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "#") {
			section = heading(lines[i])
		}
		if !strings.HasPrefix(lines[i], "|") {
			continue
		}
		cells := markdownTable(lines[i:])
		for n, c := range cells[1:] {
			row := conformanceRow{item: item{section, c[0]}, line: i + n + 3}
			if len(c) == 3 && c[2] != "" {
				row.held, row.tests = c[1], strings.Split(c[2], ", ")
			}
			rows = append(rows, row)
		}
		i += len(cells)
	}
	return rows
}

// words are what a test of the item can't do without: a field's name, a code, an endpoint's method
// and the fixed parts of its path; none of what has only sentences.
func (it item) words() []string {
	kind, name, _ := strings.Cut(it.name, " ")
	if slices.Contains([]string{"Text", "Rule", "Limit"}, kind) {
		return nil
	}
	method, path, _ := strings.Cut(strings.TrimPrefix(name, "and path "), " ")
	if strings.HasPrefix(path, "/") {
		return append(strings.FieldsFunc(regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, ""),
			func(c rune) bool { return c == '/' }), method)
	}
	name = name[strings.LastIndexByte(name, ' ')+1:]
	return []string{strings.TrimPrefix(name[strings.LastIndex(name, ">__")+1:], "__")}
}

// checkConformance compares the document's items, the table's rows and the tests that there are.
// One of a row's tests must work with the item's word, and each must be able to fail.
func checkConformance(document, table string, tests testFiles) (findings []string) {
	wrong := func(line int, format string, args ...any) {
		findings = append(findings, fmt.Sprintf("coverage.txt:%d: ", line)+fmt.Sprintf(format, args...))
	}
	items, at := documentItems(document), map[item]int{}
	for _, it := range items {
		if at[it] != 0 {
			findings = append(findings,
				fmt.Sprintf("interface.md: %q is twice under %q; tell them apart in documentItems", it.name,
					it.section))
		}
		at[it] = -1
	}
	for _, row := range tableRows(table) {
		switch first, is := at[row.item]; {
		case !is:
			wrong(row.line, "%q is nothing under %q in interface.md", row.name, row.section)
		case first > 0:
			wrong(row.line, "%q has a row in line %d", row.name, first)
		default:
			at[row.item] = row.line
		}
		if row.held == "" || len(row.tests) == 0 {
			wrong(row.line, "%q doesn't say what holds it, or names no test; want | item | what holds it | tests |",
				row.name)
		}
		words := row.words()
		worked := len(words) == 0
		for _, name := range row.tests {
			folder, test, err := tests.find(name)
			if err != nil {
				wrong(row.line, "%q names %s, and %v", row.name, name, err)
				continue
			}
			part := tests[folder][test].part(name)
			if !part.asserts {
				wrong(row.line, "%q names %s, which can't fail", row.name, name)
			}
			worked = worked || !slices.ContainsFunc(words, func(w string) bool { return !part.works(w) })
		}
		if !worked {
			wrong(row.line, "%q names tests of which none works with %q", row.name, words)
		}
	}
	for _, it := range items {
		if at[it] == -1 {
			findings = append(findings, fmt.Sprintf("coverage.txt: no row for %q under %q", it.name, it.section))
			at[it] = 0
		}
	}
	return findings
}

var testName = regexp.MustCompile(`^Test($|[^a-z])`)

// find finds the test that the table names, by the end of its folder's path. A subtest is looked
// for by its test.
func (tests testFiles) find(name string) (folder, test string, err error) {
	end, test, _ := strings.Cut(name, ".")
	test, _, _ = strings.Cut(test, "/")
	var folders []string
	for _, f := range slices.Sorted(maps.Keys(tests)) {
		if _, has := tests[f][test]; has && (f == end || strings.HasSuffix(f, "/"+end)) {
			folders = append(folders, f)
		}
	}
	switch {
	case len(folders) == 0:
		return "", test, errors.New("there is no such test")
	case len(folders) > 1 && !slices.Contains(folders, end):
		return "", test, fmt.Errorf("it is in several folders: %s; write more of the path", strings.Join(folders, ", "))
	case len(folders) > 1:
		folders[0] = end // a whole path
	}
	return folders[0], test, nil
}

// checkRan reads what go test -json printed and finds the named tests that didn't pass in it, or of
// which a part was skipped.
func checkRan(log io.Reader, module, table string, tests testFiles) ([]string, error) {
	passed, bad := map[string]bool{}, map[string]string{}
	events := json.NewDecoder(log)
	for {
		var e struct{ Action, Package, Test string }
		if err := events.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go test -json printed: %w", err)
		}
		name := e.Package + "." + e.Test
		switch e.Action {
		case "pass":
			passed[name] = true
		case "fail", "skip":
			// It and the tests that it is a part of.
			for test := e.Test; ; test = test[:strings.LastIndexByte(test, '/')] {
				if name := e.Package + "." + test; bad[name] == "" {
					bad[name] = e.Action
				}
				if !strings.Contains(test, "/") {
					break
				}
			}
		}
	}
	var findings []string
	for _, row := range tableRows(table) {
		for _, name := range row.tests {
			folder, _, err := tests.find(name)
			if err != nil {
				continue // checkConformance says it
			}
			_, test, _ := strings.Cut(name, ".")
			test = path.Join(module, folder) + "." + test
			what := map[string]string{"fail": "failed", "skip": "was skipped, or a part of it"}[bad[test]]
			if what == "" && !passed[test] {
				what = "didn't run"
			}
			if what != "" {
				findings = append(findings, fmt.Sprintf("coverage.txt:%d: %q: %s %s", row.line, row.name, name, what))
			}
		}
	}
	return findings, nil
}

// TestConformance has a row of the table for each item of the interface document, and tests by the
// names that it names. With -ran it also wants those tests to have passed in that run.
func TestConformance(t *testing.T) {
	repo, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	document, table := text(t, documentPath), text(t, tablePath)
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(document))); sum != documentSum {
		t.Errorf("interface.md isn't the document that was agreed on: its SHA-256 is %s, want %s", sum, documentSum)
	}
	tests := repo.tests()
	findings := checkConformance(document, table, tests)
	if *ran != "" {
		more, err := checkRan(strings.NewReader(text(t, *ran)), repo.module, table, tests)
		if err != nil {
			t.Fatal(err)
		}
		findings = append(findings, more...)
	}
	for _, finding := range findings {
		t.Error(finding)
	}
	t.Logf("%d items, %d rows, %d folders with tests", len(documentItems(document)), len(tableRows(table)), len(tests))
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
