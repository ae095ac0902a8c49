package blobsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/sinks"
)

func (s *Sink) path(key string) string { return s.root.Path(key) }

// place writes a part to its place in a folder, on a condition. The bucket's driver syncs nothing, so that after a power cut the
// ledger could name an empty file.
func (s *Sink) place(ctx context.Context, key string, size int64, part io.ReadCloser, over sinks.Condition) error {
	draft, err := s.root.Draft(key)
	if err != nil {
		return errors.Join(err, part.Close())
	}
	if err = errors.Join(copyPart(ctx, draft, part, size), part.Close()); err != nil {
		draft.Discard()
		return err
	}
	unlock, err := s.lookLocked(ctx, key, over, false)
	if err != nil {
		draft.Discard()
		return err
	}
	defer unlock()
	return draft.Replace()
}

// List lists the Parquet files, under any name, that a reader of the table finds: those in the table's folder, but for files and
// folders whose names begin with an underscore or a dot, which readers skip. Where the layout has no such folder, these are the
// table's parts. Keys ascend.
func (s *Sink) List(ctx context.Context, table string) (objects []sinks.Object, err error) {
	prefix := cmp.Or(s.key.folder(table), s.key.prefix(table))
	if s.dir != "" {
		objects, err = s.listFolder(table, prefix)
	} else {
		objects, err = s.listBucket(ctx, table, prefix)
	}
	if err != nil {
		return nil, fmt.Errorf("list %s of %s: %w", prefix, s.url, err)
	}
	return slices.DeleteFunc(objects, func(o sinks.Object) bool {
		below := "/" + strings.TrimPrefix(o.Key, prefix)
		return o.Partition == (civil.Date{}) && (s.key.folder(table) == "" || strings.Contains(below, "/_") || strings.Contains(below, "/."))
	}), nil
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

// listFolder walks the folder itself, because gocloud's listing fails when a file vanishes meanwhile, as the temporary files
// of other writers do.
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

// staleAge is the age at which a temporary file can't belong to a running put any more, because no put takes so long.
const staleAge = time.Hour

// sweep removes, once for each table, the temporary files that killed writers left in a folder. Readers that look for
// *.parquet don't find them, but they take space. A file that can't be examined or removed stays, because nothing depends on
// it, and files of running writers come and go meanwhile. In a bucket, unfinished uploads are the store's to drop: Azure and
// Google do so after a week, and S3 needs a lifecycle rule.
func (s *Sink) sweep(table string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" || s.swept[table] {
		return
	}
	s.swept[table] = true
	temporary := s.key.temporary(table)
	below := filepath.Dir(filepath.Join(s.dir, filepath.FromSlash(s.key.prefix(table)+"x")))
	_ = filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		key, err := filepath.Rel(s.dir, path)
		if err != nil || !temporary.MatchString(filepath.ToSlash(key)) {
			return nil
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > staleAge {
			_ = os.Remove(path)
		}
		return nil
	})
}
