package bucket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reportferry/reportferry/internal/disk"
)

// A folder is a store of one machine. A file is written beside its final path, synced, and renamed,
// so that readers need no lock. Writers lock the folder that contains the file (flock(2)), check
// the condition, and rename; no lock file is left behind. The version of a file is a digest of its
// content, not its time, because clocks and copies change that. For PutFile, Attributes and
// ListFiles, whose files would take too long to read, it is the time and the size, as in
// 18a1b2c3d4e5f607-1f4. A condition of a put may have either.
type folder struct {
	root    *disk.Root
	refused error // why nothing may be written; nil: it may
}

// Do makes a call. Its keys must not lead out of the folder.
func (s *folder) Do(ctx context.Context, c Call) (a Answer, err error) {
	for _, key := range append(c.Keys, c.Key) {
		if local := filepath.FromSlash(key); key != "" && !filepath.IsLocal(local) {
			return a, fmt.Errorf("%q is no key: it leads out of the folder", key)
		}
	}
	if err := ctx.Err(); err != nil {
		return a, err
	}
	if s.refused != nil && (c.Op == OpPut || c.Op == OpDelete) {
		return a, s.refused
	}
	switch c.Op {
	case OpGet:
		a.Data, err = os.ReadFile(s.root.Path(c.Key))
		a.Version = digest(a.Data)
	case OpPut:
		a.Version, err = s.put(ctx, c)
	case OpList, OpListFiles:
		a.Objects, err = s.list(c.Key, c.Op == OpListFiles)
	case OpDelete:
		for _, key := range c.Keys {
			err = cmp.Or(err, s.delete(ctx, key))
		}
	default:
		err = fmt.Errorf("%q is no call", c.Op)
	}
	return a, err
}

// put writes a file beside its final path, and renames it there if the condition is met.
func (s *folder) put(ctx context.Context, c Call) (version string, err error) {
	draft, err := s.root.Draft(c.Key)
	if err != nil {
		return "", err
	}
	placed := false
	defer func() {
		if !placed {
			draft.Discard()
		}
	}()
	if c.File != nil {
		err = c.File.copyTo(ctx, draft)
	} else {
		_, err = draft.Write(c.Data)
	}
	if err = cmp.Or(err, draft.Sync()); err != nil { // synced before the lock makes others wait
		return "", err
	}
	if version = digest(c.Data); c.File != nil {
		info, err := draft.Stat()
		if err != nil {
			return "", err
		}
		version = fileVersion(info.ModTime(), info.Size())
	}

	// Check the condition and rename the file, while no other writer does.
	unlock, err := lock(ctx, filepath.Dir(draft.Name()))
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := s.check(c); err != nil {
		return "", err
	}
	placed = true
	return version, draft.Replace()
}

// check compares the existing file with the condition of a put.
func (s *folder) check(c Call) error {
	if c.On == (Condition{}) {
		return nil
	}
	there, err := object(c.Key, s.root.Path(c.Key), strings.Contains(c.On.Version, "-"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !c.On.Absent {
			return ErrConflict
		}
		return nil
	case err == nil && (c.On.Absent || there.Version != c.On.Version):
		return ErrConflict
	}
	return err
}

// delete removes a file under the folder's lock; a missing one is no error.
func (s *folder) delete(ctx context.Context, key string) error {
	path := s.root.Path(key)
	unlock, err := lock(ctx, filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// list walks the folder itself, because gocloud's listing fails when a file vanishes meanwhile, as
// the temporary files of other writers do.
func (s *folder) list(prefix string, files bool) (objects []Object, err error) {
	below := filepath.Dir(s.root.Path(prefix + "x"))
	err = filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || disk.Leftover(d.Name()) {
			return ignoreMissing(err)
		}
		rel, err := filepath.Rel(s.root.Dir(), path)
		if key := filepath.ToSlash(rel); err == nil && strings.HasPrefix(key, prefix) {
			var o Object
			if o, err = object(key, path, files); err == nil {
				objects = append(objects, o)
			}
		}
		return ignoreMissing(err)
	})
	slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	return objects, err
}

// object returns the entry of a file. With file, its version is the time and the size, else the
// digest.
func object(key, path string, file bool) (Object, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Object{}, err
	}
	o := Object{Key: key, Size: info.Size(), Version: fileVersion(info.ModTime(), info.Size()),
		Modified: info.ModTime()}
	if !file {
		o.Version, err = fileDigest(path)
	}
	return o, err
}

// ignoreMissing drops the error about a file that has vanished.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lockWait bounds the wait for other writers, who need milliseconds. Tests change it.
var lockWait = time.Minute

// lock locks a folder against other writers, of this process and others. It waits for them until
// the context ends, or lockWait has passed: a process that is stopped (SIGSTOP) keeps its lock.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, fmt.Errorf("another process has locked the folder for %s; "+
		"if it was stopped, let it go on or end it; fuser %s names it", lockWait, dir))
	defer cancel()
	for {
		f, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		locked := make(chan error, 1)
		go func() { locked <- flock(f) }()
		select {
		case err = <-locked:
		case <-ctx.Done():
			go func() { _ = errors.Join(<-locked, f.Close()) }() // releases the lock if it is still obtained
			return nil, fmt.Errorf("wait for the other writers in %s: %w", dir, context.Cause(ctx))
		}
		if err != nil {
			_ = f.Close() // err says why
			return nil, fmt.Errorf("lock %s: %w: without a lock one of two writers would undo what the other "+
				"writes; use a folder of a file system that locks, or a bucket", dir, err)
		}
		held, heldErr := f.Stat()
		there, err := os.Stat(dir)
		if err == nil && heldErr == nil && os.SameFile(held, there) {
			return func() { _ = f.Close() }, nil // this releases the lock
		}
		_ = f.Close() // the folder was removed, and perhaps made again
	}
}

// flock locks a file exclusively. Tests replace it.
var flock = func(f *os.File) (err error) {
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	return err
}

// digest returns the version of a content.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// fileDigest returns the digest of the content of a file.
func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was read
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}
