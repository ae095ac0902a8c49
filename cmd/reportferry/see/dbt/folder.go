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

// write makes the files in a folder, and removes those that were written there earlier and aren't
// among them. It refuses a file that isn't marked as one of ours, before anything is written, and
// leaves one of profiles alone.
func write(folder string, files map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		own, err := ours(filepath.Join(folder, path))
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
			if own, err := ours(path); err != nil || !own {
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

// ours tells whether a file was written by the command.
func ours(path string) (bool, error) {
	text, err := os.ReadFile(path)
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.Contains(first, mark), err
}
