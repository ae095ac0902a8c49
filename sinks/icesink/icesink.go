// Package icesink keeps Apache Iceberg tables and replaces them a partition at a time. Without it,
// Trino, Athena, Spark, Snowflake and DuckDB would read folders of files: without the moment at
// which one state of a table became the next, and without the state before a restatement.
//
// A part's file becomes the table's, with the field IDs of the table in its footer. A commit takes
// the partition's files out and the new one in, and makes a snapshot, which readers see whole or
// not at all:
//
//	table, created or widened ─ file of the part ─┐
//	                                              ├─ load ─ what each partition holds is what may be replaced ─ commit, on this snapshot only
//	            what others have put meanwhile ───┘                 └─ somebody was faster: once more
//
// A commit is refused by the catalog when the table has another snapshot by then, so that a late
// one changes nothing. The file's name has a token that is new with each put: it is the version of
// the partition, and by it a put whose answer was lost finds out what became of it. Parts that are
// put at the same time share a commit.
//
// Catalogs and files go through github.com/apache/iceberg-go. It links Arrow and weighs 49 MB, so
// that a program has this package only with the build tag iceberg.
package icesink

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/glue"     // type=glue
	_ "github.com/apache/iceberg-go/catalog/sql"      // type=sql
	_ "github.com/apache/iceberg-go/io/gocloud/azure" // warehouses at abfss://
	_ "github.com/apache/iceberg-go/io/gocloud/gcs"   // at gs://
	_ "github.com/apache/iceberg-go/io/gocloud/s3"    // at s3://
	_ "github.com/jackc/pgx/v5/stdlib"                // the catalog's database: Postgres
	_ "modernc.org/sqlite"                            // or SQLite

	"github.com/reportferry/reportferry/sinks"
)

// A Sink is one namespace of a catalog. It is safe for concurrent use.
type Sink struct {
	target

	mu      sync.Mutex
	catalog catalog.Catalog // nil: nothing was asked of it yet
	tables  map[string]*committer
	recent  []*committer // those that know what their tables hold, the one that committed last at the end
	kept    manifests
}

// Open opens the namespace that a URL names:
//
//	iceberg://catalog/namespace?type=rest&uri=https://catalog.example.com&warehouse=s3://bucket/path
//
// The catalog's name is the one that readers know it by. The type is rest, glue or sql, and the
// other parameters are the configuration keys of the catalog and of the store with the files. Open
// doesn't connect.
func Open(_ context.Context, rawURL string) (sinks.Sink, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", sinks.Redact(rawURL), err)
	}
	return &Sink{target: t, tables: map[string]*committer{}}, nil
}

// committer gives what commits to a table.
func (s *Sink) committer(name string) *committer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.tables[name]
	if !known {
		c = &committer{sink: s, name: name}
		s.tables[name] = c
	}
	return c
}

// Store names the catalog, its warehouse and the namespace.
func (s *Sink) Store() string { return s.store }

// Catalog is the name that readers know the catalog by.
func (s *Sink) Catalog() string { return s.name }

// Namespace is where the tables are, level by level.
func (s *Sink) Namespace() []string { return s.namespace }

// Together is how many parts it is worth to put at the same time: they share a commit.
func (s *Sink) Together() int { return mostTogether }

// mostTogether is as many days as a window has by default, and a few more.
const mostTogether = 8

// Close ends the connections to the catalog.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.catalog.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
