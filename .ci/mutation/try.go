package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fate is what became of a mutant.
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

// stages are the packages whose tests are asked, one stage after the other, the quickest first: those that hold the document,
// the folder's own, and those that see it from further away.
func stages(folder string) [][]string {
	area := strings.TrimPrefix(strings.TrimPrefix(folder, emulator), "/")
	stages := [][]string{{emulator + "/conformance"}}
	if found, _ := filepath.Glob(folder + "/*_test.go"); len(found) > 0 && !slices.Contains([]string{"", "report"}, area) {
		stages = append(stages, []string{folder})
	}
	naive, reports, top := []string{emulator + "/naive"}, []string{emulator + "/report"}, []string{emulator}
	switch area {
	case "apps", "sharing":
		return append(stages, top)
	case "spend":
		return append(stages, top, naive, reports)
	case "report", "metrics", "facts":
		return append(stages, naive, top, reports)
	default: // what every area rests on
		return append(stages, top, []string{emulator + "/apps", emulator + "/sharing", emulator + "/spend"}, reports, naive)
	}
}

const longest = 60 * time.Second // of one stage; the slowest takes ten seconds on an idle machine

// try judges a mutant by the first stage that fails.
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
	for _, packages := range stages(m.folder()) {
		args := []string{"test", "-overlay", overlay, "-short", "-vet=off", "-ldflags=-s -w", "-failfast", "-p", "1", "-timeout", fmt.Sprint(longest)}
		for _, p := range packages {
			args = append(args, "./"+p)
		}
		out, err := goTool(ctx, args...)
		switch {
		case err == nil:
		case bytes.Contains(out, []byte("[build failed]")):
			return result{mutant: m, fate: notViable}
		case bytes.Contains(out, []byte("panic: test timed out")):
			return result{mutant: m, fate: timedOut, by: packages[0]}
		default:
			return result{mutant: m, fate: killed, by: packages[0]}
		}
	}
	return result{mutant: m, fate: survived}
}

// goTool runs the go command, and ends what it started when it takes too long.
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
