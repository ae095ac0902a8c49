package house

import (
	"go/ast"
	"slices"
)

// Only package main touches the process: arguments, environment, signals. All else gets what it
// needs as an option, and can so run twice in one process and be tested without one. What tests
// share is told by flags of go test.
var process = map[string][]string{ // names by import path; none named: the package as a whole
	"flag":      nil,
	"os":        {"Args", "Clearenv", "Environ", "ExpandEnv", "Getenv", "LookupEnv", "Setenv", "Unsetenv"},
	"os/signal": nil,
	"syscall":   {"Clearenv", "Environ", "Getenv", "Setenv", "Unsetenv"},
}

// Where a driver stands in for one of a library that reads the same variables itself, and where a
// store's identity needs what such a library has read and doesn't tell.
var drivers = []string{"internal/bucket/azure.go", "internal/bucket/identity.go"}

const onlyCmd = "only package main touches arguments, environment and signals"

func checkProcess(t *tree) []string {
	var findings []string
	for _, f := range t.code() {
		if f.Name.Name == "main" || slices.Contains(drivers, f.path) {
			continue
		}
		for _, s := range f.Imports {
			names, watched := process[imported(s)]
			if imported(s) == "flag" && slices.ContainsFunc(f.Imports,
				func(s *ast.ImportSpec) bool { return imported(s) == "testing" }) {
				continue
			}
			if watched && (names == nil || s.Name != nil && s.Name.Name == ".") {
				findings = append(findings, t.at(s, "imports %s; %s", s.Path.Value, onlyCmd))
			}
		}
		paths := f.names()
		ast.Inspect(f.File, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && slices.Contains(process[paths[x.Name]], s.Sel.Name) {
					findings = append(findings, t.at(s, "%s.%s; %s", paths[x.Name], s.Sel.Name, onlyCmd))
				}
			}
			return true
		})
	}
	return findings
}

// What an init function registers is in no list that a reader could find.
func checkInit(t *tree) []string {
	var findings []string
	for _, f := range t.code() {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				findings = append(findings,
					t.at(fn, "func init; kinds and sinks are lines in cmd, everything else is made by New or Open"))
			}
		}
	}
	return findings
}

var processRules = []rule{{
	name: "process", check: checkProcess,
	bad: map[string]string{
		"cmd/m/a.go": `package main
			import ("os"; "os/signal")
			var a, b = os.Args, signal.Notify`,
		"cmd/m/group/a.go": "package group\nimport \"os\"\nvar a = os.Getenv",
		"jobs/a.go": `package jobs
			import "os"
			// os.Args
			var a, b = "os.Args", os.Stdout
			func f() {
				println(os.Args[1:])
				os.Setenv("k", os.ExpandEnv("v"))
			}`,
		"jobs/b.go": `package jobs
			import x "os"
			import "os/signal"
			var getenv = x.Getenv
			var notify = signal.Notify`,
		"jobs/c.go": `package jobs
			import . "os"
			import "syscall"
			import "flag"
			var a, b, c = Args, flag.Parse, syscall.SIGTERM
			var d = syscall.Environ`,
		"jobs/d.go": `package jobs
			type s struct{}
			func (s) Getenv() {}
			func f(o s) { o.Getenv() }`,
		"jobs/a_test.go": `package jobs
			import "os"
			var environ = os.Environ()`,
	},
	want: []string{
		"cmd/m/group/a.go:3: os.Getenv",
		"jobs/a.go:6: os.Args",
		"jobs/a.go:7: os.Setenv",
		"jobs/a.go:7: os.ExpandEnv",
		`jobs/b.go:3: imports "os/signal"`,
		"jobs/b.go:4: os.Getenv",
		`jobs/c.go:2: imports "os"`,
		`jobs/c.go:4: imports "flag"`,
		"jobs/c.go:6: syscall.Environ",
	},
}, {
	name: "init", check: checkInit,
	bad: map[string]string{
		"cmd/m/a.go": "package main\n\nfunc init() {}\n",
		"sinks/a/a.go": `package a
			func f() {}
			func (t) init() {}
			func init() {}`,
		"sinks/a/a_test.go": "package a\nfunc init() {}\n",
	},
	want: []string{"cmd/m/a.go:3: func init", "sinks/a/a.go:4: func init"},
}}
