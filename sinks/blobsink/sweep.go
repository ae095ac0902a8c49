package blobsink

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// staleAge is how old a temporary file is when no living writer can own it: no put takes so long.
const staleAge = time.Hour

// sweep removes, once per table, the temporary files that killed writers left in a directory. Readers that look for
// *.parquet don't see them, but they take space. Azure and Google drop unfinished uploads by themselves after a week; S3 needs a lifecycle rule
// for those that a killed writer left. What can't be
// looked at or removed stays, for nothing depends on it: above all, files of living writers come and go meanwhile,
// which the bucket's own listing takes for an error.
func (s *Sink) sweep(table string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" || s.swept[table] {
		return
	}
	s.swept[table] = true
	prefix, temporary := s.key.temporary(table)
	below := filepath.Dir(filepath.Join(s.dir, filepath.FromSlash(prefix+"x")))
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
