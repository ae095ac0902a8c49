package deploy

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	check(t, err)
	return string(data)
}

var built string // the folder of the binary, once there is one

// binary builds the program once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	// The test cache doesn't see what go build reads. It sees which folders are opened here, and
	// what is in them.
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "out" ||
			d.Name() == "deploy") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if built, err = os.MkdirTemp("", "reportferry-deploy-"); err != nil {
		return "", err
	}
	path := filepath.Join(built, "reportferry")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/reportferry").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// A program is a run of the binary in a folder, with an environment that has nothing of this
// machine's clouds.
type program struct {
	dir string
	env []string
}

func (p program) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	check(t, err)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = p.dir
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "GOOGLE_") && !strings.HasPrefix(name, "REPORTFERRY_") &&
			!strings.HasPrefix(name, "CLOUD_RUN_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, p.env...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// accept runs the program and wants one of the exit codes; none named means 0.
func (p program) accept(t testing.TB, args []string, codes ...int) string {
	t.Helper()
	cmd := p.command(t, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("reportferry %s: %v", strings.Join(args, " "), err)
	}
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(append(codes, 0), code) {
		t.Fatalf("reportferry %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return string(out)
}

// account serves a made-up account of so many apps; another seed has other numbers.
func account(t testing.TB, seed int64, apps int, latency time.Duration) *emulator.Server {
	t.Helper()
	server, err := emulator.New(emulator.Options{Seed: seed, Apps: apps, Rate: -1, Latency: latency})
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	return server
}
