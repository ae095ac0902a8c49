package pgsink

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// Every mistake in a URL has a message, which has no password in it.
func TestURL(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	var got []string
	for _, u := range []string{
		"postgres://db.example", "postgres:///warehouse", "postgres://db.example/warehouse/adjust/installs",
		"postgres://db.example/warehouse?schema=adjust",
		"postgres://db.example/warehouse?sslmode=require&sslmode=disable", "postgres://db.example/warehouse?sslmode=",
		"postgres://db.example/warehouse#x",
		"postgres://db.example/warehouse?%zz", "postgres://me:se%zzcret@db.example/warehouse",
		"postgres://me:se/cret@db.example/warehouse", "postgres://me:se#cret@db.example/warehouse",
		"postgres://db.example/warehouse?sslmode=disable", "postgres://db.example/warehouse?sslmode=prefer",
		"postgres://db.example/warehouse?sslmode=always",
		"postgres:///warehouse?host=db.example", "postgres://db.example/warehouse?host=/var/run",
		"postgres://me:secret@db.example/warehouse?sslrootcert=/nowhere.pem",
	} {
		_, err := Open(t.Context(), u)
		if err == nil || strings.Contains(err.Error(), "cret") && strings.Contains(u, "me:") {
			t.Errorf("%s: %v", u, err)
		}
		got = append(got, fmt.Sprint(u, "\n\t", err))
	}
	golden(t, "url", strings.Join(got, "\n"))
}

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	sinktest.Golden(t, name, got, *update)
}

// Between machines a connection is encrypted, whatever the environment says; on one it needn't be.
func TestEncrypted(t *testing.T) {
	for u, want := range map[string]string{
		"postgres://db.example/w":                      "encrypted",
		"postgres://db.example/w?sslmode=verify-full":  "encrypted",
		"postgres://localhost/w":                       "either",
		"postgres://127.0.0.1:6000/w?sslmode=disable":  "plain",
		"postgres://[::1]/w?sslmode=require":           "encrypted",
		"postgres:///w?host=/cloudsql/project:eu:main": "plain", // a socket
	} {
		t.Setenv("PGSSLMODE", "")
		_, config, err := parseURL(u)
		if err != nil {
			t.Errorf("%s: %v", u, err)
			continue
		}
		plain, tls := config.ConnConfig.TLSConfig == nil, config.ConnConfig.TLSConfig != nil
		for _, f := range config.ConnConfig.Fallbacks {
			plain, tls = plain || f.TLSConfig == nil, tls || f.TLSConfig != nil
		}
		if got := map[[2]bool]string{{true, false}: "plain", {false, true}: "encrypted",
			{true, true}: "either"}[[2]bool{plain, tls}]; got != want {
			t.Errorf("%s: %s, want %s", u, got, want)
		}
		t.Setenv("PGSSLMODE", "disable")
		if _, config, err := parseURL("postgres://db.example/w"); err != nil || mayBeUnencrypted(config) {
			t.Errorf("the environment took the encryption away: %v", err)
		}
		t.Setenv("PGSSLMODE", "verify-full")
		if _, config, err := parseURL("postgres://db.example/w"); err != nil ||
			config.ConnConfig.TLSConfig.InsecureSkipVerify {
			t.Errorf("the environment asks for a check of the certificate: %v", err)
		}
	}
}

// The identity tells places apart and has neither user nor password; what is printed has none of
// them either.
func TestIdentity(t *testing.T) {
	t.Setenv("PGPASSWORD", "fromenv")
	a, config, err := parseURL("postgres://me:p%40ss%2Fword@DB.example/warehouse?sslmode=verify-full")
	if err != nil || a.store != "postgres://db.example:5432/warehouse/public" ||
		a.url != "postgres://DB.example/warehouse" || a.schema != "public" {
		t.Errorf("%+v, %v", a, err)
	}
	if c := config.ConnConfig; c.User != "me" || c.Password != "p@ss/word" || c.Host != "db.example" ||
		c.Database != "warehouse" {
		t.Errorf("connects as %s to %s/%s", c.User, c.Host, c.Database)
	}
	b, config, err := parseURL("postgres://you@db.example:5432/warehouse/public")
	if err != nil || b.store != a.store || config.ConnConfig.Password != "fromenv" {
		t.Errorf("%+v, %v", b, err)
	}
	if c, _, err := parseURL("postgres://you@db.example:5432/warehouse/adjust"); err != nil || c.store == a.store {
		t.Errorf("%+v, %v", c, err)
	}
}

// The library tries again without TLS, and says what came of both: the same words twice.
func TestUnreachable(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	opened, err := Open(t.Context(), "postgres://me@127.0.0.1:1/warehouse")
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*Sink)
	defer func() { _ = s.Close() }()
	err = s.explain(s.pool.Ping(t.Context()))
	if said := fmt.Sprint(err); strings.Count(said, "connection refused") != 1 || strings.Contains(said, "\n") {
		t.Error(said)
	}
}
