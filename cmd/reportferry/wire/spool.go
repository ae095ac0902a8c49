package wire

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const spoolPrefix = "reportferry-spool-"

// OpenSpool makes the folder of the session's part files, and sweeps those of runs that were killed.
func (s *Session) OpenSpool() error {
	parent := s.SpoolParent()
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("make spool_dir: %w", err)
	}
	sweepSpools(parent)
	path, err := os.MkdirTemp(parent, spoolPrefix)
	if err != nil {
		return fmt.Errorf("make a folder in spool_dir: %w", err)
	}
	s.Spool = path
	dir, err := lockDir(path)
	if err != nil {
		return errors.Join(fmt.Errorf("lock the folder in spool_dir: %w", err), os.RemoveAll(path))
	}
	s.closers.add(func() error { return errors.Join(os.RemoveAll(path), dir.Close()) })
	return nil
}

// SpoolParent is the folder under which sessions make theirs.
func (e *Engine) SpoolParent() string {
	if e.Config.SpoolDir != "" {
		return e.Config.SpoolDir
	}
	return os.TempDir()
}

// lockDir locks a folder for as long as the file is open: a process that is killed gives its lock up. It takes no link to a
// folder, and doesn't wait for a pipe's other end.
func lockDir(path string) (*os.File, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// sweepSpools removes the folders of this user whose process is gone. What can't be removed stays: it is only space. Others
// may write to the folder around them too, and name a pipe or a link so.
func sweepSpools(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, spoolPrefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute { // it may be about to be locked
			continue
		}
		dir, err := lockDir(path)
		if err != nil {
			continue
		}
		if locked, err := dir.Stat(); err == nil && os.SameFile(locked, info) && own(locked) {
			_ = os.RemoveAll(path)
		}
		_ = dir.Close()
	}
}

// own says whether a file is this process's user's.
func own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
