package house

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The lists that name every kind and every sink are in this folder.
const wiring = "cmd/reportferry"

// checkKinds wants a line in `kinds` for every folder under jobs/ that is a kind, by its name, and
// no line for another.
func checkKinds(t *tree) []string {
	kinds := t.list("kinds")
	if kinds == nil {
		return []string{wiring + ": no variable kinds with a map literal"}
	}
	var findings, want []string
	for _, folder := range t.below("jobs", "ledger", "outbox", "partition", "raw", "refresh", "slugs", "state",
		"status") {
		name := path.Base(folder)
		want = append(want, name)
		if _, ok := kinds.keys[name]; !ok {
			findings = append(findings, t.at(kinds.at, "kinds has no line for %s", folder))
		} else if !t.wired(folder) {
			findings = append(findings, t.at(kinds.at, "kinds has a line for %s, but %s doesn't import it", folder,
				wiring))
		}
	}
	for _, name := range kinds.order {
		if !slices.Contains(want, name) {
			findings = append(findings, t.at(kinds.keys[name], "kinds has %q, but there is no such folder under jobs",
				name))
		}
	}
	return findings
}

// checkOpeners wants an opener from every folder under sinks/ in `openers`, which goes by the
// schemes of URLs. One that a build tag adds is a variable in a file of its own, whatever the tags
// of this build are.
func checkOpeners(t *tree) []string {
	openers := t.list("openers")
	if openers == nil {
		return []string{wiring + ": no variable openers with a map literal"}
	}
	var findings []string
	for _, folder := range t.below("sinks", "sinktest") {
		if !slices.Contains(openers.folders, folder) {
			findings = append(findings, t.at(openers.at, "openers has no line for %s", folder))
		}
	}
	return findings
}

// A list is a map literal of the wiring.
type list struct {
	at      ast.Node
	order   []string
	keys    map[string]ast.Node
	folders []string // of this project, that a value names
}

// list finds the variable of the wiring by its name.
func (t *tree) list(name string) *list {
	if f, value := t.variable(name); value != nil {
		if literal, ok := value.(*ast.CompositeLit); ok {
			return t.read(f, literal)
		}
	}
	return nil
}

// variable finds the value of a variable of the wiring, and its file.
func (t *tree) variable(name string) (*file, ast.Expr) {
	_, files := t.folders()
	for _, f := range files[wiring] {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				v, ok := s.(*ast.ValueSpec)
				if ok && len(v.Names) == 1 && v.Names[0].Name == name && len(v.Values) == 1 {
					return f, v.Values[0]
				}
			}
		}
	}
	return nil, nil
}

func (t *tree) read(f *file, literal *ast.CompositeLit) *list {
	l := &list{at: literal, keys: map[string]ast.Node{}}
	paths := f.names()
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.BasicLit); ok {
			if name, err := strconv.Unquote(key.Value); err == nil {
				l.order, l.keys[name] = append(l.order, name), key
			}
		}
		l.folders = append(l.folders, t.named(paths, pair.Value)...)
		if name, ok := pair.Value.(*ast.Ident); ok {
			if in, value := t.variable(name.Name); value != nil {
				l.folders = append(l.folders, t.named(in.names(), value)...)
			}
		}
	}
	return l
}

// named gives the folders of this project that an expression names. paths are the imports of its
// file.
func (t *tree) named(paths map[string]string, e ast.Expr) (folders []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				if folder, own := t.own(paths[x.Name]); own {
					folders = append(folders, folder)
				}
			}
		}
		return true
	})
	return folders
}

// below gives the folders of code right under top, but for some.
func (t *tree) below(top string, but ...string) []string {
	order, _ := t.folders()
	return slices.DeleteFunc(order, func(folder string) bool {
		name, ok := strings.CutPrefix(folder, top+"/")
		return !ok || slices.Contains(but, name) || strings.Contains(name, "/")
	})
}

// wired reports whether the wiring, or a package below it, imports the folder by a name that it can
// use.
func (t *tree) wired(folder string) bool {
	return slices.ContainsFunc(t.code(), func(f *file) bool {
		return (f.folder == wiring || strings.HasPrefix(f.folder, wiring+"/")) &&
			slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool {
				got, own := t.own(imported(s))
				return own && got == folder && (s.Name == nil || s.Name.Name != "_")
			})
	})
}

