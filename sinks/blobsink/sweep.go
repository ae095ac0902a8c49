package blobsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// staleAge is how old a temporary file is when no living writer can own it: no put takes so long.
const staleAge = time.Hour

// sweep removes, once per table, the temporary files that killed writers left in a directory. Readers that look for
// *.parquet don't see them, but they take space. Other stores drop unfinished uploads by themselves.
func (s *Sink) sweep(ctx context.Context, table string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.files || s.swept[table] {
		return nil
	}
	prefix, temporary := s.key.temporary(table)
	list := s.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("look for temporary files of killed writers: %w", err)
		}
		if !temporary.MatchString(o.Key) || time.Since(o.ModTime) < staleAge {
			continue
		}
		if err := s.bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound { // another process swept it
			return fmt.Errorf("remove the temporary file of a killed writer: %w", err)
		}
	}
	s.swept[table] = true
	return nil
}
