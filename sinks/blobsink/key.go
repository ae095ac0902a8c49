package blobsink

import (
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// defaultKey is the Hive layout, in which readers take a column dt from the folder's name.
const defaultKey = "{table}/dt={date}/part-0.parquet"

// wholeDate stands in keys for the date of a table without periods.
const wholeDate = "all"

// A keyTemplate is the key of a part with {table} and {date} in place of the table and the
// partition.
type keyTemplate string

// check returns an error for a layout in which parts would overwrite each other, or whose keys
// aren't plain relative paths.
func (k keyTemplate) check() error {
	s := string(k)
	if !strings.Contains(s, "{table}") || !strings.Contains(s, "{date}") {
		return errors.New("key: want both {table} and {date} in it, or partitions would overwrite each other")
	}
	bare := strings.NewReplacer("{table}", "t", "{date}", "d").Replace(s)
	switch {
	case strings.ContainsAny(bare, "{}"):
		return errors.New("key: want no other braces than {table} and {date}")
	case strings.HasPrefix(bare, "/") || path.Clean(bare) != bare || strings.HasPrefix(bare, ".."):
		return errors.New("key: want a plain relative path, without //, . and .. in it")
	}
	return nil
}

// key returns the key of a part.
func (k keyTemplate) key(p sinks.Part) string {
	return k.at(p.Table, p.Partition)
}

// at returns the key of a table's partition.
func (k keyTemplate) at(table string, partition civil.Date) string {
	date := partition.String()
	if partition == sinks.Whole {
		date = wholeDate
	}
	return strings.NewReplacer("{table}", table, "{date}", date).Replace(string(k))
}

// Pattern returns the address of all parts of a table for readers of Parquet, with * in place of
// the date. The schemes of addresses are those of DuckDB.
func (s *Sink) Pattern(table string) string {
	at := s.bucket.Dir()
	if at == "" {
		at = strings.Replace(strings.TrimSuffix(s.url, "/"), "azblob://", "az://", 1)
	}
	return at + "/" + strings.NewReplacer("{table}", table, "{date}", "*").Replace(string(s.key))
}

// partition returns the partition whose part lies under a key of the table. The bool is false if
// the key is no part's.
func (k keyTemplate) partition(table, key string) (civil.Date, bool) {
	date := strings.TrimPrefix(key, k.prefix(table))
	if len(date) >= len(time.DateOnly) {
		if d, err := civil.ParseDate(date[:len(time.DateOnly)]); err == nil && k.at(table, d) == key {
			return d, true
		}
	}
	return sinks.Whole, k.at(table, sinks.Whole) == key
}

// prefix returns what all keys of a table begin with: what the layout has before the date.
func (k keyTemplate) prefix(table string) string {
	prefix, _, _ := strings.Cut(strings.ReplaceAll(string(k), "{table}", table), "{date}")
	return prefix
}

// folder returns the table's own folder, in which readers take all files for parts, or "" when the
// layout has none, as in {date}/{table}.parquet.
func (k keyTemplate) folder(table string) string {
	before, after, _ := strings.Cut(string(k), "{table}")
	rest, _, has := strings.Cut(after, "/")
	if !has || strings.Contains(before+rest, "{date}") {
		return ""
	}
	return before + table + rest + "/"
}

// temporary returns an expression for the files that a killed writer to one of the table's keys
// leaves in a folder: they are named by the key, a number in letters and digits, and tmp.
func (k keyTemplate) temporary(table string) *regexp.Regexp {
	key := strings.ReplaceAll(string(k), "{table}", table)
	expr := strings.ReplaceAll(regexp.QuoteMeta(key), regexp.QuoteMeta("{date}"),
		`([0-9]{4}-[0-9]{2}-[0-9]{2}|`+wholeDate+`)`)
	return regexp.MustCompile("^" + expr + `\.[0-9a-z]+\.tmp$`)
}
