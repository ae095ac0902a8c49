package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const spoolPrefix = "reportferry-spool-"

// openSpool makes the folder of this run's part files, and sweeps those of runs that were killed.
func (e *engine) openSpool() error {
	parent := e.spoolParent()
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("make spool_dir: %w", err)
	}
	sweepSpools(parent)
	path, err := os.MkdirTemp(parent, spoolPrefix)
	if err != nil {
		return fmt.Errorf("make a folder in spool_dir: %w", err)
	}
	e.spool = path
	dir, err := lockDir(path)
	if err != nil {
		return errors.Join(fmt.Errorf("lock the folder in spool_dir: %w", err), os.RemoveAll(path))
	}
	e.close = append(e.close, func() error { return errors.Join(os.RemoveAll(path), dir.Close()) })
	return nil
}

// lockDir locks a folder for as long as the file is open: a process that is killed gives its lock up.
func lockDir(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// sweepSpools removes the folders whose process is gone. What can't be removed stays: it is only space.
func sweepSpools(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, spoolPrefix+"*"))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // it may be about to be locked
			continue
		}
		if dir, err := lockDir(path); err == nil {
			_ = os.RemoveAll(path)
			_ = dir.Close()
		}
	}
}
