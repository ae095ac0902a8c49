package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zimmski/go-mutesting/mutator"
	_ "github.com/zimmski/go-mutesting/mutator/branch"
	_ "github.com/zimmski/go-mutesting/mutator/expression"
	_ "github.com/zimmski/go-mutesting/mutator/statement"
	"golang.org/x/tools/go/packages"
)

// A tree is the emulator's source with every change that can be made to it.
type tree struct {
	fset       *token.FileSet
	files      map[string]*source // by path from the top
	candidates []candidate
}

type source struct {
	path, full string
	syntax     *ast.File
	text       []byte // the file's content
	plain      string // the content formatted by gofmt, without comments
}

type candidate struct {
	*source
	mutator.Mutation
	by   string
	nth  int // counts the changes that this operator makes in the file
	line int // on which the changed node begins
}

// A mutant is a file with one change.
type mutant struct {
	file, full string
	by, diff   string
	line       int
	text       []byte
}

// key identifies a mutant, even when other edits move its lines.
func (m mutant) key() string { return m.file + "\n" + squeezed(m.diff) }

func (m mutant) folder() string { return filepath.Dir(m.file) }

// squeezed normalizes the white space of a diff.
func squeezed(diff string) string {
	var lines []string
	for line := range strings.Lines(diff) {
		if line = strings.TrimSpace(line); len(line) > 1 {
			lines = append(lines, line[:1]+" "+strings.TrimSpace(line[1:]))
		}
	}
	return strings.Join(lines, "\n")
}

// loadTree reads the packages of a pattern and collects their possible changes, in files whose path
// contains only.
func loadTree(pattern, only string) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), files: map[string]*source{}}
	loaded, err := packages.Load(&packages.Config{Fset: t.fset,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedExportFile,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			return parser.ParseFile(fset, name, src, parser.SkipObjectResolution) // without comments, which would move
		}}, pattern)
	if err != nil {
		return nil, err
	}
	top, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("load %s: %v", p.PkgPath, p.Errors[0])
		}
		if strings.HasSuffix(p.PkgPath, "/emutest") { // helpers that tests share
			continue
		}
		for i, file := range p.Syntax {
			full := p.CompiledGoFiles[i]
			name, err := filepath.Rel(top, full)
			if err != nil {
				return nil, err
			}
			if !strings.Contains(name, only) {
				continue
			}
			s := &source{path: filepath.ToSlash(name), full: full, syntax: file}
			if s.text, err = os.ReadFile(full); err != nil {
				return nil, err
			}
			if bytes.Contains(s.text, []byte("\n//go:embed ")) && !hasFunction(file) {
				continue // the file only embeds another one
			}
			if bytes.Contains(s.text, []byte("\n//go:")) {
				return nil, fmt.Errorf("%s has a directive, which would be lost with the comments", name)
			}
			plain, err := t.print(s)
			if err != nil {
				return nil, err
			}
			s.plain = string(plain)
			t.files[s.path] = s
			t.collect(p, s)
		}
	}
	if len(t.candidates) == 0 {
		return nil, errors.New("nothing to mutate")
	}
	return t, nil
}

// collect adds every possible change of a file, always in the same order.
func (t *tree) collect(p *packages.Package, s *source) {
	for _, name := range mutator.List() {
		change, err := mutator.New(name)
		if err != nil {
			panic(err)
		}
		nth := 0
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if n == nil {
				return false
			}
			if spec, ok := n.(*ast.ImportSpec); ok && spec != nil {
				return false
			}
			if name == "value/number" && madeUp(p, n) {
				return false
			}
			for _, m := range change(p.Types, p.TypesInfo, n) {
				nth++
				t.candidates = append(t.candidates, candidate{s, m, name, nth, t.fset.Position(n.Pos()).Line})
			}
			return true
		})
	}
}

// madeUp reports whether n holds numbers that no test could notice, so that they aren't changed:
// sizes for make, and which part of the facts a metric counts, because the facts are made up
// themselves.
func madeUp(p *packages.Package, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return p.Name == "metrics"
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.Ident)
		return ok && slices.Contains([]string{"make", "share", "part"}, f.Name)
	}
	return false
}

