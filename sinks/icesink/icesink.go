// Package icesink keeps Apache Iceberg tables and replaces them a partition at a time. Without it,
// Trino, Athena, Spark, Snowflake and DuckDB would read folders of files: tables wouldn't change
// from one state to the next at one moment, and the state before a restatement would be lost.
//
// A part's file becomes a file of the table, with the field IDs of the table in its footer. A
// commit takes the partition's files out of the table and the new one into it, and makes a
// snapshot, which readers see whole or not at all. A put has these steps:
//   - It creates the table or adds missing columns, and stores the part's file.
//   - It loads the table, and checks that the partition holds what the put may replace.
//   - It commits on this snapshot only. If somebody else was faster, it loads and checks again.
//
// The catalog refuses a commit when the table has another snapshot by then, so a late commit
// changes nothing. The file's name has a token that is new with each put. The token is the version
// of the partition, and a put whose answer was lost finds out by it whether it was done. Parts that
// are put at the same time share a commit.
//
// The package uses github.com/apache/iceberg-go for catalogs and files. This links Arrow and adds
// 49 MB, so a program has this package only with the build tag iceberg.
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

	mu        sync.Mutex
	catalog   catalog.Catalog       // nil until it is first needed
	tables    map[string]*committer // by the table's name
	caching   []*committer          // those that keep their tables; the last one has committed last
	manifests manifestCache         // of all tables
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

// committer returns the committer of a table.
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

// Store returns a text that identifies the catalog, its warehouse and the namespace.
func (s *Sink) Store() string { return s.store }

// Catalog returns the name that readers know the catalog by.
func (s *Sink) Catalog() string { return s.name }

// Namespace returns the levels of the namespace that the tables are in.
func (s *Sink) Namespace() []string { return s.namespace }

// Together returns how many parts should be put at the same time, because they share a commit.
func (s *Sink) Together() int { return mostTogether }

// mostTogether is how many puts should share a commit: a few more than the days that a window has
// by default.
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
