package house

import (
	"fmt"
	"slices"
	"strings"
)

// What may be at the top of the repository, besides dotfiles: a new reader sees one screen of it.
var top = []string{"cmd", "config", "deploy", "internal", "jobs", "sinks", "Dockerfile", "README.md", "go.mod", "go.sum"}

func checkTop(t *tree) []string {
	var findings []string
	for _, name := range t.top {
		// out is where the example's result lands; git ignores it, an unpacked archive may have it.
		if name != "out" && name[0] != '.' && !slices.Contains(top, name) {
			findings = append(findings, fmt.Sprintf("%s: has no place at the top; there are %s", name, strings.Join(top, ", ")))
		}
	}
	return findings
}

var topRules = []rule{{
	name: "top", check: checkTop,
	bad: map[string]string{
		".golangci.yml": "", ".ci/run": "", "Dockerfile": "", "README.md": "", "go.sum": "", "deploy/a.tf": "", "out/x": "",
		"docs/a.md": "", "Makefile": "",
	},
	want: []string{"Makefile: has no place at the top", "docs: has no place at the top"},
}}