func (t *tree) print(s *source) ([]byte, error) {
	var b bytes.Buffer
	err := format.Node(&b, t.fset, s.syntax)
	return b.Bytes(), err
}

// drawn returns the order in which a seed draws the changes. It depends on each change's file,
// operator and number only, so that an edit of one file doesn't move the changes of others.
func (t *tree) drawn(seed uint64) []int {
	order, by := make([]int, len(t.candidates)), make([]uint64, len(t.candidates))
	for i, c := range t.candidates {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %d", seed, c.path, c.by, c.nth))
		order[i], by[i] = i, binary.BigEndian.Uint64(sum[:])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(by[a], by[b]) })
	return order
}

// survivors returns the changes that survived according to the output of an earlier run.
func (t *tree) survivors(name string) ([]int, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, block := range strings.Split(string(data), "survived: ")[1:] {
		first, rest, _ := strings.Cut(block, "\n")
		file, _, _ := strings.Cut(first, ":")
		diff := ""
		for line := range strings.Lines(rest) {
			if !strings.ContainsAny(line[:1], "+-") {
				break
			}
			diff += line
		}
		keys[mutant{file: file, diff: diff}.key()] = true
	}
	var order []int
	for i := range t.candidates {
		if key := t.mutant(i).key(); keys[key] {
			order, keys[key] = append(order, i), false
		}
	}
	for key, left := range keys {
		if left {
			fmt.Printf("no longer there: %s\n", key)
		}
	}
	return order, nil
}

// mutant makes a change in the syntax tree, prints the file, and undoes the change.
func (t *tree) mutant(i int) mutant {
	c := t.candidates[i]
	c.Change()
	text, err := t.print(c.source)
	c.Reset()
	m := mutant{file: c.path, full: c.full, by: c.by, line: c.line, text: text}
	if err != nil { // a tree that can't be printed wouldn't compile
		m.text, m.diff = []byte("package broken: "+err.Error()), "? "+err.Error()+"\n"
		return m
	}
	var gone string
	m.diff, gone = difference(c.plain, string(text))
	lines := strings.Split(string(c.source.text), "\n")
	for at := max(c.line-1, 0); at < len(lines) && gone != ""; at++ {
		if strings.HasPrefix(strings.Join(strings.Fields(lines[at]), " "), strings.Join(strings.Fields(gone), " ")) {
			m.line = at + 1
			break
		}
	}
	return m
}

// difference returns the lines that differ, and the first removed one.
func difference(before, after string) (diff, gone string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var d strings.Builder
	for _, line := range a {
		fmt.Fprintf(&d, "-%s\n", line)
		if gone == "" {
			gone = strings.TrimSpace(line)
		}
	}
	for _, line := range b {
		fmt.Fprintf(&d, "+%s\n", line)
	}
	return d.String(), gone
}

// has reports whether a listed mutant can still be made.
func (t *tree) has(key string) bool {
	file, _, _ := strings.Cut(key, "\n")
	for i, c := range t.candidates {
		if c.path == file && t.mutant(i).key() == key {
			return true
		}
	}
	return false
}

// readPage reads the known survivors and their reasons. Under each heading "## file" there are
// fenced blocks of lines that differ, each followed by its reason.
func readPage(name string) (map[string]string, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	file, key, diff, inside := "", "", "", false
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "```"):
			if inside {
				key = file + "\n" + squeezed(diff)
				if _, twice := reasons[key]; twice {
					return nil, fmt.Errorf("%s has it twice: %s", name, key)
				}
				reasons[key], diff = "", ""
			}
			inside = !inside
		case inside:
			diff += line
		case strings.HasPrefix(text, "## "):
			file, key = emulator+"/"+strings.TrimPrefix(text, "## "), ""
		case key != "" && text != "":
			reasons[key] += text
		}
	}
	for key, reason := range reasons {
		if reason == "" {
			return nil, fmt.Errorf("%s gives no reason for %s", name, key)
		}
	}
	return reasons, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// hasFunction reports whether a file has a function, and so code to change.
func hasFunction(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool { _, is := d.(*ast.FuncDecl); return is })
}
