package blobsink

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reportferry/reportferry/sinks"
)

// List lists the Parquet files, under any name, that a reader of the table finds: those in the
// table's folder, but for files and folders whose names begin with an underscore or a dot, which
// readers skip. If the layout has no such folder, List lists the table's parts. Keys ascend.
func (s *Sink) List(ctx context.Context, table string) (objects []sinks.Object, err error) {
	folder := s.key.folder(table)
	prefix := cmp.Or(folder, s.key.prefix(table))
	there, err := s.bucket.ListFiles(ctx, prefix)
	for _, o := range there {
		found := sinks.Object{Key: o.Key, Size: o.Size, Version: o.Version}
		below := "/" + strings.TrimPrefix(o.Key, prefix)
		if partition, ours := s.key.partition(table, o.Key); ours {
			found.Partition = partition
		} else if folder == "" || strings.Contains(below, "/_") || strings.Contains(below, "/.") {
			continue
		}
		if strings.HasSuffix(o.Key, ".parquet") {
			objects = append(objects, found)
		}
	}
	return objects, err
}

// staleAge is the age at which a temporary file can't belong to a running put any more, because no
// put takes so long.
const staleAge = time.Hour

// sweep removes, once for each table, the temporary files that killed writers left in a folder.
// Readers that look for *.parquet don't find them, but they take space. A file that can't be
// examined or removed stays, because nothing depends on it, and files of running writers come and
// go meanwhile. In a bucket, unfinished uploads are the store's to drop: Azure and Google do so
// after a week, and S3 needs a lifecycle rule.
func (s *Sink) sweep(table string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.bucket.Dir()
	if dir == "" || s.swept[table] {
		return
	}
	s.swept[table] = true
	temporary := s.key.temporary(table)
	below := filepath.Dir(filepath.Join(dir, filepath.FromSlash(s.key.prefix(table)+"x")))
	_ = filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		key, err := filepath.Rel(dir, path)
		if err != nil || !temporary.MatchString(filepath.ToSlash(key)) {
			return nil
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > staleAge {
			_ = os.Remove(path)
		}
		return nil
	})
}
