package blobsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/sinks"
)

// lookLocked holds a condition where the store doesn't: right before the file takes its place. In a folder that place
// is locked meanwhile, so that of two writers on one machine the second sees what the first did. The lock is on the
// folder itself (flock(2)), which leaves no file behind; a network's file system that can't lock leaves the look alone.
// Elsewhere the puts of this process wait for each other.
func (s *Sink) lookLocked(ctx context.Context, key string, over sinks.Condition, held bool) (unlock func(), err error) {
	if s.dir == "" {
		s.turn <- struct{}{}
		unlock = func() { <-s.turn }
	} else {
		folder, err := os.Open(filepath.Dir(s.path(key)))
		if err != nil {
			return nil, err
		}
		_ = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX)
		unlock = func() { _ = folder.Close() } // which unlocks it; nothing was written through it
	}
	err = s.look(ctx, key, over)
	if held && !errors.Is(err, sinks.ErrConflict) {
		err = nil // the client holds the condition as well; what is wrong, the write's answer says in more words
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// look compares what is there with a definite condition.
func (s *Sink) look(ctx context.Context, key string, over sinks.Condition) error {
	stored, err := s.bucket.Attributes(ctx, key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		if !over.Absent {
			return sinks.ErrConflict
		}
		return nil
	case err != nil:
		return fmt.Errorf("look at what is there: %w", err)
	case over.Absent || version(stored) != over.Version:
		return sinks.ErrConflict
	}
	return nil
}

func (s *Sink) path(key string) string { return filepath.Join(s.dir, filepath.FromSlash(key)) }

// syncFolders makes the place of a file last through a power cut: its own folder always, and those above it when the
// file is new, because they may be new as well.
func syncFolders(dir, key string, fresh bool) error {
	at := filepath.Dir(filepath.Join(dir, filepath.FromSlash(key)))
	for {
		folder, err := os.Open(at)
		if err != nil {
			return err
		}
		if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
			return fmt.Errorf("sync the folder %s: %w", at, err)
		}
		up := filepath.Dir(at)
		if !fresh || at == filepath.Clean(dir) || up == at {
			return nil
		}
		at = up
	}
}

// List lists what lies below the part of the layout that comes before the date: Parquet files, under any name.
func (s *Sink) List(ctx context.Context, table string) (objects []sinks.Object, err error) {
	prefix, _ := s.key.temporary(table)
	if s.dir != "" {
		objects, err = s.listFolder(table, prefix)
	} else {
		objects, err = s.listBucket(ctx, table, prefix)
	}
	if err != nil {
		return nil, fmt.Errorf("list %s of %s: %w", prefix, s.url, err)
	}
	return objects, nil
}

func (s *Sink) object(table, key string, size int64, version string) sinks.Object {
	o := sinks.Object{Key: key, Size: size, Version: version}
	if partition, ours := s.key.partition(table, key); ours {
		o.Partition = partition
	}
	return o
}

func (s *Sink) listBucket(ctx context.Context, table, prefix string) (objects []sinks.Object, err error) {
	for it := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(o.Key, ".parquet") {
			objects = append(objects, s.object(table, o.Key, o.Size, listedVersion(o)))
		}
	}
}

// listFolder goes through the files itself, because the bucket's own listing fails when one vanishes under it, as the
// temporary files of other writers do.
func (s *Sink) listFolder(table, prefix string) (objects []sinks.Object, err error) {
	below := filepath.Dir(s.path(prefix + "x"))
	err = filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		if key := filepath.ToSlash(rel); strings.HasPrefix(key, prefix) {
			objects = append(objects, s.object(table, key, info.Size(), fileVersion(info.ModTime(), info.Size())))
		}
		return err
	})
	slices.SortFunc(objects, func(a, b sinks.Object) int { return strings.Compare(a.Key, b.Key) })
	return objects, err
}
