package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/reportferry/reportferry/internal/disk"
)

// A ledger on plain files can't use the file driver for two things. The driver's conditional create checks and then
// renames, so two writers can both win; and its listing fails when a file vanishes meanwhile, as temporary files of
// other processes do.

// createFile writes a file that must not exist yet, in one step: link(2) succeeds for one of several writers.
func createFile(dir, key string, data []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	tmp, err := disk.CreateBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // a leftover is ignored by every reader
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", tmp.Name(), err)
	}
	if err := os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) {
		return errExists
	} else if err != nil {
		return err
	}
	return disk.SyncFolders(filepath.Dir(path), dir)
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
