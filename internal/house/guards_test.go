package house

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unguarded are the packages that no step of .ci/long guards, because what the gate does for every
// change proves all of them.
var unguarded = []string{
	"internal/bucket/buckettest", "internal/house", "internal/notify", "internal/rooted", "internal/slow",
	"internal/telemetry", "internal/telemetry/collector", "internal/zone",
	"config", "config/apps", "config/draft", "config/kinds", "config/preset", "config/shape", "config/strict",
	"config/strict/stricttest", "deploy", "deploy/licenses",
	"sinks/pgsink", // its suite runs on a Postgres
}

// A guard is a step of .ci/long: its name, the words that say what it guards, and its command.
type guard struct {
	name    string
	words   []string
	command string
}

var shellTable = regexp.MustCompile(`(?s)\n(steps|proofs)='\n(.*?)\n'\n`)

// guards reads the tables of .ci/long. A proof is a step when it has flags for the gate.
func guards(script string) (list []guard) {
	for _, table := range shellTable.FindAllStringSubmatch(script, -1) {
		for line := range strings.SplitSeq(table[2], "\n") {
			c := strings.Split(line, "|")
			for i := range c {
				c[i] = strings.TrimSpace(c[i])
			}
			if len(c) != 5 || c[3] == "" {
				continue
			}
			g := guard{name: c[0], words: strings.Fields(c[2]), command: c[3]}
			if table[1] == "proofs" {
				g.command = ""
				g.words = slices.DeleteFunc(g.words, func(w string) bool { return !strings.HasPrefix(w, "./") })
			}
			list = append(list, g)
		}
	}
	return list
}

// closure adds the folders of a package and of all that its code imports to seen; with tests, also
// of what its own tests import.
func (t *tree) closure(folder string, tests bool, seen map[string]bool) {
	seen[folder] = true
	for _, f := range t.files {
		if f.folder != folder || f.test && !tests {
			continue
		}
		for _, s := range f.Imports {
			if of, own := t.own(imported(s)); own && !seen[of] {
				t.closure(of, false, seen)
			}
		}
	}
}

// TestGuards holds the steps that the gate takes only when something has changed to what they read:
// each file of the packages that a step names, and of those that these import, is hashed; so is
// each script that it runs; and each package has a step, or is known to need none.
func TestGuards(t *testing.T) {
	repo, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	folders, files := repo.folders()
	has := map[string]bool{}
	for _, f := range unguarded {
		has[f] = true
	}
	steps := guards(text(t, root+"/.ci/long"))
	if len(steps) < 10 {
		t.Fatalf("%d steps are found in .ci/long", len(steps))
	}
	for _, step := range steps {
		out, err := exec.CommandContext(t.Context(), "bash", root+"/.ci/long", "files", step.name).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", step.name, err, out)
		}
		hashed := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			if sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); found && len(sum) == 64 {
				hashed[name] = true
			}
		}
		seen := map[string]bool{}
		for _, word := range step.words {
			name := strings.TrimPrefix(word, "./")
			switch below, all := strings.CutSuffix(name, "/..."); {
			case all:
				for _, f := range folders {
					if f == below || strings.HasPrefix(f, below+"/") {
						repo.closure(f, true, seen)
					}
				}
			case name != word && strings.HasPrefix(name, "cmd/"):
				seen[name] = true
			case name != word:
				repo.closure(name, true, seen)
			default:
				if _, err := os.Stat(root + "/" + name); err != nil {
					t.Errorf(".ci/long: %s guards %s, which isn't there", step.name, name)
				}
			}
		}
		for _, folder := range slices.Sorted(maps.Keys(seen)) {
			has[folder] = true
			for _, f := range files[folder] {
				if !strings.Contains(f.src, "\n//go:build ") && !strings.HasPrefix(f.src, "//go:build ") &&
					!hashed[f.path] {
					t.Errorf(".ci/long: %s reads %s, and doesn't guard it", step.name, f.path)
				}
			}
		}
		for _, script := range strings.Fields(step.command) {
			if strings.HasPrefix(script, ".ci/") && !hashed[script] {
				t.Errorf(".ci/long: %s runs %s, and doesn't guard it", step.name, script)
			}
		}
		if len(hashed) == 0 {
			t.Errorf(".ci/long: %s guards nothing", step.name)
		}
	}
	for _, folder := range folders {
		if !has[folder] && !strings.HasPrefix(folder, "cmd/") {
			t.Errorf("no step of .ci/long guards %s; name it there or among unguarded, in %s", folder,
				path.Join("internal/house", "guards_test.go"))
		}
	}
}
