// Command licenses prints the licences of everything that the binary is built from: Go's standard
// library, each module, and the folders in modules that have a licence of their own. The image and
// the archives of a release contain the output, because most of these licences demand that. The
// MPL-2.0 also demands to say where the source is, so each module is printed with its address at
// Go's module proxy.
//
//	go run ./deploy/licenses -tags disable_grpc_modules ./cmd/reportferry >third-party-licenses.txt
//
// The arguments are passed to `go list`. A module without a licence is an error.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/lazy"
)

func main() {
	text, err := run(os.Args[1:])
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// A module is a Go module with packages in the binary.
type module struct {
	path, version, dir string
	packages           []string // the folders of its packages in the binary
}

// run returns the text of all licences; args are passed to `go list`.
func run(args []string) (string, error) {
	modules, err := list(args)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, m := range modules {
		files, err := licences(m)
		if err != nil {
			return "", err
		}
		if len(files) == 0 {
			return "", fmt.Errorf("%s %s has no licence in %s; a binary that holds it can't be handed on", m.path,
				m.version, m.dir)
		}
		fmt.Fprintf(&out, "%s\n%s %s\n", strings.Repeat("=", 100), m.path, m.version)
		if m.path != standard {
			fmt.Fprintf(&out, "source: https://proxy.golang.org/%s/@v/%s.zip\n", escaped(m.path), escaped(m.version))
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			within, err := filepath.Rel(m.dir, name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "%s\n%s\n\n%s\n", strings.Repeat("-", 100), filepath.ToSlash(within),
				bytes.TrimSpace(text))
		}
	}
	return out.String(), nil
}

// standard is the path under which the standard library is listed.
const standard = "Go"

// list asks the go command for the modules. They are sorted by path, and the main module is left
// out. The standard library comes first.
func list(args []string) ([]module, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f",
		`{{if .Standard}}` + standard + "\t\t\t" +
			`{{else if not .Module.Main}}{{with .Module}}{{.Path}}{{"\t"}}{{.Version}}{{"\t"}}{{.Dir}}{{end}}{{"\t"}}{{.Dir}}{{end}}`},
		args...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", strings.Join(args, " "), err)
	}
	env, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("ask where Go is: %w", err)
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	found := map[string]*module{standard: {path: standard, version: version, dir: root}}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[0] == standard {
			continue
		}
		if found[f[0]] == nil {
			found[f[0]] = &module{path: f[0], version: f[1], dir: f[2]}
		}
		found[f[0]].packages = append(found[f[0]].packages, f[3])
	}
	var modules []module
	for _, m := range found {
		modules = append(modules, *m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return modules, nil
}

var licence = lazy.Regexp(`(?i)^((un)?licen[cs]e|copying|notice|patents)([-._].*)?$`)

// licences returns the files that state the conditions for redistributing a module: those in its
// top folder, and in each folder on the way to a package that the binary contains.
func licences(m module) (files []string, err error) {
	folders := map[string]bool{m.dir: true}
	for _, folder := range m.packages {
		for ; len(folder) > len(m.dir); folder = filepath.Dir(folder) {
			folders[folder] = true
		}
	}
	for folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() && licence().MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
				files = append(files, filepath.Join(folder, e.Name()))
			}
		}
	}
	slices.Sort(files)
	return files, nil
}

var upper = lazy.Regexp(`[A-Z]`)

// escaped returns a module's path or version as a proxy spells it:
// https://go.dev/ref/mod#goproxy-protocol.
func escaped(s string) string {
	return upper().ReplaceAllStringFunc(s, func(c string) string { return "!" + strings.ToLower(c) })
}
