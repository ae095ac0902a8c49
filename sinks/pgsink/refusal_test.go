//go:build servers

package pgsink

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// Each refusal has its message in testdata; -update writes them. What is there stays.
func TestRefusals(t *testing.T) {
	for name, change := range map[string]func(s *sinks.Schema){
		"type":        func(s *sinks.Schema) { s.Columns[3].Type = sinks.Double },
		"partitioned": func(s *sinks.Schema) { s.Partitioned = true },
		"required":    func(s *sinks.Schema) { s.Columns[1].Name, s.Indexes = "network", nil },
		"several": func(s *sinks.Schema) {
			s.Partitioned, s.Columns[2].Type, s.Columns[1].Required = true, sinks.String, false
		},
		"index":  func(s *sinks.Schema) { s.Indexes = [][]string{{"day", "network"}} },
		"column": func(s *sinks.Schema) { s.Columns[4].Name = strings.Repeat("roas", 16) },
		"whole":  func(s *sinks.Schema) { s.Period = "whole" },
		"date":   func(s *sinks.Schema) { s.On = "campaign" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBase(t, theServer(t))
			s := b.open(t)
			mustPut(t, s, testPart("2026-01-01", "old"))
			fresh := testPart("2026-01-01", "new")
			change(fresh.Schema)
			_, err := s.Put(t.Context(), fresh)
			b.golden(t, name, fmt.Sprint(err))
			b.mustHold(t, "old")
		})
	}
}

// A table that somebody else made is left alone, and so is a view.
func TestForeignTable(t *testing.T) {
	b := newBase(t, theServer(t))
	s := b.open(t)
	b.exec(t, "CREATE TABLE "+b.schema+".installs (day date NOT NULL, campaign text NOT NULL, installs bigint, cost "+
		"numeric(18,6), ratio double precision)")
	b.exec(t, "INSERT INTO "+b.schema+".installs VALUES ('2026-01-31', 'theirs', 1, 1, 1)")
	_, err := s.Put(t.Context(), testPart("2026-01-31", "new"))
	b.golden(t, "foreign", fmt.Sprint(err))
	_, err = s.ConditionOf(t.Context(), "installs", date("2026-01-31"), true)
	b.golden(t, "foreign_look", fmt.Sprint(err))
	if !errors.Is(err, sinks.ErrForeign) {
		t.Error(err)
	}
	b.mustHold(t, "theirs")
	b.exec(t, "ALTER TABLE "+b.schema+".installs RENAME TO theirs")
	b.exec(t, "CREATE VIEW "+b.schema+".installs AS SELECT * FROM "+b.schema+".theirs")
	_, err = s.Put(t.Context(), testPart("2026-01-31", "new"))
	b.golden(t, "view", fmt.Sprint(err))
	b.mustHold(t, "theirs")
}

// A role of the server, which the test made, with a password.
func (b *base) role(t *testing.T, rights ...string) (name, rawURL string) {
	t.Helper()
	made, _ := sinktest.NewSchema()
	name = strings.Replace(made, "place", "role", 1)
	b.exec(t, "CREATE ROLE "+name+" LOGIN PASSWORD 'right'")
	for _, right := range rights {
		b.exec(t, "GRANT "+right+" TO "+name)
	}
	return name, strings.Replace(b.URL(b.Addr, b.schema), url.UserPassword(b.User, b.Password).String(), name+":right",
		1)
}

// Whatever permission is missing, the message says which, and errors.Is calls it one.
func TestPermissions(t *testing.T) {
	b := newBase(t, theServer(t))
	refused := func(golden, rawURL string) {
		t.Helper()
		s := openURL(t, rawURL)
		_, err := s.Put(t.Context(), testPart("2026-01-31", "new"))
		b.golden(t, golden, fmt.Sprint(err))
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: not a matter of permission: %v", golden, err)
		}
		if probed := s.Probe(t.Context()); !errors.Is(probed, fs.ErrPermission) {
			t.Errorf("%s: the probe says %v", golden, probed)
		}
	}
	_, nothing := b.role(t)
	refused("no_schema_rights", nothing)
	refused("wrong_password", strings.Replace(nothing, ":right@", ":wrong@", 1))
	mustPut(t, b.open(t), testPart("2026-01-31", "old"))
	_, other := b.role(t, "USAGE, CREATE ON SCHEMA "+b.schema)
	refused("other_owner", other)
	b.mustHold(t, "old")

	nowhere := strings.Replace(nothing, "/"+b.schema, "/nowhere", 1)
	refused("no_schema", nowhere)
	if _, err := openURL(t, nowhere).List(t.Context(), "installs"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a run that can't make its table fetches first: %v", err)
	}
	s := openURL(t, strings.Replace(b.URL(b.Addr, b.schema), "/postgres/", "/nowhere/", 1))
	_, err := s.Put(t.Context(), testPart("2026-01-31", "new"))
	b.golden(t, "no_database", fmt.Sprint(err))
	if s.Probe(t.Context()) == nil {
		t.Error("no database: the probe finds nothing")
	}
}

