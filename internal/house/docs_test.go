package house

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
)

var without = regexp.MustCompile(`(?i)\bwithout\b`)

// A package doc says what would be lost without the package; where that can't be said, the package
// needn't be.
func checkDocs(t *tree) []string {
	var findings []string
	order, files := t.folders()
	for _, folder := range order {
		first := files[folder][0]
		var at ast.Node = first.Name
		begin, doc := "Package "+first.Name.Name+" ", ""
		if first.Name.Name == "main" {
			begin = "Command " + path.Base(folder) + " "
		}
		for _, f := range files[folder] {
			if f.Doc != nil && doc == "" {
				if doc = f.Doc.Text(); doc != "" { // else it is a directive only
					at = f.Doc
				}
			}
		}
		switch {
		case doc == "":
			findings = append(findings, t.at(at, "no package comment"))
		case !strings.HasPrefix(strings.ReplaceAll(doc, "\n", " "), begin):
			findings = append(findings, t.at(at, "the package comment doesn't begin with %q", begin))
		case !without.MatchString(doc):
			findings = append(findings,
				t.at(at, "the package comment doesn't say what would be lost without the package"))
		}
	}
	return findings
}

var docRules = []rule{{
	name: "docs", check: checkDocs,
	bad: map[string]string{
		"cmd/good/a.go":   "// Command good does.\n// Without it, nothing would.\npackage main\n",
		"cmd/bad/a.go":    "// Package main does. Without it, nothing would.\npackage main\n",
		"good/a.go":       "package good\n",
		"good/b.go":       "// Package good is there: nothing would be\n// without it.\npackage good\n",
		"good/x_test.go":  "package good_test\n",
		"named/a.go":      "// Package name does. Without it, nothing would.\npackage named\n",
		"none/a.go":       "// Copyright\n\npackage none\n",
		"none/b.go":       "package none\n",
		"none/c_test.go":  "// Package none does. Without it, nothing would.\npackage none\n",
		"directive/a.go":  "//go:debug x=1\npackage directive\n",
		"unsaid/a.go":     "package unsaid\n",
		"unsaid/b.go":     "\n// Package unsaid works withouten harm.\npackage unsaid\n",
		"testdata/t/a.go": "package t\n",
	},
	want: []string{
		`cmd/bad/a.go:1: the package comment doesn't begin with "Command bad "`,
		"directive/a.go:2: no package comment",
		`named/a.go:1: the package comment doesn't begin with "Package named "`,
		"none/a.go:3: no package comment",
		"unsaid/b.go:2: the package comment doesn't say what would be lost without the package",
	},
}}
