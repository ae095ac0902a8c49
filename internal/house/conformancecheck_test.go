package house

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A small document and its table.
const (
	smallDocument = `# The service

What it does, in short, and for whom it does so.

## Sizes

1. Small.
2. Large: 404 is no code here.

| Key | Parameter | Type |
|---|---|---|
| p_1 (first) | ` + "`a`" + ` | string |
| p_2 (second) | b | string |
| p_2 | c | boolean |

| Limit | Value |
|---|---|
| length | 12 to 256 |

Complete list of sizes: not shown.
Status codes: 200 fine; 429 too many.

### Names of ` + "`{url}`" + `

Filters: ` + "`<d>__in` and `<m>__lt`" + `.

Allowed metric names: all, one.
`
	smallTable = `# How it is held

| not of | the | table |

## The service

| Item | Held by | Tests |
|---|---|---|
| Text What it does, in short, and | words | a.TestA |

## Sizes

| Item | Held by | Tests |
|---|---|---|
| Rule 1 | words | a.TestA, b.TestB/a_part,_of_it |
| Rule 2 | words | b.TestB |
| Key ` + "`p_1 a`" + ` | words | a.TestA |
| Key ` + "`p_2 b`" + ` | words | a.TestA |
| Key ` + "`p_2 c`" + ` | words | a.TestA |
| Limit length | words | a.TestA |
| Status 200 | words | a.TestA |
| Status 429 | words | a.TestA |

## Names of {url}

| Item | Held by | Tests |
|---|---|---|
| Filter ` + "`<d>__in`" + ` | words | a.TestA |
| Filter ` + "`<m>__lt`" + ` | words | a.TestA |
| Metric all | words | a.TestA |
| Metric one | words | c.TestC |
`
)

// working is a test that works with some words and can fail.
func working(words ...string) *namedTest { return &namedTest{words: words, asserts: true} }

var smallTests = testFiles{
	"in/a": {"TestA": working("a", `{"b":1,"c":2}`, "length", "200", "429", "n__in=1", "n__lt=1", "all"),
		"TestOther": working(), "TestLast": working(), "TestNever": {}},
	"b":    {"TestB": working()},
	"in/c": {"TestC": working("one")}, "x/d": {"TestD": working()}, "y/d": {"TestD": working("one")},
	"z/x/d": {"TestD": working()},
}

func TestConformanceNoticesEveryChange(t *testing.T) {
	for _, c := range []struct{ name, document, table, change, to, want string }{
		{"nothing", "", "", "", "", ""},
		{"a row is gone", "", "*", "| Rule 2 | words | b.TestB |\n", "",
			`coverage.txt: no row for "Rule 2" under "Sizes"`},
		{"a row of another section", "", "*", "## Names of {url}", "## Names",
			`coverage.txt:28: "Filter <d>__in" is nothing under "Names" in interface.md`},
		{"a row of nothing", "", "*", "| Rule 2", "| Rule 3",
			`coverage.txt:16: "Rule 3" is nothing under "Sizes" in interface.md`},
		{"a row twice", "", "*", "| Rule 2", "| Rule 1", `coverage.txt:16: "Rule 1" has a row in line 15`},
		{"no words", "", "*", "| Rule 2 | words |", "| Rule 2 | |",
			`coverage.txt:16: "Rule 2" doesn't say what holds it`},
		{"no test", "", "*", "| b.TestB |", "| |",
			`coverage.txt:16: "Rule 2" doesn't say what holds it, or names no test`},
		{"two cells", "", "*", "words | b.TestB |", "b.TestB |",
			`coverage.txt:16: "Rule 2" doesn't say what holds it, or names no test`},
		{"more of the path", "", "*", "c.TestC", "in/c.TestC", ""},
		{"as much of the path as is needed", "", "*", "c.TestC", "y/d.TestD", ""},
		{"a folder's whole path is another's end", "", "*", "b.TestB |", "x/d.TestD |", ""},
		{"too little of the path", "", "*", "c.TestC", "d.TestD",
			`coverage.txt:31: "Metric one" names d.TestD, and it is in several folders: x/d, y/d, z/x/d; write more of the path`},
		{"a test of another name", "", "*", "c.TestC", "c.TestD",
			`coverage.txt:31: "Metric one" names c.TestD, and there is no such test`},
		{"a test of another package", "", "*", "c.TestC", "a.TestC",
			`coverage.txt:31: "Metric one" names a.TestC, and there is no such test`},
		{"another test", "", "*", "c.TestC", "a.TestA",
			`coverage.txt:31: "Metric one" names tests of which none works with ["one"]`},
		{"a test without an assertion", "", "*", "c.TestC", "c.TestC, a.TestNever",
			`coverage.txt:31: "Metric one" names a.TestNever, which can't fail`},
		{"a rule more", "*", "", "1. Small.", "1. Small.\n3. Tiny.",
			`coverage.txt: no row for "Rule 3" under "Sizes"`},
		{"a rule by two", "*", "", "2. Large", "1. Large", `interface.md: "Rule 1" is twice under "Sizes"`},
		{"a line more", "*", "", "| length |", "| depth | 3 |\n| length |",
			`coverage.txt: no row for "Limit depth" under "Sizes"`},
		{"a parameter of another name", "*", "", "| p_2 | c", "| p_2 | d",
			`coverage.txt: no row for "Key p_2 d" under "Sizes"`},
		{"a code more", "*", "", "429 too many", "429 too many; 503 none",
			`coverage.txt: no row for "Status 503" under "Sizes"`},
		{"a filter more", "*", "", " and `<m>__lt`", ", `<m>__gt` and `<m>__lt`",
			`coverage.txt: no row for "Filter <m>__gt"`},
		{"a metric more", "*", "", "all, one", "all, two, one", `coverage.txt: no row for "Metric two"`},
		{"a paragraph more", "*", "", "1. Small.", "Sizes are in mm.\n1. Small.",
			`coverage.txt: no row for "Text Sizes are in mm" under "Sizes"`},
	} {
		document, table := smallDocument, smallTable
		for _, text := range []*string{&document, &table} {
			if on := map[*string]string{&document: c.document, &table: c.table}[text]; on == "*" {
				if strings.Count(*text, c.change) != 1 {
					t.Fatalf("%s: %q isn't there once", c.name, c.change)
				}
				*text = strings.Replace(*text, c.change, c.to, 1)
			}
		}
		got := checkConformance(document, table, smallTests)
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got,
			func(f string) bool { return strings.HasPrefix(f, c.want) }) {
			t.Errorf("%s: findings\n%s\nwant %q", c.name, strings.Join(got, "\n"), c.want)
		}
	}
	if got := len(documentItems(smallDocument)); got != 13 {
		t.Errorf("%d items, want 13: %v", got, documentItems(smallDocument))
	}
}

