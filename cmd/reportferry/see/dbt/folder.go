package dbt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// write writes the files into a folder, and removes files that the command wrote there earlier and
// that aren't among them. Before it changes anything, it fails if a file without the command's mark
// is in the place of one. It leaves an existing profiles.yml alone.
func write(folder string, files map[string]string) error {
	// Nothing of somebody else may be in the way.
	for _, path := range slices.Sorted(maps.Keys(files)) {
		own, err := isOurs(filepath.Join(folder, path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case path == profiles:
			delete(files, path)
		case !own:
			return fmt.Errorf("%s is there, and reportferry hasn't written it; name another folder by --out, or "+
				"take that file away", filepath.Join(folder, path))
		}
	}
	// Files of an earlier call that aren't needed any more are removed.
	for _, below := range []string{"models", "macros", "tests"} {
		err := filepath.WalkDir(filepath.Join(folder, below), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(folder, path)
			if err != nil || files[filepath.ToSlash(name)] != "" {
				return err
			}
			if own, err := isOurs(path); err != nil || !own {
				return err
			}
			return os.Remove(path)
		})
		if err != nil {
			return err
		}
	}
	for path, text := range files {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// isOurs reports whether the command wrote a file: whether its first line has the mark.
func isOurs(path string) (bool, error) {
	text, err := os.ReadFile(path)
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.Contains(first, mark), err
}
