package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A namedTest is a test as the table sees it: what it works with, which its words show, and whether
// it can fail. Its words are the literals of its own body and of the functions and tables that it
// reaches in the test files of its package: what it sends and what it compares. A message to people
// isn't among them, nor a comment, nor a subtest's name.
type namedTest struct {
	words   []string
	asserts bool
	// Subtests that are written as t.Run("name", func...), by the name that go test prints.
	parts map[string]*namedTest
}

// part is the named subtest where its body is written down, else the whole test, which makes it of
// a table.
func (n *namedTest) part(name string) *namedTest {
	_, name, _ = strings.Cut(name, "/")
	for name != "" {
		if p := n.parts[name]; p != nil {
			return p
		}
		name = name[:max(strings.LastIndexByte(name, '/'), 0)]
	}
	return n
}

// works tells whether the test works with a word: a literal that is the word, or that has it
// between the signs of a query, a path, JSON or a list of such names. A word of a sentence doesn't
// count.
func (n *namedTest) works(word string) bool {
	by := regexp.MustCompile(`(^|__|["'=&?/,:;{}\[\]|()<>.\\\n])` + regexp.QuoteMeta(word) +
		`($|__|["'=&?/,:;{}\[\]|()<>.\\\n])`)
	return slices.ContainsFunc(n.words, by.MatchString)
}

// testPackage are the declarations of one package's test files, by name. A method is found by its
// name alone.
type testPackage map[string][]ast.Node

func (p testPackage) add(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p[d.Name.Name] = append(p[d.Name.Name], d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						p[name.Name] = append(p[name.Name], v)
					}
				}
			}
		}
	}
}

// read follows a test's body to all that it reaches.
func (p testPackage) read(body ast.Node) *namedTest {
	n := &namedTest{parts: map[string]*namedTest{}}
	p.follow(n, body, map[string]bool{}, true)
	slices.Sort(n.words)
	n.words = slices.Compact(n.words)
	return n
}

func (p testPackage) follow(n *namedTest, at ast.Node, seen map[string]bool, own bool) {
	reach := func(name string) {
		if !seen[name] && !testName.MatchString(name) {
			seen[name] = true
			for _, d := range p[name] {
				p.follow(n, d, seen, false)
			}
		}
	}
	ast.Inspect(at, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(node.Value)
			if node.Kind != token.STRING || err != nil {
				text = node.Value
			}
			n.words = append(n.words, text)
		case *ast.Ident:
			reach(node.Name)
		case *ast.CallExpr:
			return p.call(n, node, seen, own)
		}
		return true
	})
}

// call looks at a call: one that says or fails has words for people, and t.Run is a part of the
// test.
func (p testPackage) call(n *namedTest, c *ast.CallExpr, seen map[string]bool, own bool) (goOn bool) {
	for _, arg := range c.Args {
		if id, ok := arg.(*ast.Ident); ok && (id.Name == "t" || id.Name == "tb") {
			// What is ours is looked into, what is another package's fails by itself.
			n.asserts = n.asserts || p[calledName(c)] == nil
		}
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return true
	}
	switch sel.Sel.Name {
	case "Error", "Errorf", "Fatal", "Fatalf":
		if id, ok := sel.X.(*ast.Ident); ok && (id.Name == "t" || id.Name == "tb") {
			n.asserts = true
			return false
		}
	case "Log", "Logf", "Skip", "Skipf", "Println", "Printf":
		return false
	case "Run":
		if len(c.Args) != 2 {
			return true
		}
		name, literal := c.Args[0].(*ast.BasicLit)
		body, written := c.Args[1].(*ast.FuncLit)
		if !literal || !written {
			return true
		}
		if text, err := strconv.Unquote(name.Value); err == nil && own {
			n.parts[strings.ReplaceAll(text, " ", "_")] = p.read(body.Body)
		}
		p.follow(n, body, seen, own)
		return false
	}
	return true
}

