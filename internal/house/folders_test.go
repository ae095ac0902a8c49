package house

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// mostFiles is of one folder, tests not counted: a reader sees them all at a glance.
const mostFiles = 25

// Endings of file names that the go command gives a meaning, or that say for which system or with
// which tag a file is.
var systems = []string{"_linux", "_darwin", "_windows", "_unix", "_other", "_on", "_off"}

// Endings that make another word of the same noun or verb, and no second part of a name.
var inflections = []string{"s", "es", "d", "ed", "r", "er", "ing", "ity", "ion", "ial", "ition"}

// checkFolders counts the files of a folder, and finds prefixes of file names that stand in for a
// package: a name that begins with another one of the folder, two that begin alike and go on with a
// name that the tree has elsewhere, and the first part of names with an underscore.
func checkFolders(t *tree) []string {
	var findings []string
	order, files := t.folders()
	words := map[string]bool{} // that are names in this tree
	for _, folder := range order {
		words[path.Base(folder)] = true
		for _, f := range files[folder] {
			words[stem(f.path)] = true
		}
	}
	for _, folder := range order {
		if n := len(files[folder]); n > mostFiles {
			findings = append(findings, fmt.Sprintf("%s: %d files of code; at most %d", folder, n, mostFiles))
		}
		var stems []string
		for _, f := range files[folder] {
			if s := stem(f.path); s != "doc" && !slices.Contains(stems, s) {
				stems = append(stems, s)
			}
		}
		for _, prefix := range prefixes(stems, words) {
			findings = append(findings,
				fmt.Sprintf("%s: %s share the prefix %q; make it a package, or name the files by what is in them",
					folder, strings.Join(prefix.of, ", "), prefix.name))
		}
	}
	return findings
}

// inflected reports whether a word with this ending is another form of the word: runner of run,
// plans of plan.
func inflected(word, ending string) bool {
	return slices.Contains(inflections, ending) || ending != "" && ending[0] == word[len(word)-1] &&
		slices.Contains(inflections, ending[1:])
}

// stem is a file's name without what the go command reads in it.
func stem(name string) string {
	s := strings.TrimSuffix(path.Base(name), ".go")
	for _, system := range systems {
		s = strings.TrimSuffix(s, system)
	}
	return s
}

type prefix struct {
	name string
	of   []string
}

// prefixes gives those that two of the names share, each with the names that have it.
func prefixes(stems []string, words map[string]bool) (found []prefix) {
	seen := map[string]bool{}
	for _, a := range stems {
		candidates := []string{a}
		if first, _, ok := strings.Cut(a, "_"); ok {
			candidates = append(candidates, first)
		}
		for n := 3; n < len(a); n++ {
			if rest := a[n:]; words[a[:n]] || words[rest] && !inflected(a[:n], rest) {
				candidates = append(candidates, a[:n])
			}
		}
		slices.Sort(candidates)
		for _, c := range candidates {
			if seen[c] || len(c) < 3 {
				continue
			}
			var of []string
			for _, s := range stems {
				if rest, ok := strings.CutPrefix(s, c); ok && !inflected(c, rest) &&
					(c == a || rest == "" || rest[0] == '_' || words[c] || words[strings.Trim(rest, "_")]) {
					of = append(of, s)
				}
			}
			if len(of) > 1 {
				seen[c] = true
				found = append(found, prefix{c, of})
			}
		}
	}
	return found
}

var folderRules = []rule{{
	name: "folders", check: checkFolders,
	bad: with(copies("a", 26, 1), copies("b", 25, 1), map[string]string{
		"b/more_test.go": lines(1),
		// A file's name that begins with another's; its plural, and a test, are none.
		"c/spend.go": lines(1), "c/spendcheck.go": lines(1), "c/spends.go": lines(1), "c/spendkill_test.go": lines(1),
		// The first part of a name.
		"d/read_csv.go": lines(1), "d/read_json.go": lines(1), "d/file_linux.go": lines(1), "d/file_other.go": lines(1),
		// A package's name, or one before names: two begin with it, one alone may.
		"e/tablerow.go": lines(1), "e/tablecell.go": lines(1), "e/sinkurl.go": lines(1), "table/t.go": lines(1),
		"sink/s.go":   lines(1),
		"f/sqlrow.go": lines(1), "f/sqlcell.go": lines(1), "f/container.go": lines(1), "f/content.go": lines(1),
		"f/row.go": lines(1), "g/cell.go": lines(1),
	}),
	want: []string{
		"a: 26 files of code",
		`c: spend, spendcheck share the prefix "spend"`,
		`d: read_csv, read_json share the prefix "read"`,
		`e: tablecell, tablerow share the prefix "table"`,
		`f: sqlcell, sqlrow share the prefix "sql"`,
	},
}}