// A schema that isn't there is made by the first put, by one of several that come at the same time.
// A probe leaves none behind.
func TestSchemaIsMade(t *testing.T) {
	b := newBase(t, theServer(t))
	fresh := b.schema + "_fresh"
	count := func() string {
		return b.value(t, "SELECT count(*)::text FROM information_schema.schemata WHERE schema_name = '"+fresh+"'")
	}
	s := openURL(t, b.URL(b.Addr, fresh))
	if err := s.Probe(t.Context()); err != nil || count() != "0" {
		t.Errorf("the probe: %v; %s schemas", err, count())
	}
	if list, err := s.List(t.Context(), "installs"); err != nil || len(list) > 0 {
		t.Errorf("listed %v, %v", list, err)
	}
	errs := make(chan error)
	for _, day := range []string{"2026-01-29", "2026-01-30", "2026-01-31"} {
		go func() {
			_, err := openURL(t, b.URL(b.Addr, fresh)).Put(t.Context(), testPart(day, "new"))
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if list, err := s.List(t.Context(), "installs"); err != nil || len(list) != 3 || count() != "1" {
		t.Errorf("listed %v, %v; %s schemas", list, err, count())
	}
}

// A probe of what works leaves nothing behind, before the first put and after it.
func TestProbe(t *testing.T) {
	b := newBase(t, theServer(t))
	s := b.open(t)
	for _, want := range []string{"0", "2"} {
		if err := s.Probe(t.Context()); err != nil {
			t.Error(err)
		}
		if got := b.value(t,
			"SELECT count(*)::text FROM information_schema.tables WHERE table_schema = '"+b.schema+"'"); got != want {
			t.Errorf("%s tables, want %s", got, want)
		}
		mustPut(t, s, testPart("2026-01-31", "new"))
	}
}

// Rows that can't go in are refused with their place.
func TestRefusedRows(t *testing.T) {
	b := newBase(t, theServer(t))
	s := b.open(t)
	mustPut(t, s, testPart("2026-01-31", "old"))
	another := testPart("2026-02-01", "new")
	another.Partition = date("2026-01-31")
	counted := testPart("2026-01-31", "new")
	counted.Rows = 2
	columns := testPart("2026-01-31", "new")
	columns.Schema.Columns = columns.Schema.Columns[:4]
	double := testPart("2026-01-31", "new")
	double.Schema.Columns[4].Type = sinks.Decimal
	for name, p := range map[string]sinks.Part{
		"row_of_another_day": another, "row_count": counted, "row_nul": testPart("2026-01-31", "a\x00b"),
		"row_columns": columns, "row_double": double,
	} {
		if name == "row_double" {
			p.Table = "fresh"
		}
		_, err := s.Put(t.Context(), p)
		b.golden(t, name, fmt.Sprint(err))
		b.mustHold(t, "old")
	}
}

// Encryption is asked for and checked.
func TestTLS(t *testing.T) {
	b := newBase(t, theServer(t))
	ca := filepath.Join(t.TempDir(), "ca.pem")
	pem, err := os.ReadFile(filepath.Join(b.Dir, "ca.pem"))
	if err == nil {
		err = os.WriteFile(ca, pem, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ mode, encrypted string }{
		{"", "true"}, {"sslmode=require", "true"}, {"sslmode=verify-full&sslrootcert=" + ca, "true"},
		{"sslmode=disable", "false"},
	} {
		s := b.open(t, c.mode)
		var is string
		err := s.pool.QueryRow(t.Context(), "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&is)
		if err != nil || is != c.encrypted {
			t.Errorf("%q: encrypted is %s, want %s: %v", c.mode, is, c.encrypted, err)
		}
	}
	_, err = b.open(t, "sslmode=verify-full").Put(t.Context(), testPart("2026-01-31", "new"))
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
}
