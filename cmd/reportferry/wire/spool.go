package wire

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// spoolPrefix begins the name of every session's spool folder.
const spoolPrefix = "reportferry-spool-"

// OpenSpool makes the folder of the session's part files, and removes those of runs that were
// killed.
func (s *Session) OpenSpool() error {
	parent := s.SpoolParent()
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("make the folder that spool_dir names: %w; name another one, or move away what is in its "+
			"place", err)
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
	s.onClose(func() error { return errors.Join(os.RemoveAll(path), dir.Close()) })
	return nil
}

// SpoolParent returns the folder in which every session makes one of its own.
func (e *Engine) SpoolParent() string {
	if e.Config.SpoolDir != "" {
		return e.Config.SpoolDir
	}
	return os.TempDir()
}

// lockDir locks a folder until the returned file is closed. The system releases the lock of a
// killed process. lockDir refuses links to folders, and doesn't wait for the other end of a pipe.
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

// sweepSpools removes this user's folders whose process is gone: those that it can lock. A folder
// that can't be removed only takes space. In a folder such as /tmp other users may have named a
// pipe or a link like a spool folder.
func sweepSpools(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, spoolPrefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		// The process of a new folder may not have locked it yet.
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		dir, err := lockDir(path)
		if err != nil {
			continue
		}
		if locked, err := dir.Stat(); err == nil && os.SameFile(locked, info) && isOwn(locked) {
			_ = os.RemoveAll(path)
		}
		_ = dir.Close()
	}
}

// isOwn tells whether a file belongs to the user of this process.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
