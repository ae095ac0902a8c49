package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/reportferry/reportferry/internal/disk"
)

// A ledger on plain files can't use the file driver for two things. The driver's conditional create checks and then
// renames, so two writers can both win; and its listing fails when a file vanishes meanwhile, as temporary files of
// other processes do.

// createFile writes a file that must not exist yet. One of several writers wins, and the others get errExists.
func createFile(root *disk.Root, key string, data []byte) error {
	draft, err := root.Draft(key)
	if err != nil {
		return err
	}
	if _, err := draft.Write(data); err != nil {
		draft.Discard()
		return fmt.Errorf("write %s: %w", draft.Name(), err)
	}
	if err := draft.Create(); errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	return nil
}

// listFiles gives the keys of the files below a folder, ascending. A folder that doesn't exist has none.
func listFiles(dir, prefix string) ([]string, error) {
	var keys []string
	err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(prefix)), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		keys = append(keys, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(keys)
	return keys, err
}
