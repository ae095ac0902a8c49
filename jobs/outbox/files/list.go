package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// RejectsSuffix ends the names of files with refused rows. They may lie in the source's own folder, and are never read
// as records.
const RejectsSuffix = ".rejects.csv"

// list gives the keys of a source's files: those of the days from first to now, and where names have no date, those that
// were changed since first. In the order of their names.
func list(ctx context.Context, bucket *blob.Bucket, s Source, first, now time.Time) ([]string, error) {
	var days []string
	if s.dated() {
		for day := first; !day.After(now); day = day.AddDate(0, 0, 1) {
			days = append(days, day.Format(time.DateOnly))
		}
		first = time.Time{}
	} else {
		days = []string{""}
	}
	var keys []string
	for _, day := range days {
		found, err := listDay(ctx, bucket, s, day, first)
		if err != nil {
			return nil, fmt.Errorf("list the files: %w", err)
		}
		keys = append(keys, found...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

func listDay(ctx context.Context, bucket *blob.Bucket, s Source, day string, since time.Time) ([]string, error) {
	pattern, prefix := s.keys(day)
	var keys []string
	for it := bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil {
			return nil, err
		}
		if pattern.MatchString(o.Key) && !strings.HasSuffix(o.Key, RejectsSuffix) && !o.ModTime.Before(since) {
			keys = append(keys, o.Key)
		}
	}
}
