package wire

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/reportferry/reportferry/config"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// In a folder that others write to, what is only named like a spool folder holds no start up, and
// nothing behind a link is touched.
func TestSpoolSweepTakesFoldersOnly(t *testing.T) {
	parent := t.TempDir()
	named := func(name string) string { return filepath.Join(parent, spoolPrefix+name) }
	elsewhere := filepath.Join(parent, "elsewhere")
	check(t, os.Mkdir(elsewhere, 0o700))
	check(t, os.Mkdir(filepath.Join(elsewhere, spoolPrefix+"inner"), 0o700))
	check(t, syscall.Mkfifo(named("fifo"), 0o666))
	check(t, syscall.Mkfifo(filepath.Join(parent, "pipe"), 0o666))
	check(t, os.WriteFile(named("file"), []byte("x"), 0o600))
	check(t, os.Symlink("pipe", named("to-a-pipe")))
	check(t, os.Symlink("elsewhere", named("to-a-folder")))
	check(t, os.Symlink("nowhere", named("to-nothing")))
	check(t, os.Mkdir(named("dead"), 0o700))
	check(t, os.WriteFile(filepath.Join(named("dead"), "part"), []byte("x"), 0o600))
	check(t, os.Symlink(elsewhere, filepath.Join(named("dead"), "link")))
	check(t, os.Mkdir(named("fresh"), 0o700))
	check(t, os.Mkdir(named("held"), 0o700))
	held, err := lockDir(named("held"))
	check(t, err)
	defer held.Close() //nolint:errcheck // it is only a lock
	old := time.Now().Add(-time.Hour)
	for _, path := range []string{named("fifo"), "pipe", named("file"), "elsewhere", named("dead"), named("held")} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(parent, path)
		}
		check(t, os.Chtimes(path, old, old))
	}
	foreign := os.Getuid() == 0 // only root can make what is another user's
	if foreign {
		check(t, os.Mkdir(named("foreign"), 0o755))
		check(t, os.Chown(named("foreign"), 65532, 65532))
		check(t, os.Chtimes(named("foreign"), old, old))
	}

	e := (&Engine{Config: &config.Config{SpoolDir: parent}}).Session("")
	done := make(chan error, 1)
	go func() { done <- e.OpenSpool() }()
	select {
	case err := <-done:
		check(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("the start hangs")
	}
	for name, there := range map[string]bool{
		"fifo": true, "file": true, "to-a-pipe": true, "to-a-folder": true, "to-nothing": true, "dead": false,
		"fresh": true, "held": true, "foreign": foreign,
	} {
		if _, err := os.Lstat(named(name)); (err == nil) != there {
			t.Errorf("%s: there is %v, want %v", name, err == nil, there)
		}
	}
	if _, err := os.Stat(filepath.Join(elsewhere, spoolPrefix+"inner")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
	if info, err := os.Stat(e.Spool); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its own folder: %v %v", info, err)
	}
	check(t, e.Close())
	if _, err := os.Stat(e.Spool); !os.IsNotExist(err) {
		t.Errorf("its own folder is left: %v", err)
	}
}
