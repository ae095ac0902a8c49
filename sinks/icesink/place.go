package icesink

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/apache/iceberg-go"

	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/sinks"
)

// A place is one partition of a table, or a whole table that has no periods.
type place struct {
	table string
	first civil.Date // the first day, or sinks.Whole
}

// locate returns the place of a part, after it has checked that the part fits a table.
func locate(p sinks.Part) (at place, err error) {
	if p.Schema == nil {
		return at, errors.New("the part has no schema, which a table needs: this kind of job writes to buckets only")
	}
	at = place{table: sinks.Flat(p.Table), first: p.Partition}
	if !at.first.IsValid() || (p.Schema.Period == "whole") != (at.first == sinks.Whole) {
		return at, fmt.Errorf("%s isn't the first day of a partition in a table by %s", at.first, p.Schema.Period)
	}
	return at, (*Sink)(nil).Fits(p.Table, p.Schema)
}

// key returns the name of the partition in receipts.
func (at place) key() string {
	if at.first == sinks.Whole {
		return at.table
	}
	return at.table + "/dt=" + at.first.String()
}

// A stamp is what the name of a part's file says: a token of the put that wrote it, and how many
// bytes the part had, before the field IDs were added.
type stamp struct {
	token string
	size  int64
}

// fileName returns the name of a part's file. It is new with each put, so that no put overwrites a
// file that readers have open.
func (at place) fileName(of stamp) string {
	return fmt.Sprintf("%s-%s-%d.parquet", at.word(), of.token, of.size)
}

// word returns the partition's name in the names of files and the keys of properties.
func (at place) word() string {
	if at.first == sinks.Whole {
		return "all"
	}
	return at.first.String()
}

// fileNames matches the names that fileName makes. Its groups are the word, the token and the size.
var fileNames = lazy.Regexp(`^(all|\d{4}-\d\d-\d\d)-([A-Z2-7]{26})-(\d+)\.parquet$`)

// stampOf reads the stamp in the name of a file of this place. ours is false for a file that this
// program didn't write, because its name has another form.
func (at place) stampOf(location string) (of stamp, ours bool) {
	m := fileNames().FindStringSubmatch(path.Base(location))
	if m == nil || m[1] != at.word() {
		return of, false
	}
	size, err := strconv.ParseInt(m[3], 10, 64)
	return stamp{m[2], size}, err == nil
}

// value returns the value of the snapshot's property about a put.
func (s stamp) value(hash string) string { return fmt.Sprintf("%s %d %s", s.token, s.size, hash) }

// property returns the key of the snapshot's property about a put into this place.
func (at place) property() string { return propertyPut + at.word() }

// snapshotProperties returns the properties of the snapshot that these puts make.
func snapshotProperties(puts []*put) iceberg.Properties {
	all := iceberg.Properties{propertyRun: puts[0].part.Run}
	for _, p := range puts {
		all[p.at.property()] = p.stamp.value(p.part.Hash)
	}
	return all
}

// parseStamp reads the stamp in a value that the method value wrote.
func parseStamp(text string) (s stamp, ok bool) {
	words := strings.Fields(text)
	if len(words) != 3 {
		return s, false
	}
	size, err := strconv.ParseInt(words[1], 10, 64)
	return stamp{words[0], size}, err == nil
}
