package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/lazy"
)

// A Source is the pattern of a job's files, such as gs://bucket/in/{date}/*.csv.
type Source struct {
	Bucket string // URL of the deepest folder above the variable part; its query may hold a secret
	glob   string // the rest of the pattern: {date} is a day such as 2026-01-31, * any characters but a slash
}

// datePlace stands for a day in a pattern.
const datePlace = "{date}"

// variable matches what makes a folder of a pattern vary.
var variable = lazy.Regexp(`\{date\}|\*`)

// ParseSource parses the URL pattern of files. Its errors don't repeat the URL.
func ParseSource(raw string) (Source, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return Source{}, errors.New("want a URL such as gs://bucket/in/{date}/*.csv or file://./in/*.csv")
	}
	rest := strings.ReplaceAll(u.Path, datePlace, "")
	switch {
	case strings.Contains(u.Host, "*"):
		return Source{}, errors.New("the bucket itself can't vary; * belongs behind it")
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		return Source{}, errors.New("this is a folder; name its files, such as .../*.csv")
	case strings.ContainsAny(rest, "{}"):
		return Source{}, errors.New("the only word in braces is {date}, which stands for a day such as 2026-01-31")
	case strings.Contains(rest, "**"):
		return Source{}, errors.New("** isn't known; * stands for any characters but a slash")
	}
	folders := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	fixed := 0
	for fixed < len(folders)-1 && !variable().MatchString(folders[fixed]) {
		fixed++
	}
	bucket := *u
	bucket.Path, bucket.RawPath = "/"+strings.Join(folders[:fixed], "/"), ""
	return Source{bucket.String(), strings.Join(folders[fixed:], "/")}, nil
}

// dated reports whether the files' names contain a day.
func (s Source) dated() bool { return strings.Contains(s.glob, datePlace) }

// keys returns the pattern for the keys of a day's files, and the prefix of those keys.
func (s Source) keys(day string) (pattern *regexp.Regexp, prefix string) {
	glob := strings.ReplaceAll(s.glob, datePlace, day)
	prefix, _, _ = strings.Cut(glob, "*")
	quoted := strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, `[^/]*`)
	return regexp.MustCompile(fmt.Sprintf("^%s$", quoted)), prefix
}

// bucketURL returns the bucket's URL without its query, ending in a slash.
func (s Source) bucketURL() string {
	plain, _, _ := strings.Cut(s.Bucket, "?")
	return strings.TrimSuffix(plain, "/") + "/"
}

// mayOverlap reports whether two sources may find the same file, because the fixed beginning of
// one's names is a prefix of the other's.
func (s Source) mayOverlap(other Source) bool {
	begin := func(s Source) string {
		fixed, _, _ := strings.Cut(s.glob, "*")
		fixed, _, _ = strings.Cut(fixed, datePlace)
		return s.bucketURL() + fixed
	}
	a, b := begin(s), begin(other)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// matches reports whether the source finds the file with this URL, on any day.
func (s Source) matches(file string) bool {
	quoted := regexp.QuoteMeta(s.bucketURL() + s.glob)
	quoted = strings.ReplaceAll(quoted, regexp.QuoteMeta(datePlace), `\d{4}-\d{2}-\d{2}`)
	return regexp.MustCompile("^" + strings.ReplaceAll(quoted, `\*`, `[^/]*`) + "$").MatchString(file)
}

// RejectsSuffix ends the names of rejects files, which hold refused rows. They may lie in the
// source's own folder, and are never read as records.
const RejectsSuffix = ".rejects.csv"

// list returns the keys of a source's files, sorted: those of the days from first to now, or, where
// names have no date, those changed since first.
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
		dayKeys, err := listDay(ctx, bucket, s, day, first)
		if err != nil {
			return nil, fmt.Errorf("list the files: %w", err)
		}
		keys = append(keys, dayKeys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// listDay returns the keys of one day's files that were changed since a time.
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
