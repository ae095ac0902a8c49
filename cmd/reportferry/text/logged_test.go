package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Nothing is logged under a name that the schema doesn't have. Names that are made at run time are
// seen by the test that reads the lines of every command.
func TestLoggedNamesAreKnown(t *testing.T) {
	known, used := map[string]bool{}, map[string]bool{}
	for _, f := range logFields {
		if known[f.Name] {
			t.Errorf("%s is declared twice", f.Name)
		}
		known[f.Name] = true
	}
	calls := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			for i, name := range namesOf(call) {
				if i == 0 {
					calls++
				}
				used[name] = true
				if !known[name] {
					t.Errorf("%s logs %q, which no line has by the schema", path, name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || calls < 60 || len(used) < 30 {
		t.Errorf("%d calls, %d names: %v", calls, len(used), err)
	}
}

// namesOf are the names under which a call logs; none when it isn't one of a logger.
func namesOf(call *ast.CallExpr) (names []string) {
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is || !isLogger(method.X) {
		return nil
	}
	first, logs := map[string]int{"With": 0, "Info": 1, "Warn": 1, "Error": 1, "Debug": 1, "InfoContext": 2,
		"WarnContext": 2, "Log": 3}[method.Sel.Name]
	if !logs {
		return nil
	}
	for i := first; i < len(call.Args); i += 2 {
		if lit, is := call.Args[i].(*ast.BasicLit); is && lit.Kind == token.STRING {
			name, _ := strconv.Unquote(lit.Value)
			names = append(names, name)
		}
	}
	return names
}

// isLogger tells it by the name: log, Log, Logger, or what With gives.
func isLogger(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return strings.EqualFold(x.Name, "log") || strings.EqualFold(x.Name, "logger")
	case *ast.SelectorExpr:
		return isLogger(x.Sel)
	case *ast.CallExpr:
		if method, is := x.Fun.(*ast.SelectorExpr); is {
			return method.Sel.Name == "With" && isLogger(method.X) || isLogger(method.Sel)
		}
	}
	return false
}
