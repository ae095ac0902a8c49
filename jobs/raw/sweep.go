package raw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"
)

const (
	// mostSwept limits how many answers one run deletes; the next run deletes more.
	mostSwept = 1000
	sweepers  = 16 // objects that are deleted at the same time

	// A temporary file of this age in a folder belongs to no running writer any more: no answer
	// takes as long.
	leftoverAge = 24 * time.Hour
)

// Sweep deletes answers that came longer ago than Options.Keep, by the time in their names, and
// returns their number. It deletes them even if records name them: a partition whose answers are
// gone can't be replayed any more, and the replay says so. In a folder, Sweep also deletes the
// temporary files that killed writers left.
func (s *Store) Sweep(ctx context.Context, now time.Time) (n int, err error) {
	if s == nil {
		return 0, nil
	}
	cutoff := time.Time{} // nothing came before it
	if s.o.Keep > 0 {
		cutoff = now.Add(-s.o.Keep)
	}
	var old []string
	if s.o.Dir != "" {
		old, err = s.oldFiles(cutoff, now.Add(-leftoverAge))
	} else if s.o.Keep > 0 {
		old, err = s.oldObjects(ctx, cutoff)
	}
	if err != nil {
		return 0, fmt.Errorf("sweep raw answers under %s: %w", s.Location(s.prefix()), err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sweepers)
	for _, key := range old {
		g.Go(func() error {
			if err := s.o.Bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
				return fmt.Errorf("sweep the raw answer %s: %w", s.Location(key), err)
			}
			return nil
		})
	}
	return len(old), g.Wait()
}

// oldObjects lists the answers that came before the cutoff. Names begin with the first day that was
// asked for, and nobody asks for days to come, so the listing can end at the day of the cutoff: it
// doesn't grow with the years that are kept.
func (s *Store) oldObjects(ctx context.Context, cutoff time.Time) (old []string, err error) {
	last := civil.DateOf(cutoff).AddDays(1) // a day is over elsewhere before it is in UTC
	for it := s.o.Bucket.List(&blob.ListOptions{Prefix: s.prefix()}); len(old) < mostSwept; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		from, began, ok := s.parseKey(o.Key)
		if ok && from.After(last) {
			break
		}
		if ok && began.Before(cutoff) {
			old = append(old, o.Key)
		}
	}
	return old, nil
}

// oldFiles lists the files of answers that came before the cutoff, and temporary files from before
// leftovers. It walks the folder itself, because gocloud's listing leaves temporary files out, or
// fails when they vanish.
func (s *Store) oldFiles(cutoff, leftovers time.Time) (old []string, err error) {
	err = filepath.WalkDir(filepath.Join(s.o.Dir, filepath.FromSlash(s.prefix())),
		func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(s.o.Dir, path)
			key := filepath.ToSlash(rel)
			_, began, ok := s.parseKey(key)
			if ok && (began.Before(cutoff) || strings.HasSuffix(key, ".tmp") && began.Before(leftovers)) {
				old = append(old, key)
			}
			if err == nil && len(old) == mostSwept {
				return fs.SkipAll
			}
			return err
		})
	return old, err
}
