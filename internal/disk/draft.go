package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A Draft is a file on its way to its place below a root. Until it is there, readers see what was
// there before.
type Draft struct {
	*os.File
	root   *Root
	path   string // its place
	synced bool
}

// Draft begins the file of a key, which is a path below the root, with slashes.
func (r *Root) Draft(key string) (*Draft, error) {
	path := r.Path(key)
	f, err := CreateBeside(path)
	if errors.Is(err, os.ErrNotExist) { // its folder isn't there yet
		if err = r.make(filepath.Dir(path)); err == nil {
			f, err = CreateBeside(path)
		}
	}
	if err != nil {
		return nil, err
	}
	return &Draft{File: f, root: r, path: path}, nil
}

// Create puts the file in its place. If there is a file already, the error is os.ErrExist. Of
// several writers one succeeds, by link(2). When there is no error, the file survives a power cut.
func (d *Draft) Create() error {
	defer os.Remove(d.Name()) //nolint:errcheck // a leftover is ignored by every reader
	return d.place(os.Link)
}

// Replace puts the file in its place, instead of what is there. When there is no error, the file
// survives a power cut; with one, either file may be there.
func (d *Draft) Replace() error {
	err := d.place(os.Rename)
	if err != nil {
		_ = os.Remove(d.Name()) // if it is still there
	}
	return err
}

// Sync makes what was written survive a power cut. It may be called early, before the time in which
// others have to wait for the file's place. Nothing is written after it.
func (d *Draft) Sync() error {
	if d.synced {
		return nil
	}
	d.synced = true
	return d.File.Sync()
}

// place moves the file to its place, and makes its name survive a power cut. Before that it syncs
// what was written, because otherwise the name could survive with an empty file.
func (d *Draft) place(move func(from, to string) error) error {
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("write %s: %w", d.Name(), err)
	}
	if err := move(d.Name(), d.path); err != nil {
		return err
	}
	return d.root.Sync(filepath.Dir(d.path))
}

// Discard closes and removes the file.
func (d *Draft) Discard() {
	_ = d.Close() // an error doesn't matter: the file is removed
	_ = os.Remove(d.Name())
}
