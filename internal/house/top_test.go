package house

import (
	"fmt"
	"slices"
	"strings"
)

// What may be at the top of the repository, besides dotfiles: a new reader sees one screen of it.
// Only what git tracks counts, so that a user's own config, results and logs may lie there; without
// git, as in an unpacked archive, Go files and the folders that hold some.
var top = []string{"cmd", "config", "deploy", "internal", "jobs", "sinks", "Dockerfile", "LICENSE", "NOTICE",
	"README.md", "go.mod", "go.sum"}

func checkTop(t *tree) []string {
	var findings []string
	for _, name := range t.top {
		if name[0] != '.' && !slices.Contains(top, name) {
			findings = append(findings, fmt.Sprintf("%s: has no place at the top; there are %s", name,
				strings.Join(top, ", ")))
		}
	}
	return findings
}

var topRules = []rule{{
	name: "top", check: checkTop,
	bad: map[string]string{
		"cmd/a.go": "package a\n", ".ci/a.go": "package a\n", "docs/a.go": "package a\n", "make.go": "package a\n",
		"my.yml": "", "out/x": "", "run.log": "", "Dockerfile": "",
	},
	want: []string{"docs: has no place at the top", "make.go: has no place at the top"},
}}
