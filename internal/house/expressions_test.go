package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// checkExpressions keeps regular expressions out of the start of the program, which has dozens and
// needs a few: those of a package are lazy. Nothing compiles a lazy one before it is needed, so all
// are compiled here.
func checkExpressions(t *tree) []string {
	var findings []string
	for _, f := range t.code() {
		if strings.HasSuffix(f.folder, "test") { // only tests import it
			continue
		}
		paths := f.names()
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			ast.Inspect(vars, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if _, inside := n.(*ast.FuncLit); inside || !ok {
					return !inside
				}
				s, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, _ := s.X.(*ast.Ident)
				switch {
				case x == nil:
				case paths[x.Name] == "regexp":
					findings = append(findings,
						t.at(call, "regexp.%s at the start; lazy.Regexp compiles it when it is used", s.Sel.Name))
				case s.Sel.Name == "Regexp" && strings.HasSuffix(paths[x.Name], "/internal/lazy"):
					if _, err := regexp.Compile(written(call.Args[0])); err != nil {
						findings = append(findings, t.at(call, "%v", err))
					}
				}
				return true
			})
		}
	}
	return findings
}

// written is what a constant of one or several pieces says.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value) // the file is Go, so it is well formed
		return s
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return written(e.X) + written(e.Y)
		}
	}
	return "(" // which doesn't compile: an expression is written where it is made
}

var expressionRules = []rule{{
	name: "expressions", check: checkExpressions,
	bad: map[string]string{
		"jobs/a.go": `package jobs

import (
	"regexp"

	"example.org/m/internal/lazy"
)

var at = regexp.MustCompile("a")

var (
	good   = lazy.Regexp("a" + "+")
	later  = func() *regexp.Regexp { return regexp.MustCompile("b") }
	broken = lazy.Regexp("a" + "(")
)

func inside() bool { return regexp.MustCompile("c").MatchString("c") }
`,
		"jobs/jobstest/a.go": "package jobstest\n\nimport \"regexp\"\n\nvar at = regexp.MustCompile(\"a\")\n",
		"jobs/a_test.go":     "package jobs\n\nimport \"regexp\"\n\nvar seen = regexp.MustCompile(\"a\")\n",
	},
	want: []string{
		"jobs/a.go:9: regexp.MustCompile at the start",
		"jobs/a.go:14: error parsing regexp: missing closing ): `a(`",
	},
}}
