package deploy

import (
	"strings"
	"testing"
)

// A step is one command line of a page.
type step struct {
	heading string
	block   int // of the page, from 1
	line    string
}

// steps gives the command lines of a page's fenced blocks: those marked sh, or with no mark that
// hold commands.
func steps(page string) []step {
	var found []step
	heading, fence, pending, block := "", "", "", 0
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			if fence == "" {
				fence = line
				block++
			} else {
				fence = ""
			}
		case fence == "" && strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		case fence == "```sh" || fence == "```":
			if cut, more := strings.CutSuffix(line, "\\"); more {
				pending += cut
				continue
			}
			if line = strings.TrimSpace(pending + line); line != "" && !strings.HasPrefix(line, "#") {
				found = append(found, step{heading, block, line})
			}
			pending = ""
		}
	}
	return found
}

// guide is the pages of this folder that are followed one after the other.
func guide(t *testing.T) string {
	t.Helper()
	return read(t, "README.md") + read(t, "kubernetes/README.md")
}

// words splits a command line as a shell does, without expanding anything. A word that begins
// with # ends it.
func words(line string) []string {
	var out []string
	var word strings.Builder
	quote, inside := rune(0), false
	flush := func() {
		if inside {
			out = append(out, word.String())
		}
		word.Reset()
		inside = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == ' ' || r == '\t':
			flush()
		case r == '#' && !inside:
			return out
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	flush()
	return out
}

// ours gives the arguments of our program that a command line runs it with, here, as --args of a
// Cloud Run execution, or by the script for AWS.
func ours(line string) (args []string, ok bool) {
	w := words(line)
	for len(w) > 0 && strings.Contains(w[0], "=") { // variables
		w = w[1:]
	}
	switch {
	case len(w) > 0 && w[0] == "reportferry":
		return w[1:], true
	case len(w) > 1 && w[0] == "deploy/aws/start.sh":
		return w[1:], true
	case len(w) > 2 && w[0] == "go" && w[1] == "run" && w[2] == "./cmd/reportferry":
		return w[3:], true
	case len(w) > 3 && strings.Join(w[:4], " ") == "gcloud run jobs execute":
		for _, word := range w {
			if list, ok := strings.CutPrefix(word, "--args="); ok {
				return strings.Split(list, ","), true
			}
		}
	}
	return nil, false
}

func TestReadingPages(t *testing.T) {
	page := "# One\n```sh\na \\\n  b   # c\n\n# no\n```\ntext\n## Two\n```sql\nselect\n```\n```\nX=1 reportferry " +
		"run 'a b' --now # x\n```\n"
	got := steps(page)
	if len(got) != 2 || got[0] != (step{"One", 1, "a   b   # c"}) || got[1].heading != "Two" || got[1].block != 3 {
		t.Fatalf("%+v", got)
	}
	if args, ok := ours(got[1].line); !ok || strings.Join(args, "|") != "run|a b|--now" {
		t.Errorf("%q", args)
	}
	if args, ok := ours(`gcloud run jobs execute r --args=backfill,j,--from=2026-01-01 --tasks=6`); !ok ||
		strings.Join(args, "|") != "backfill|j|--from=2026-01-01" {
		t.Errorf("%q", args)
	}
	if _, ok := ours("go test ./..."); ok {
		t.Error("go test is not ours")
	}
}
