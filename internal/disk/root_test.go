package disk

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// remembered are the folders whose names needn't be synced again.
func (r *Root) remembered(t *testing.T) (below []string) {
	for path := range maps.Keys(r.lasting) {
		rel, err := filepath.Rel(r.dir, path)
		check(t, err)
		below = append(below, rel)
	}
	slices.Sort(below)
	return below
}

// Each folder up to the root is synced once; the root itself, whose own name isn't in it, each time
// that a new name is.
func TestSync(t *testing.T) {
	root := NewRoot(t.TempDir() + "/")
	deep := filepath.Join(root.Dir(), "a", "b")
	check(t, os.MkdirAll(deep, 0o777))
	if got := root.remembered(t); got != nil {
		t.Errorf("before anything is synced, %v are remembered", got)
	}
	check(t, root.Sync(root.Dir()))
	check(t, root.Sync(deep))
	if got, want := root.remembered(t), []string{"a", "a/b"}; !slices.Equal(got, want) {
		t.Errorf("%v are remembered, want %v", got, want)
	}
	check(t, os.RemoveAll(filepath.Join(root.Dir(), "a")))
	if err := root.Sync(deep); err == nil {
		t.Error("a folder that is gone was synced")
	}
	if err := root.Sync("/nowhere/at/all"); err == nil {
		t.Error("a folder that never was there was synced")
	}
}

// A folder that was removed and made again has to be synced with those above it, even when it has
// the inode of the one before.
func TestAFolderThatIsMadeAgain(t *testing.T) {
	root := NewRoot(t.TempDir())
	put := func() {
		d, err := root.Draft("a/b/x")
		check(t, err)
		check(t, d.Replace())
	}
	put()
	for range 20 {
		check(t, os.RemoveAll(filepath.Join(root.Dir(), "a", "b")))
		d, err := root.Draft("a/b/x")
		check(t, err)
		if got, want := root.remembered(t), []string{"a"}; !slices.Equal(got, want) {
			t.Fatalf("%v are remembered, want %v", got, want)
		}
		check(t, d.Replace())
		if got, want := root.remembered(t), []string{"a", "a/b"}; !slices.Equal(got, want) {
			t.Fatalf("%v are remembered, want %v", got, want)
		}
	}
	other, err := os.MkdirTemp(root.Dir(), "other")
	check(t, err)
	check(t, os.Rename(filepath.Join(root.Dir(), "a"), filepath.Join(root.Dir(), "old")))
	check(t, os.Rename(other, filepath.Join(root.Dir(), "a"))) // another process has put another folder there
	info, err := os.Stat(filepath.Join(root.Dir(), "a"))
	check(t, err)
	if root.lasts(filepath.Join(root.Dir(), "a"), info) {
		t.Error("another folder under the name passes for the one that was synced")
	}
	put()
}
