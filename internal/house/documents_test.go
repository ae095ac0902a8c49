package house

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A command of a page that runs tests or benchmarks: which, and in which packages.
var (
	goTest = regexp.MustCompile(
		`go test (?:'[^']*'|"[^"]*"|[^\n#|'"])*|\|[^|\n]* -(?:run|bench) (?:'[^']*'|[^|\n'])*\|`)
	selected = regexp.MustCompile(`-(?:run|bench|fuzz) ('[^']*'|"[^"]*"|\S+)`)
	packages = regexp.MustCompile(`\./[\w./]+`)
	mdLink   = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
)

// checkDocuments wants every test and benchmark that a page or a script names to be there, and
// every link of a page to lead somewhere: a proof that nobody can run proves nothing. Pages are
// given by their path.
func checkDocuments(t *tree, pages map[string]string, exists func(string) bool) (findings []string) {
	names := map[string][]string{} // functions of tests by folder
	for _, f := range t.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				names[f.folder] = append(names[f.folder], fn.Name.Name)
			}
		}
	}
	for _, page := range slices.Sorted(func(yield func(string) bool) {
		for p := range pages {
			if !yield(p) {
				return
			}
		}
	}) {
		for n, line := range strings.Split(pages[page], "\n") {
			wrong := func(format string, args ...any) {
				findings = append(findings, fmt.Sprintf("%s:%d: ", page, n+1)+fmt.Sprintf(format, args...))
			}
			for _, link := range mdLink.FindAllStringSubmatch(line, -1) {
				if to := path.Join(path.Dir(page), link[1]); strings.HasSuffix(page, ".md") && !exists(to) {
					wrong("the link to %s leads nowhere", link[1])
				}
			}
			for _, command := range goTest.FindAllString(line, -1) {
				folders := packages.FindAllString(command, -1)
				for _, folder := range folders {
					if folder = path.Clean(folder); !strings.HasSuffix(folder, "...") && names[folder] == nil {
						wrong("no tests in ./%s", folder)
					}
				}
				for _, s := range selected.FindAllStringSubmatch(command, -1) {
					pattern := strings.Trim(s[1], `'"`)
					for _, one := range strings.Split(pattern, "|") {
						one, _, _ = strings.Cut(one, "/")
						if one == "^$" || strings.Contains(one, "$(") || strings.HasPrefix(one, "$") {
							continue
						}
						re, err := regexp.Compile(strings.NewReplacer("(", "", ")", "").Replace(one))
						if err != nil {
							wrong("%q is no pattern: %v", one, err)
							continue
						}
						if !slices.ContainsFunc(folders, func(folder string) bool {
							below, all := strings.CutSuffix(path.Clean(folder), "...")
							for in, list := range names {
								if (in == path.Clean(folder) || all &&
									strings.HasPrefix(in+"/", strings.TrimPrefix(below, "./"))) &&
									slices.ContainsFunc(list, re.MatchString) {
									return true
								}
							}
							return false
						}) && len(folders) > 0 {
							wrong("no test or benchmark of %s fits %q", strings.Join(folders, " "), one)
						}
					}
				}
			}
		}
	}
	return findings
}

// TestDocuments holds the pages and scripts of the tree to what is there.
func TestDocuments(t *testing.T) {
	repo, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "out" || d.Name() == "dist"):
			return fs.SkipDir
		case !d.IsDir() && (path.Ext(name) == ".md" || path.Dir(name) == ".ci" && path.Ext(name) == ""):
			pages[name] = text(t, root+"/"+name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages["README.md"] == "" || pages[".ci/long"] == "" {
		t.Fatalf("%d pages found, and README.md or .ci/long isn't among them", len(pages))
	}
	for _, finding := range checkDocuments(repo, pages, func(name string) bool {
		_, err := os.Stat(root + "/" + name)
		return err == nil
	}) {
		t.Error(finding)
	}
	if lines := strings.Count(pages["README.md"], "\n"); lines > mostReadme {
		t.Errorf("README.md has %d lines; at most %d: the rest goes beside what it is about", lines, mostReadme)
	}
}

// mostReadme is how long the first page may be, in lines.
const mostReadme = 120

func TestDocumentsAreCheckedForWhatIsThere(t *testing.T) {
	repo := tempTree(t, map[string]string{
		"a/a.go": "package a\n", "a/a_test.go": "package a\nfunc TestOne() {}\nfunc BenchmarkTwo() {}\n",
	})
	got := checkDocuments(repo, map[string]string{
		"x/p.md": "[a](../a/a.go) [b](gone.md) [c](https://example.org/) [d](#here)\n" +
			"go test ./a -run 'One|Three' -bench Two # no Four\ngo test ./b -run One\ngo test ./... -run TestOne",
		".ci/long": "one | what | ./a -run Five -timeout 1h | -n 5\n",
	}, func(name string) bool { return name == "a/a.go" })
	want := []string{
		`.ci/long:1: no test or benchmark of ./a fits "Five"`,
		"x/p.md:1: the link to gone.md leads nowhere",
		`x/p.md:2: no test or benchmark of ./a fits "Three"`,
		"x/p.md:3: no tests in ./b",
		`x/p.md:3: no test or benchmark of ./b fits "One"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
