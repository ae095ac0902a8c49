package bucket_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
)

// What is written by a path in the directory is what the bucket reads: the ledger does both.
func TestFolderIsTheBucket(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	for _, rawURL := range []string{"file://./a/b", "file://" + home + "/with%20space",
		"file://../" + filepath.Base(home) + "/c?create_dir=true"} {
		dir, err := bucket.Folder(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		b, err := bucket.Open(t.Context(), rawURL)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte("here"), 0o600); err != nil {
			t.Fatal(err)
		}
		if data, err := b.Blob().ReadAll(t.Context(), "x.json"); err != nil || string(data) != "here" {
			t.Errorf("%s: %s, %v", rawURL, data, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, rawURL := range []string{"file://./a?prefix=b/", "file://./a?key=b"} {
		if dir, err := bucket.Folder(rawURL); err == nil {
			t.Errorf("%s is taken for %s", rawURL, dir)
		}
	}
	if dir, err := bucket.Folder("gs://bucket/a"); dir != "" || err != nil {
		t.Errorf("gs: %q %v", dir, err)
	}
}