// wire is a wiring with these imports below the module and these lines.
func wire(kinds, openers string, imports ...string) string {
	s := "package main\n"
	for _, folder := range imports {
		s += fmt.Sprintf("import %s\n", folder)
	}
	return s + "var kinds = map[string]int{" + kinds + "}\nvar openers = map[string]int{" + openers + "}\n"
}

var listRules = []rule{{
	name: "kinds", check: checkKinds,
	bad: map[string]string{
		wiring + "/wire.go": wire(`"report": reportJob, "apps": appsJob, "spend": spendJob,`+"\n"+`"gone": goneJob`, "",
			`_ "example.org/m/jobs/spend"`),
		wiring + "/wire/events.go": "package wire\nimport \"example.org/m/jobs/events\"\n",
		wiring + "/report.go":      "package main\nimport x \"example.org/m/jobs/report\"\nvar reportJob = x.New\n",
		wiring + "/apps_test.go":   "package main\nimport \"example.org/m/jobs/apps\"\n",
		"jobs/a.go":                "package jobs\n",
		"jobs/apps/a.go":           "package apps\n",
		"jobs/events/a.go":         "package events\n",
		"jobs/events/in/a.go":      "package in\n",
		"jobs/outbox/a.go":         "package outbox\n",
		"jobs/report/a.go":         "package report\n",
		"jobs/spend/a.go":          "package spend\n",
	},
	want: []string{
		"cmd/reportferry/wire.go:3: kinds has a line for jobs/apps, but cmd/reportferry doesn't import it",
		"cmd/reportferry/wire.go:3: kinds has no line for jobs/events",
		"cmd/reportferry/wire.go:3: kinds has a line for jobs/spend, but cmd/reportferry doesn't import it",
		`cmd/reportferry/wire.go:4: kinds has "gone", but there is no such folder under jobs`,
	},
}, {
	name: "openers", check: checkOpeners,
	bad: map[string]string{
		wiring + "/wire.go": wire("",
			`"file": blobsink.Open, "x": func() { x.Open(1) }, "bq": local.Open, "pg": open, "ice": openIce, "elsewhere": openElsewhere`,
			`"example.org/m/sinks/blobsink"`, `x "example.org/m/sinks/xsink"`, `"example.org/m/sinks/bqsink"`),
		wiring + "/ice_on.go": "//go:build ice\n\npackage main\nimport \"example.org/m/sinks/icesink\"\nvar " +
			"openIce = icesink.Open\n",
		wiring + "/ice_off.go":  "//go:build !ice\n\npackage main\nfunc openIce() {}\n",
		wiring + "/else_off.go": "//go:build !ice\n\npackage main\nfunc openElsewhere() {}\n",
		"sinks/a.go":            "package sinks\n",
		"sinks/icesink/a.go":    "package icesink\n",
		"sinks/elsewhere/a.go":  "package elsewhere\n",
		"sinks/blobsink/a.go":   "package blobsink\n",
		"sinks/bqsink/a.go":     "package bqsink\n",
		"sinks/xsink/a.go":      "package xsink\n",
		"sinks/sinktest/a.go":   "package sinktest\n",
	},
	want: []string{
		"cmd/reportferry/wire.go:6: openers has no line for sinks/bqsink",
		"cmd/reportferry/wire.go:6: openers has no line for sinks/elsewhere",
	},
}, {
	name: "no kinds", check: checkKinds,
	bad:  map[string]string{"cmd/other/wire.go": wire("", ""), wiring + "/a.go": "package main\nvar kinds = list()\n"},
	want: []string{wiring + ": no variable kinds with a map literal"},
}, {
	name: "no openers", check: checkOpeners,
	bad: map[string]string{"cmd/other/wire.go": wire("", ""),
		wiring + "/a.go": "package main\nfunc f() { openers := 1 }\n"},
	want: []string{wiring + ": no variable openers with a map literal"},
}}
