package bucket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// On a file system of a network, or in user space, nothing is written unless the URL says that one
// machine alone does. To read is safe.
func TestFoldersOfNetworks(t *testing.T) {
	dir, real := t.TempDir(), statfs
	t.Cleanup(func() { statfs = real })
	for kind, name := range map[int64]string{0x6969: "NFS", 0xff534d42: "CIFS", 0x65735546: "FUSE", 0x01021997: "9p",
		0xef53: ""} {
		statfs = func(path string) (int64, error) {
			if _, err := os.Stat(path); err != nil {
				return 0, err
			}
			return kind, nil
		}
		for _, at := range []string{dir, filepath.Join(dir, "not", "there yet", name)} {
			b, err := Open(t.Context(), "file://"+at)
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Put(t.Context(), "k", []byte("x"), Condition{})
			if name != "" {
				if err == nil || !strings.Contains(err.Error(), "("+name+")") ||
					!strings.Contains(err.Error(), "shared=true") {
					t.Errorf("%s: written: %v", name, err)
				}
				for _, err := range []error{b.Prove(t.Context()), b.Delete(t.Context(), "k")} {
					if err == nil || errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "shared=true") {
						t.Errorf("%s: %v", name, err)
					}
				}
			} else if err != nil || b.Prove(t.Context()) != nil {
				t.Errorf("on a disk: %v", err)
			}
			if _, err := b.List(t.Context(), ""); err != nil {
				t.Errorf("%s: listed: %v", name, err)
			}
			if b, err = Open(t.Context(), "file://"+at+"?shared=true"); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Put(t.Context(), "k", []byte("x"), Condition{}); err != nil || b.Prove(t.Context()) != nil {
				t.Errorf("%s, shared: %v", name, err)
			}
		}
	}
}

// Whoever writes waits for another process that holds the folder, and no longer than its context;
// and a folder that can't be locked isn't written to.
func TestFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	one, err := b.Put(t.Context(), "k", []byte("one"), Condition{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(dir) // a file description of its own is what another process has
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Put(ctx, "k", []byte("two"), Condition{Version: one}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another holds the folder: %v", err)
	}
	usual := lockWait
	lockWait = time.Millisecond
	if _, err := b.Put(t.Context(), "k", []byte("two"), Condition{Version: one}); !strings.Contains(fmt.Sprint(err),
		"fuser "+dir) {
		t.Errorf("while another holds the folder for long: %v", err)
	}
	lockWait = usual
	done := make(chan error)
	go func() { _, err := b.Put(t.Context(), "k", []byte("two"), Condition{Version: one}); done <- err }()
	// As the holder does before it lets go.
	if err := os.WriteFile(filepath.Join(dir, "k"), []byte("three"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrConflict) {
		t.Errorf("after another has written: %v", err)
	}
	was := flock
	t.Cleanup(func() { flock = was })
	flock = func(*os.File) error { return syscall.ENOLCK }
	if _, err := b.Put(t.Context(), "k", []byte("four"), Condition{}); !errors.Is(err, syscall.ENOLCK) ||
		!strings.Contains(err.Error(), "use a folder of a file system that locks") {
		t.Errorf("without locks: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if data, _ := os.ReadFile(filepath.Join(dir, "k")); err != nil || string(data) != "three" || len(entries) != 1 {
		t.Errorf("%q is there, beside %v; %v", data, entries, err)
	}
}

// A folder that is removed and made again while one waits for its lock is another one.
func TestFolderIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "table")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	was, times := flock, 0
	t.Cleanup(func() { flock = was })
	flock = func(f *os.File) error {
		if times++; times == 1 {
			if err := errors.Join(os.Rename(dir, dir+"-old"), os.Mkdir(dir, 0o700)); err != nil {
				t.Error(err)
			}
		}
		return was(f)
	}
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if times != 2 {
		t.Errorf("it was locked %d times, want 2", times)
	}
}

// What killed writers have left isn't listed, and no key leads out of the folder.
func TestFolderKeys(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), "file://"+dir+"/in")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in", "k.json.18a1b2c3d4e5f607.tmp"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if objects, err := b.List(t.Context(), ""); err != nil || len(objects) > 0 {
		t.Errorf("listed: %v %v", objects, err)
	}
	for _, key := range []string{"../out", "/out", "a/../../out"} {
		_, putErr := b.Put(t.Context(), key, []byte("x"), Condition{})
		_, _, getErr := b.Get(t.Context(), key)
		for _, err := range []error{putErr, getErr, b.Delete(t.Context(), key)} {
			if err == nil || !strings.Contains(err.Error(), "leads out of the folder") {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

// Clocks and copies change the time of a file and not its version; another content of the same time
// and size is another version.
func TestFolderVersions(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	one, err := b.Put(t.Context(), "k", []byte("one"), Condition{})
	if err != nil {
		t.Fatal(err)
	}
	path, then := filepath.Join(dir, "k"), time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	if _, err = b.Put(t.Context(), "k", []byte("two"), Condition{Version: one}); err != nil {
		t.Errorf("after its time was changed: %v", err)
	}
	_, two, err := b.Get(t.Context(), "k")
	if err := errors.Join(err, os.WriteFile(path, []byte("six"), 0o600), os.Chtimes(path, then, then)); err != nil {
		t.Fatal(err)
	}
	if _, err = b.Put(t.Context(), "k", []byte("ten"), Condition{Version: two}); !errors.Is(err, ErrConflict) {
		t.Errorf("over another content of the same size: %v", err)
	}
	looked, _, err := b.Attributes(t.Context(), "k") // what Attributes gives is a condition, too
	if err == nil {
		_, err = b.Put(t.Context(), "k", []byte("ten"), Condition{Version: looked.Version})
	}
	if err != nil {
		t.Errorf("over what was looked at: %v", err)
	}
}
