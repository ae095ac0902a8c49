package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func draft(t *testing.T, root *Root, text string) *Draft {
	t.Helper()
	d, err := root.Draft("x/y.json")
	check(t, err)
	_, err = d.WriteString(text)
	check(t, err)
	return d
}

// only checks that the file, and nothing else, is in its folder.
func only(t *testing.T, root *Root, text string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root.Dir(), "x"))
	check(t, err)
	got, err := os.ReadFile(root.Path("x/y.json"))
	if err != nil || string(got) != text || len(entries) != 1 {
		t.Errorf("the file has %q (%v), want %q; its folder has %v", got, err, text, entries)
	}
}

func TestDraft(t *testing.T) {
	root := NewRoot(t.TempDir())
	check(t, draft(t, root, "one").Create())
	only(t, root, "one")
	if err := draft(t, root, "two").Create(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was created over another: %v", err)
	}
	only(t, root, "one")
	d := draft(t, root, "three")
	if got, _ := os.ReadFile(root.Path("x/y.json")); string(got) != "one" {
		t.Errorf("a draft is in its place already: %q", got)
	}
	check(t, d.Replace())
	only(t, root, "three")
	draft(t, root, "four").Discard()
	only(t, root, "three")
	d = draft(t, root, "five")
	check(t, d.Close())
	if err := d.Replace(); err == nil {
		t.Error("a file whose bytes couldn't be synced has taken its place")
	}
	only(t, root, "three")
}

// Of many that create a file at once, one does.
func TestCreateAtOnce(t *testing.T) {
	root := NewRoot(t.TempDir())
	var made atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		d := draft(t, root, "it")
		all.Go(func() {
			if err := d.Create(); err == nil {
				made.Add(1)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d created it", n)
	}
	only(t, root, "it")
}

func TestNoDraft(t *testing.T) {
	root := NewRoot(filepath.Join(t.TempDir(), "file"))
	check(t, os.WriteFile(root.Dir(), nil, 0o600))
	if _, err := root.Draft("x/y.json"); err == nil {
		t.Error("a file is below another")
	}
}
