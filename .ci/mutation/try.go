package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fate is the outcome of testing a mutant.
type fate string

const (
	killed         fate = "killed"
	timedOut       fate = "timed out"
	survived       fate = "a survivor"
	notViable      fate = "not compiling"
	listedSurvivor fate = "a listed survivor"
)

type result struct {
	mutant
	fate  fate
	by    string // the stage that noticed
	took  time.Duration
	place int
}

// A stage runs a package's tests: all of them, those that match tests, or all but those that match
// but.
type stage struct{ folder, tests, but string }

// slow matches the tests of reports that take long and that rarely notice what others haven't.
const slow = "Closing|DimensionForms|ManyRows|ZonesOfEveryKind|EveryFilterOf|AdRevenueSources|Bulk|FiltersData|SayWhatTheCSVSays"

// stages returns the stages to run for a folder's mutants, one after the other until one notices.
// The quickest come first: the tests that check the emulator against the service's document, the
// folder's own tests, and those that use the folder through other packages.
func stages(folder string) []stage {
	at := func(area, tests string) stage { return stage{emulator + area, tests, ""} }
	area := strings.TrimPrefix(folder, emulator)
	document, top := at("/conformance", ""), at("", "")
	quick, randomQueries := stage{emulator + "/report", "", slow}, at("/naive", "AnyQuery|Formulas|EveryMetric|Readable")
	reports, naive := at("/report", slow), stage{emulator + "/naive", "", randomQueries.tests}
	switch area {
	case "/apps", "/sharing":
		return []stage{document, at(area, ""), top}
	case "/spend":
		return []stage{document, at(area, ""), top, randomQueries, quick, reports}
	case "/report":
		return []stage{quick, document, reports, randomQueries, top, naive}
	case "/metrics":
		return []stage{randomQueries, quick, at(area, ""), reports, document, top, naive}
	case "/facts":
		return []stage{document, randomQueries, quick, at(area, ""), reports, top, naive}
	case "/reading": // the names in this package also appear on a documentation page
		return []stage{at(area, ""), {"internal/house", "Readings", ""}, document, top}
	case "/store":
		return []stage{at(area, ""), document, top, at("/apps", ""), at("/sharing", ""), at("/spend", ""), quick}
	default: // packages that every area uses
		return []stage{document, top, at("/apps", ""), at("/sharing", ""), at("/spend", ""), quick, reports, randomQueries,
			naive}
	}
}

// longest limits one stage. The slowest takes ten seconds on an idle machine, but the machine may
// be busy.
const longest = 3 * time.Minute

// try runs the stages on a mutant, and takes the outcome from the first one that fails.
func try(ctx context.Context, m mutant) (r result) {
	defer func(started time.Time) { r.took = time.Since(started) }(time.Now())
	work, err := os.MkdirTemp("", "mutant")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(work)
	changed, overlay := filepath.Join(work, "changed.go"), filepath.Join(work, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{m.full: changed}})
	if err == nil {
		err = os.WriteFile(changed, m.text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(overlay, replace, 0o600)
	}
	if err != nil {
		panic(err)
	}
	for _, stage := range stages(m.folder()) {
		args := []string{"test", "-overlay", overlay, "-short", "-vet=off", "-ldflags=-s -w", "-failfast", "-p", "1",
			"-timeout", fmt.Sprint(longest), "-run", stage.tests, "-skip", cmp.Or(stage.but, "^$"), "./" + stage.folder}
		out, err := goTool(ctx, args...)
		switch {
		case err == nil:
		case bytes.Contains(out, []byte("[build failed]")):
			return result{mutant: m, fate: notViable}
		case bytes.Contains(out, []byte("panic: test timed out")) && !bytes.Contains(out, []byte("--- FAIL")):
			return result{mutant: m, fate: timedOut, by: stage.folder}
		default:
			return result{mutant: m, fate: killed, by: stage.folder}
		}
	}
	return result{mutant: m, fate: survived}
}

// goTool runs the go command. When it takes too long, the command and all the processes that it
// started are killed.
func goTool(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*longest)
	defer cancel()
	c := exec.CommandContext(ctx, "go", args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}
