package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A tree is what the rules look at: the parsed Go files of a module, and the names at its top.
type tree struct {
	module string
	top    []string // that hold Go files, or are some, in the order of the alphabet
	files  []*file  // in the order of their paths
	fset   *token.FileSet
}

// A file is one Go file of the tree.
type file struct {
	path, folder string // relative to the module, with slashes
	test         bool
	generated    bool
	lines        int
	src          string
	*ast.File
}

// load parses every Go file below fsys that the go command would build or test: nothing in
// testdata, nor in folders that begin with a dot or an underscore.
func load(fsys fs.FS) (*tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	line, _, _ := strings.Cut(string(mod), "\n")
	module, ok := strings.CutPrefix(line, "module ")
	if !ok {
		return nil, fmt.Errorf("find the module: the first line of go.mod is %q, want module ...", line)
	}
	t := &tree{module: strings.TrimSpace(module), fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || strings.ContainsAny(d.Name()[:1], "._")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.ContainsAny(d.Name()[:1], "._"):
			return nil
		}
		return t.add(fsys, name)
	})
	for _, f := range t.files {
		if first, _, _ := strings.Cut(f.path, "/"); !slices.Contains(t.top, first) {
			t.top = append(t.top, first)
		}
	}
	return t, err
}

func (t *tree) add(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &file{
		path: name, folder: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(parsed), lines: bytes.Count(src, []byte("\n")), src: string(src), File: parsed,
	})
	return nil
}

// code gives the files that are not tests.
func (t *tree) code() []*file {
	return slices.DeleteFunc(slices.Clone(t.files), func(f *file) bool { return f.test })
}

// folders gives every folder with code in it, with its files.
func (t *tree) folders() (order []string, files map[string][]*file) {
	files = map[string][]*file{}
	for _, f := range t.code() {
		if files[f.folder] == nil {
			order = append(order, f.folder)
		}
		files[f.folder] = append(files[f.folder], f)
	}
	slices.Sort(order)
	return order, files
}

// own gives the folder of the project that an import names.
func (t *tree) own(imported string) (folder string, ok bool) {
	if imported == t.module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.module+"/")
}

// at is the beginning of a finding: file:line and what is wrong there.
func (t *tree) at(n ast.Node, format string, args ...any) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: ", p.Filename, p.Line) + fmt.Sprintf(format, args...)
}

// imported gives what an import spec names.
func imported(s *ast.ImportSpec) string {
	name, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		panic(err) // the parser has let it through, so it is a string
	}
	return name
}

// names gives, for every import of the file that can be named, the import path by that name.
func (f *file) names() map[string]string {
	names := map[string]string{}
	for _, s := range f.Imports {
		name := path.Base(imported(s))
		if s.Name != nil {
			name = s.Name.Name
		}
		names[name] = imported(s)
	}
	return names
}
