package house

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// root is the module as seen from this folder, where the go command runs the tests.
const root = "../.."

// A rule gives its findings, each of them "file:line: what is wrong; what to know". It comes with a
// small tree that breaks it, because a rule that can't fail is worth nothing, and with what is
// wrong there: no less, and no more.
type rule struct {
	name  string
	check func(*tree) []string
	bad   map[string]string // content by path
	want  []string          // up to the semicolon
}

var rules = slices.Concat(layerRules, processRules, docRules, sizeRules, columnRules, folderRules, nameRules, listRules,
	topRules, expressionRules)

func TestHouse(t *testing.T) {
	repo, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(repo.files, func(f *file) bool { return f.path == "internal/house/doc.go" }) {
		t.Fatalf("%d files found, and this package is not among them", len(repo.files))
	}
	if tracked := trackedTop(t); tracked != nil {
		repo.top = tracked
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, finding := range r.check(repo) {
				t.Error(finding)
			}
		})
	}
}

func TestEveryRuleFindsWhatBreaksIt(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if len(r.want) == 0 {
				t.Fatal("no tree that breaks it")
			}
			var got []string
			for _, finding := range r.check(tempTree(t, r.bad)) {
				wrong, _, _ := strings.Cut(finding, ";")
				got = append(got, wrong)
			}
			if !slices.Equal(got, r.want) {
				t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(r.want, "\n"))
			}
		})
	}
}

// tempTree is a module in memory.
func tempTree(t *testing.T, files map[string]string) *tree {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.org/m\n")}}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	tree, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// trackedTop gives the names at the top that git knows, or nil outside of a git checkout (an
// unpacked archive).
func trackedTop(t *testing.T) []string {
	t.Helper()
	// Opened here so that the test cache sees when the index changes: it doesn't see what git
	// reads.
	if _, err := os.Stat(root + "/.git/index"); err != nil {
		return nil
	}
	list, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Logf("git ls-files: %v; the folder itself is read instead", err)
		return nil
	}
	top := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		first, _, _ := strings.Cut(name, "/")
		top[first] = true
	}
	return slices.Sorted(maps.Keys(top))
}
