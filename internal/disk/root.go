package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/lazy"
)

// A Root is a folder that serves as a bucket. It remembers which folders below it have their own
// names on the disk already, so that each new name in such a folder takes one sync, however deep
// the folder lies. It is safe for concurrent use.
type Root struct {
	dir string

	mu      sync.Mutex
	lasting map[string]fs.FileInfo // by path: folders whose names, and those of all above them, survive a power cut
}

// NewRoot returns the Root of a folder, which needn't exist yet.
func NewRoot(dir string) *Root {
	return &Root{dir: filepath.Clean(dir), lasting: map[string]fs.FileInfo{}}
}

// Dir returns the folder's path.
func (r *Root) Dir() string { return r.dir }

// Path returns the path of the file with a key.
func (r *Root) Path(key string) string { return filepath.Join(r.dir, filepath.FromSlash(key)) }

// Sync makes new names in a folder below the root survive a power cut. It syncs the folder, and
// those above it up to the root, because they may be new as well, but not those whose names it
// knows to be on the disk. A folder that was removed and made again since counts as new.
func (r *Root) Sync(folder string) error {
	synced := map[string]fs.FileInfo{}
	for at := filepath.Clean(folder); ; {
		now, err := syncFolder(at)
		if err != nil {
			return fmt.Errorf("sync the folder %s: %w", at, err)
		}
		up := filepath.Dir(at)
		if r.lasts(at, now) || at == r.dir || up == at {
			break
		}
		synced[at] = now
		at = up
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.lasting, synced)
	return nil
}

// make makes a folder, and those above it that are missing.
func (r *Root) make(folder string) error {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		r.mu.Lock()
		delete(r.lasting, at) // a new folder may have the inode of the one that it replaces
		r.mu.Unlock()
	}
	return os.MkdirAll(folder, 0o777)
}

// lasts tells whether a folder is the one that was synced before, and not another one under its
// name.
func (r *Root) lasts(path string, now fs.FileInfo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.lasting[path]
	return was != nil && os.SameFile(was, now)
}

// leftover matches the names that CreateBeside gives to files, and those of gocloud's driver.
var leftover = lazy.Regexp(`\.[0-9a-z]+\.tmp$`)

// Leftover tells whether a file is named as one that a writer hasn't put into its place yet, or has
// left there when it was killed.
func Leftover(name string) bool { return leftover().MatchString(name) }

// Sweep removes the files that killed writers have left, once they are older than age, when no
// writer of them can be alive any more. What can't be removed stays.
func (r *Root) Sweep(age time.Duration) {
	_ = filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !Leftover(d.Name()) {
			return nil //nolint:nilerr // others write and delete meanwhile
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > age {
			_ = os.Remove(path)
		}
		return nil
	})
}

// syncFolder syncs a folder, and returns which folder that was.
func syncFolder(path string) (fs.FileInfo, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat()
	return info, errors.Join(err, folder.Sync(), folder.Close())
}
