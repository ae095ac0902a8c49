package icesink

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// Every mistake in a URL has a message, which has no secret in it.
func TestURL(t *testing.T) {
	var got []string
	for _, u := range []string{
		"iceberg://lake", "iceberg:///adjust", "iceberg://lake/adjust",
		"iceberg://lake/adjust/installs?type=rest&uri=https://c.example", "iceberg://lake/a..b?type=glue",
		"iceberg://lake/adjust?type=hive&uri=thrift://c.example", "iceberg://lake/adjust?type=rest",
		"iceberg://lake/adjust?type=rest&uri=c.example",
		"iceberg://lake/adjust?type=rest&uri=http://c.example&token=secret",
		"iceberg://lake/adjust?type=rest&uri=https://c.example&uri=https://d.example",
		"iceberg://lake/adjust?type=rest&uri=https://c.example&warehouse=",
		"iceberg://lake/adjust?type=rest&uri=https://c.example&s3.regoin=x",
		"iceberg://lake/adjust?type=glue", "iceberg://lake/adjust?type=sql&uri=catalog.db",
		"iceberg://lake/adjust?type=sql&uri=sqlite:///&warehouse=file:///w",
		"iceberg://lake/adjust?type=sql&uri=sqlite:///catalog.db", "iceberg://me:secret@lake/adjust?type=glue",
		"iceberg://lake/adjust?type=rest&token=sec#ret",
		"iceberg://lake/adjust?token=%zzsecret", "iceberg://lake /adjust?token=secret",
	} {
		_, err := Open(t.Context(), u)
		if err == nil || strings.Contains(err.Error(), "secret") {
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

// A store is the same one however its secrets change, and another one when its place does.
func TestStore(t *testing.T) {
	const rest = "iceberg://lake/adjust?type=rest&uri=https://c.example/api&warehouse=w"
	store := func(u string) string {
		t.Helper()
		s, err := Open(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		return s.Store()
	}
	for _, u := range []string{rest + "&token=a", rest + "&credential=a:b&scope=PRINCIPAL_ROLE:ALL",
		strings.Replace(rest, "lake", "other_name", 1), strings.Replace(rest, "/api", "/api/", 1)} {
		if got := store(u); got != store(rest) {
			t.Errorf("%s is %s, want %s", u, got, store(rest))
		}
	}
	seen := map[string]string{}
	for _, u := range []string{
		rest, strings.Replace(rest, "adjust", "spend", 1), strings.Replace(rest, "warehouse=w", "warehouse=v", 1),
		rest + "&prefix=p", strings.Replace(rest, "c.example", "d.example", 1),
		"iceberg://lake/adjust?type=glue&warehouse=s3://b/w",
		"iceberg://lake/adjust?type=glue&warehouse=s3://b/w&glue.region=eu-central-1",
		"iceberg://lake/adjust?type=glue&warehouse=s3://b/w&glue.id=1",
		"iceberg://lake/adjust?type=sql&uri=sqlite:////f.db&warehouse=file:///w",
		"iceberg://pond/adjust?type=sql&uri=sqlite:////f.db&warehouse=file:///w",
		"iceberg://lake/adjust?type=sql&uri=postgresql://me@db.example/c&warehouse=file:///w",
	} {
		if other := seen[store(u)]; other != "" {
			t.Errorf("%s and %s are one store", u, other)
		}
		seen[store(u)] = u
	}
	if got := store(
		"iceberg://lake/adjust?type=sql&uri=postgresql://me:secret@db.example/c&warehouse=file:///w"); strings.Contains(
		got, "secret") {
		t.Errorf("the store is %s", got)
	}
}

// The addresses of databases are those that PyIceberg takes.
func TestDatabase(t *testing.T) {
	for uri, want := range map[string]string{
		"sqlite:///catalog.db":                      "sqlite file:catalog.db",
		"sqlite:////var/lib/my catalog.db":          "sqlite file:/var/lib/my%20catalog.db",
		"postgresql+psycopg2://me@db.example/c":     "pgx postgres://me@db.example/c",
		"postgresql://db.example/c?sslmode=require": "pgx postgres://db.example/c?sslmode=require",
	} {
		of := target{properties: map[string]string{"type": "sql", "uri": uri, "warehouse": "file:///w"}}
		if err := of.complete(); err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		got := of.properties["sql.driver"] + " " + of.properties["uri"]
		if of.properties["sql.driver"] == "sqlite" {
			got, _, _ = strings.Cut(got, "?")
		}
		if got != want {
			t.Errorf("%s is %s, want %s", uri, got, want)
		}
	}
}

// A file's name says which put it is of; one of another partition, or of somebody else, says
// nothing.
func TestFileNames(t *testing.T) {
	token := strings.Repeat("A", 26)
	at := place{"installs", date("2026-01-31")}
	for name, want := range map[string]bool{
		at.fileName(stamp{token, 17}): true, "2026-01-30-" + token + "-17.parquet": false,
		"all-" + token + "-17.parquet":            false,
		"2026-01-31-" + token[1:] + "-17.parquet": false, "00000-0-" + token + "-00001.parquet": false,
		"2026-01-31-" + token + "-17.orc": false,
	} {
		of, ours := at.stampOf("s3://bucket/installs/data/" + name)
		if ours != want || ours && of != (stamp{token, 17}) {
			t.Errorf("%s is %+v, ours: %v", name, of, ours)
		}
	}
}