func calledName(c *ast.CallExpr) string {
	if id, ok := c.Fun.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// testFiles has every test by its folder and its name.
type testFiles map[string]map[string]*namedTest

// tests finds every test of the tree.
func (t *tree) tests() testFiles {
	packages := map[string]testPackage{}
	for _, f := range t.files {
		if f.test {
			key := f.folder + " " + f.Name.Name
			if packages[key] == nil {
				packages[key] = testPackage{}
			}
			packages[key].add(f.File)
		}
	}
	tests := testFiles{}
	for _, f := range t.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !f.test || fn.Recv != nil || !testName.MatchString(fn.Name.Name) || fn.Name.Name == "TestMain" {
				continue
			}
			if tests[f.folder] == nil {
				tests[f.folder] = map[string]*namedTest{}
			}
			tests[f.folder][fn.Name.Name] = packages[f.folder+" "+f.Name.Name].read(fn.Body)
		}
	}
	return tests
}

// A word holds an item when a test works with it, wherever else in its file the word may be.
func TestWordsAreOfTheTestThatWorksWithThem(t *testing.T) {
	const file = `package a

// A comment says "moon".
const unused = "moon"

var table = []string{"/sun?star=1", "` + "`" + `{\"field\":1}` + "`" + `"}

func TestOther(t *testing.T) {
	if f("moon") { t.Error("no") }
}

func TestOwn(t *testing.T) {
	if f("moon") { t.Error("no") }
}

func TestQuery(t *testing.T) {
	if f("?a=1&moon__in=2") { t.Error("no") }
}

func TestReached(t *testing.T) { look(t) }

func look(t *testing.T) {
	for _, c := range table { if f(c) { t.Fatal(c) } }
}

func TestTable(t *testing.T) {
	for _, c := range []string{"moon", "mars"} { t.Run(c, func(t *testing.T) { if f(c) { t.Error(c) } }) }
}

func TestMessage(t *testing.T) {
	t.Log("moon")
	if f("x") { t.Errorf("no %s", "moon") }
}

func TestSentence(t *testing.T) {
	if f("the moon is far") { t.Error("no") }
}

func TestPartOfAWord(t *testing.T) {
	if f("honeymoon", "moonlight", "full_moon") { t.Error("no") }
}

func TestParts(t *testing.T) {
	t.Run("moon", func(t *testing.T) {})
	t.Run("mars sky", func(t *testing.T) { if f("moon") { t.Error("no") } })
}

func TestFree(t *testing.T) { f("moon") }

func TestHandsOn(t *testing.T) { other.Check(t, "moon") }
`
	tests := tempTree(t, map[string]string{"a/a_test.go": file,
		"a/a.go":      "package a\n\nvar f = func(...string) bool { return \"moon\" == \"\" }\n",
		"b/a_test.go": "package b\n\nfunc TestElsewhere(t *testing.T) { look(t) }\n"}).tests()
	for _, c := range []struct {
		name, word     string
		works, asserts bool
	}{
		{"a.TestOwn", "moon", true, true},
		{"a.TestOwn", "mo", false, true},
		{"a.TestQuery", "moon", true, true},
		{"a.TestQuery", "in", true, true},
		{"a.TestReached", "star", true, true},
		{"a.TestReached", "field", true, true},
		{"a.TestReached", "moon", false, true}, // in the same file, in other tests
		{"a.TestTable/moon", "moon", true, true},
		{"a.TestMessage", "moon", false, true},
		{"a.TestSentence", "moon", false, true},
		{"a.TestPartOfAWord", "moon", false, true},
		{"a.TestParts/moon", "moon", false, false}, // a name alone
		{"a.TestParts/mars_sky", "moon", true, true},
		{"a.TestParts/mars_sky/deeper", "moon", true, true},
		{"a.TestParts", "moon", true, true},
		{"a.TestFree", "moon", true, false},
		{"a.TestHandsOn", "moon", true, true},
		{"b.TestElsewhere", "star", false, true}, // another package's table
	} {
		folder, test, err := tests.find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if part := tests[folder][test].part(c.name); part.works(c.word) != c.works || part.asserts != c.asserts {
			t.Errorf("%s and %q: works %t, can fail %t, want %t and %t; its words are %q", c.name, c.word,
				part.works(c.word), part.asserts, c.works, c.asserts, part.words)
		}
	}
}
