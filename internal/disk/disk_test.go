package disk

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCreateBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.parquet")
	umask := syscall.Umask(0o027)
	defer syscall.Umask(umask)
	for range 2 { // each has a name of its own
		f, err := CreateBeside(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil || info.Mode().Perm() != 0o640 || !strings.HasPrefix(f.Name(), path+".") ||
			!strings.HasSuffix(f.Name(), ".tmp") {
			t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if _, err := CreateBeside(filepath.Join(path, "none", "x")); err == nil {
		t.Error("a file in a folder that doesn't exist was created")
	}
}
