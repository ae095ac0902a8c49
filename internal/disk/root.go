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

// A Root is a folder that serves as a bucket. It remembers which folders' own names are on the disk
// already, so that one name after the other in the same folder takes one sync each, however deep
// the folder lies. It is safe for concurrent use.
type Root struct {
	dir string

	mu      sync.Mutex
	lasting map[string]fs.FileInfo // by path: folders whose names, and those of all above them, survive a power cut
}

// NewRoot takes a folder, which needn't exist yet.
func NewRoot(dir string) *Root {
	return &Root{dir: filepath.Clean(dir), lasting: map[string]fs.FileInfo{}}
}

// Dir is the folder's path.
func (r *Root) Dir() string { return r.dir }

// Path is where the file with a key lies.
func (r *Root) Path(key string) string { return filepath.Join(r.dir, filepath.FromSlash(key)) }

// Sync makes new names in a folder below the root survive a power cut. It syncs the folder, and
// those above it up to the root, because they may be new as well, but for those that it has synced
// before. A folder that was removed and made again since counts as new.
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
		delete(r.lasting, at) // a new folder may have the inode of the one that it follows
		r.mu.Unlock()
	}
	return os.MkdirAll(folder, 0o777)
}

// lasts tells whether it is the folder that was synced before, and not another one under its name.
func (r *Root) lasts(path string, now fs.FileInfo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.lasting[path]
	return was != nil && os.SameFile(was, now)
}

// leftover is what CreateBeside calls a file, and gocloud's driver likewise.
var leftover = lazy.Regexp(`\.[0-9a-z]+\.tmp$`)

// Leftover tells whether a file is named as one that a writer hasn't put into its place yet, or has
// left there when it was killed.
func Leftover(name string) bool { return leftover().MatchString(name) }

// Sweep removes what writers that were killed have left, once it is so old that none of them can
// live. What can't be removed stays.
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

func syncFolder(path string) (fs.FileInfo, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat()
	return info, errors.Join(err, folder.Sync(), folder.Close())
}