func TestOnlyTestsThatRanAndPassedCount(t *testing.T) {
	event := func(action, folder, test string) string {
		return fmt.Sprintf(`{"Action":%q,"Package":"example.org/m/%s","Test":%q}`+"\n", action, folder, test)
	}
	passed := []string{event("run", "in/a", "TestA"), event("pass", "in/a", "TestA"), event("run", "b", "TestB"),
		event("pass", "b", "TestB/another"), event("pass", "b", "TestB/a_part,_of_it"), event("pass", "b", "TestB"),
		event("skip", "in/a", "TestOther"), event("pass", "in/c", "TestC"), event("fail", "in/a", "TestLast"),
		event("pass", "in/c", "")}
	for _, c := range []struct{ name, change, to, want string }{
		{"all pass", "", "", ""},
		{"one is skipped", event("pass", "in/c", "TestC"), event("skip", "in/c", "TestC"),
			`coverage.txt:31: "Metric one": c.TestC was skipped`},
		{"one fails", event("pass", "in/c", "TestC"), event("fail", "in/c", "TestC"),
			`coverage.txt:31: "Metric one": c.TestC failed`},
		{"one doesn't run", event("pass", "in/c", "TestC"), "", `coverage.txt:31: "Metric one": c.TestC didn't run`},
		{"one runs elsewhere", event("pass", "in/c", "TestC"), event("pass", "c", "TestC"),
			`coverage.txt:31: "Metric one": c.TestC didn't run`},
		{"one never ends", event("pass", "in/a", "TestA"), "",
			`coverage.txt:9: "Text What it does, in short, and": a.TestA didn't run`},
		{"a part is skipped", event("pass", "b", "TestB/another"), event("skip", "b", "TestB/another/deep"),
			`coverage.txt:16: "Rule 2": b.TestB was skipped, or a part of it`},
		{"the named part doesn't run", event("pass", "b", "TestB/a_part,_of_it"), "",
			`coverage.txt:15: "Rule 1": b.TestB/a_part,_of_it didn't run`},
		{"passed, then failed", event("pass", "in/c", "TestC"), event("pass", "in/c", "TestC") + event("fail", "in/c",
			"TestC"), `coverage.txt:31: "Metric one": c.TestC failed`},
	} {
		log := strings.Replace(strings.Join(passed, ""), c.change, c.to, 1)
		got, err := checkRan(strings.NewReader(log), "example.org/m", smallTable, smallTests)
		if err != nil || c.want == "" && len(got) > 0 || c.want != "" &&
			(len(got) == 0 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s: findings\n%s\n%v, want %q", c.name, strings.Join(got, "\n"), err, c.want)
		}
	}
	if _, err := checkRan(strings.NewReader("ok  \texample.org/m/a\t0.1s\n"), "example.org/m", smallTable,
		smallTests); err == nil {
		t.Error("what go test prints without -json is read as JSON")
	}
}

func TestTestsAreFoundByName(t *testing.T) {
	src := "func TestA(t *testing.T) {}\nfunc Testing() {}\nfunc TestMain(m *testing.M) {}\nfunc (x) TestX() " +
		"{}\nfunc BenchmarkB(b *testing.B) {}\n"
	tests := tempTree(t, map[string]string{
		"in/a/a_test.go": "package a\n" + src, "in/b/b.go": "package b\n" + src,
		"c/c_test.go":       "package c_test\nfunc Test(t *testing.T) {}\n",
		"other/a/a_test.go": "package a\n" + strings.ReplaceAll(src, "TestA", "Test_b"),
		"c/a/a_test.go":     "package a\n" + src,
	}).tests()
	var got []string
	for folder, in := range tests {
		for test := range in {
			got = append(got, folder+"."+test)
		}
	}
	slices.Sort(got)
	if want := []string{"c.Test", "c/a.TestA", "in/a.TestA", "other/a.Test_b"}; !slices.Equal(got, want) ||
		tests["c"]["Test"] == nil {
		t.Errorf("tests %v, want %v", got, want)
	}
}
