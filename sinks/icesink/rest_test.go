//go:build servers

package icesink

import (
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

var catalogs struct {
	sync.Mutex
	shared   *sinktest.Catalog
	postgres *sinktest.Postgres
}

// theCatalog is one server for all tests of the package that don't crash it.
func theCatalog(t testing.TB) *sinktest.Catalog {
	t.Helper()
	catalogs.Lock()
	defer catalogs.Unlock()
	if catalogs.shared == nil {
		catalogs.shared = sinktest.StartCatalog(outlasting{t})
	}
	return catalogs.shared
}

// outlasting has what is cleaned up after a test be cleaned up after all.
type outlasting struct{ testing.TB }

var atEnd []func()

func (outlasting) Cleanup(f func()) { atEnd = append(atEnd, f) }

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(atEnd) - 1; i >= 0; i-- {
		atEnd[i]()
	}
	os.Exit(code)
}

func restURL(uri, namespace string) string {
	return "iceberg://rest/" + namespace + "?" + url.Values{"type": {"rest"}, "uri": {uri}}.Encode()
}

// thePostgres keeps catalogs for all tests of the package.
func thePostgres(t testing.TB) *sinktest.Postgres {
	t.Helper()
	catalogs.Lock()
	defer catalogs.Unlock()
	if catalogs.postgres == nil {
		catalogs.postgres = sinktest.StartPostgres(outlasting{t})
	}
	return catalogs.postgres
}

// postgresURL is a namespace of a catalog of its own in a Postgres.
func postgresURL(t testing.TB) string {
	t.Helper()
	p := thePostgres(t)
	name := sinktest.NewNamespace()
	at := url.URL{Scheme: "postgresql", User: url.UserPassword(p.User, p.Password), Host: p.Addr, Path: "/postgres",
		RawQuery: "sslmode=disable"}
	return "iceberg://" + name + "/adjust?" + url.Values{"type": {"sql"}, "uri": {at.String()},
		"warehouse": {"file://" + t.TempDir()}}.Encode()
}

// The suite on a catalog in a Postgres.
func TestSuitePostgres(t *testing.T) {
	open := func(t *testing.T) sinktest.RowFixture {
		t.Parallel()
		s := openURL(t, postgresURL(t))
		return sinktest.RowFixture{Sink: s, Visible: func(t *testing.T) []sinktest.Row { return visible(t, s) }}
	}
	sinktest.RunRows(t, open)
	sinktest.RunRowConditions(t, open)
}

// The suite on the reference REST catalog.
func TestSuiteREST(t *testing.T) {
	open := func(t *testing.T) sinktest.RowFixture {
		t.Parallel()
		s := openURL(t, restURL(theCatalog(t).URI, sinktest.NewNamespace()))
		return sinktest.RowFixture{Sink: s, Visible: func(t *testing.T) []sinktest.Row { return visible(t, s) }}
	}
	sinktest.RunRows(t, open)
	sinktest.RunRowConditions(t, open)
}
