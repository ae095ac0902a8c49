package files

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"
)

func TestParseSource(t *testing.T) {
	for _, test := range []struct{ raw, bucket, glob, wrong string }{
		{"gs://bucket/spend/{date}/*.csv", "gs://bucket/spend", "{date}/*.csv", ""},
		{"gs://bucket/*.csv?x=y", "gs://bucket/?x=y", "*.csv", ""},
		{"s3://bucket/a/b/spend-{date}.csv.gz?region=eu", "s3://bucket/a/b?region=eu", "spend-{date}.csv.gz", ""},
		{"file://./in/a/today.csv", "file://./in/a", "today.csv", ""},
		{"file:///data/a*/{date}/x.csv", "file:///data", "a*/{date}/x.csv", ""},
		{"in/*.csv", "", "", "want a URL"},
		{"gs://bucket", "", "", "this is a folder"},
		{"gs://bucket/spend/", "", "", "this is a folder"},
		{"gs://b*/x.csv", "", "", "the bucket itself"},
		{"gs://bucket/{day}/x.csv", "", "", "the only word in braces"},
		{"gs://bucket/**/x.csv", "", "", "** isn't known"},
	} {
		s, err := ParseSource(test.raw)
		if test.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.wrong) {
				t.Errorf("%s: %v", test.raw, err)
			}
			continue
		}
		if err != nil || s.Bucket != test.bucket || s.glob != test.glob {
			t.Errorf("%s: %+v, %v", test.raw, s, err)
		}
	}
}

// The files of the window's days, today's and the first day's among them; without a date in the
// name, those that were changed since then. Never a rejects file, and never one of a deeper folder.
func TestList(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close() //nolint:errcheck // in memory
	for _, key := range []string{
		"2026-01-31/a.csv", "2026-01-31/b.csv", "2026-01-31/a.csv.rejects.csv", "2026-01-31/deep/a.csv",
		"2026-01-31/a.csv.gz", "2026-01-31/axcsv",
		"2026-01-24/old.csv", "2026-01-23/older.csv", "2026-02-01/tomorrow.csv", "other/a.csv", "a.csv",
		"x-2026-01-30-2026-01-30.csv",
	} {
		if err := bucket.WriteAll(context.Background(), key, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 1, 31, 3, 0, 0, 0, time.UTC)
	for glob, want := range map[string][]string{
		"{date}/*.csv":          {"2026-01-24/old.csv", "2026-01-31/a.csv", "2026-01-31/b.csv"},
		"{date}/a*":             {"2026-01-31/a.csv", "2026-01-31/a.csv.gz", "2026-01-31/axcsv"},
		"x-{date}-{date}.csv":   {"x-2026-01-30-2026-01-30.csv"},
		"{date}/*/a.csv":        {"2026-01-31/deep/a.csv"},
		"a.csv":                 {"a.csv"},
		"*.csv":                 {"a.csv", "x-2026-01-30-2026-01-30.csv"},
		"2026-01-23/*.csv":      {"2026-01-23/older.csv"},
		"nothing/{date}/[a].cs": nil,
	} {
		s := Source{glob: glob}
		got, err := list(context.Background(), bucket, s, now.AddDate(0, 0, -7), now)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v", glob, got, err)
		}
	}
	got, err := list(context.Background(), bucket, Source{glob: "*.csv"}, time.Now().Add(time.Hour), time.Now())
	if err != nil || got != nil {
		t.Errorf("files that were changed before the window: %q, %v", got, err)
	}
}

// The day of a file's name is the first that is one.
func TestDays(t *testing.T) {
	for key, want := range map[string]string{"2026-01-31/a.csv": "2026-01-31",
		"a/9999-99-99-2026-02-28.csv": "2026-02-28", "a.csv": "", "20260131.csv": ""} {
		if got := DayOf(key); got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
}

func TestInt96(t *testing.T) {
	if got := int96Text(30600*1e9, 2461072); got != "2026-01-31T08:30:00Z" {
		t.Errorf("an INT96 is %s", got)
	}
}
