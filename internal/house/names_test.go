package house

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// mostMethods is of an interface in jobs and sinks: what is wider is a concrete type with a name.
const mostMethods = 3

// checkInterfaces counts the methods of every interface in jobs, sinks and below. An embedded
// interface of the same folder counts with its methods; one of another package counts once, because
// only its name is in the parsed file.
func checkInterfaces(t *tree) []string {
	var findings []string
	order, files := t.folders()
	for _, folder := range order {
		if top, _, _ := strings.Cut(folder, "/"); top != "jobs" && top != "sinks" {
			continue
		}
		types := map[string]ast.Expr{}
		for _, f := range files[folder] {
			ast.Inspect(f.File, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok {
					types[s.Name.Name] = s.Type
				}
				return true
			})
		}
		for _, f := range files[folder] {
			ast.Inspect(f.File, func(n ast.Node) bool {
				if i, ok := n.(*ast.InterfaceType); ok {
					if count := methods(i, types, nil); count > mostMethods {
						findings = append(findings, t.at(i, "an interface of %d methods; at most %d", count,
							mostMethods))
					}
				}
				return true
			})
		}
	}
	return findings
}

// methods counts what the type asks for as an embedded one; seen are the names that led to it.
func methods(e ast.Expr, types map[string]ast.Expr, seen []string) int {
	switch e := e.(type) {
	case *ast.InterfaceType:
		count := 0
		for _, field := range e.Methods.List {
			count += len(field.Names)
			if len(field.Names) == 0 {
				count += methods(field.Type, types, seen)
			}
		}
		return count
	case *ast.Ident:
		if def, ok := types[e.Name]; ok && !slices.Contains(seen, e.Name) {
			return methods(def, types, append(seen, e.Name))
		}
	case *ast.SelectorExpr:
		return 1
	}
	return 0 // a type in a constraint
}

// Names that say nothing of what is inside, so that anything ends up there.
var hollow = []string{"common", "helper", "helpers", "manager", "managers", "util", "utils"}

func checkFolderNames(t *tree) []string {
	var findings []string
	order, files := t.folders()
	for _, folder := range order {
		for _, name := range []string{path.Base(folder), files[folder][0].Name.Name} {
			if slices.Contains(hollow, name) {
				findings = append(findings, t.at(files[folder][0].Name, "a package named %s; name what it is for",
					name))
				break
			}
		}
	}
	return findings
}

// Names that mean something only to those who have read the package: what they stand for has a word
// of the field.
var private = []string{
	"course", "desk", "edition", "editions", "found", "judge", "lane", "lanes", "letGo", "look", "of", "recall", "said",
	"say", "see", "seen", "settle",
	"shift", "standing", "tell", "told", "trial", "verdict", "warrant", "witness", "work",
}

// checkPrivateNames looks at types, functions and methods. The emulator, and what only tests use,
// are left out.
func checkPrivateNames(t *tree) []string {
	var findings []string
	order, files := t.folders()
	for _, folder := range order {
		if strings.HasSuffix(folder, "test") || strings.HasPrefix(folder+"/", "internal/emulator/") {
			continue
		}
		for _, f := range files[folder] {
			check := func(id *ast.Ident) {
				if slices.Contains(private, id.Name) {
					findings = append(findings, t.at(id, "the name %s; a newcomer doesn't know what it is", id.Name))
				}
			}
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					check(d.Name)
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if s, ok := spec.(*ast.TypeSpec); ok {
							check(s.Name)
						}
					}
				}
			}
		}
	}
	return findings
}

// Phrases with which a comment has to be read twice.
var phrases = []string{"of which", "tell of", "tells of", "told of", "who has"}

// checkPhrases looks at the comments of what isn't a test. A comment's lines are one text.
func checkPhrases(t *tree) []string {
	var findings []string
	order, files := t.folders()
	for _, folder := range order {
		if strings.HasPrefix(folder+"/", "internal/emulator/") {
			continue
		}
		for _, f := range files[folder] {
			for _, c := range f.Comments {
				text := " " + strings.Join(strings.Fields(c.Text()), " ") + " "
				for _, phrase := range phrases {
					if !f.test && strings.Contains(text, " "+phrase+" ") {
						findings = append(findings, t.at(c, "%q in a comment; say who does what", phrase))
					}
				}
			}
		}
	}
	return findings
}

var nameRules = []rule{{
	name: "phrases", check: checkPhrases,
	bad: map[string]string{
		"jobs/a.go": "package jobs\n\n// a is a list of\n// which some are b.\ntype a int\n\n// c has which of " +
			"them.\ntype c int // it tells of a\n",
		"jobs/a_test.go": "package jobs\n\n// a tells of b.\ntype a int\n",
	},
	want: []string{
		"jobs/a.go:3: \"of which\" in a comment",
		"jobs/a.go:8: \"tells of\" in a comment",
	},
}, {
	name: "private names", check: checkPrivateNames,
	bad: map[string]string{
		"jobs/a.go": "package jobs\ntype (\n\tverdict int\n\tfit int\n)\nfunc tell() {}\nfunc (fit) " +
			"of() { var seen int; _ = seen }\nfunc use() { judge := 1; _ = judge }\n",
		"jobs/a_test.go":           "package jobs\nfunc told() {}\n",
		"sinks/sinktest/a.go":      "package sinktest\nfunc look() {}\n",
		"internal/emulator/x/a.go": "package x\nfunc settle() {}\n",
	},
	want: []string{
		"jobs/a.go:3: the name verdict",
		"jobs/a.go:6: the name tell",
		"jobs/a.go:7: the name of",
	},
}, {
	name: "interfaces", check: checkInterfaces,
	bad: map[string]string{
		"jobs/a.go": `package jobs
			type ok interface { A(); B(); C() }
			type wide interface { A(); B(); C(); D() }
			type both interface { ok; io.Closer }
			type number interface { ~int | string; number }`,
		"jobs/b/b.go": `package b
			func f(x interface {
				A(); B(); C(); D()
			}) {}`,
		"jobs/b/b_test.go": "package b\ntype wide interface { A(); B(); C(); D() }\n",
		"sinks/a.go": `package sinks
			type s struct {
				f interface {
					A() interface { A(); B(); C(); D() }
				}
			}`,
		"internal/table/a.go": "package table\ntype wide interface { A(); B(); C(); D() }\n",
	},
	want: []string{
		"jobs/a.go:3: an interface of 4 methods",
		"jobs/a.go:4: an interface of 4 methods",
		"jobs/b/b.go:2: an interface of 4 methods",
		"sinks/a.go:4: an interface of 4 methods",
	},
}, {
	name: "folder names", check: checkFolderNames,
	bad: map[string]string{
		"internal/util/a.go":             "package text\n",
		"internal/commonplace/a.go":      "package commonplace\n",
		"internal/x/testdata/utils/a.go": "package utils\n",
		"jobs/claims/a.go":               "package manager\n",
		"jobs/helpers/a.go":              "package helpers\n",
	},
	want: []string{
		"internal/util/a.go:1: a package named util",
		"jobs/claims/a.go:1: a package named manager",
		"jobs/helpers/a.go:1: a package named helpers",
	},
}}
