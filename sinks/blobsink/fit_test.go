package blobsink

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// Readers make columns of folders such as day=2026-01-31, so that the table can't have one of that
// name. Nor can two of its columns differ in case only.
func TestFits(t *testing.T) {
	for _, c := range []struct{ path, key, columns, refused string }{
		{"", "", "day app installs", ""},
		{"", "", "day Purchase purchase", "columns Purchase and purchase: two columns have that name"},
		{"", "", "day purchase Purchase", "two columns have that name"},
		{"", "", "day DT", "readers make a column DT of the folder dt={date}"},
		{"", "{table}/day={date}/part-0.parquet", "day app",
			"readers make a column day of the folder day={date}, and the table has one of that name already"},
		{"", "{table}/Day={date}/part-0.parquet", "day app", "a column day of the folder Day={date}"},
		{"", "{table}/day={date}.parquet", "day app", ""}, // a file's name
		{"", "app=all/{table}/dt={date}/part-0.parquet", "day app", "a column app of the folder app=all"},
		{"", "table={table}/date={date}/part-0.parquet", "day app", ""},
		{"app=x", "", "day app", "a column app of the folder app=x"},
		{"team=x", "", "day app", ""},
	} {
		rawURL := "file://" + t.TempDir() + "/" + c.path
		if c.key != "" {
			rawURL += "?key=" + c.key
		}
		s := mustOpen(t, rawURL).(*Sink)
		schema := &sinks.Schema{Period: "day", On: "day"}
		for name := range strings.FieldsSeq(c.columns) {
			schema.Columns = append(schema.Columns, sinks.Column{Name: name, Type: sinks.Date})
		}
		err := s.Fits("installs", schema)
		if c.refused == "" && err != nil || c.refused != "" &&
			(err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%v: %v", c, err)
		}
		p := describing("installs", schema, failing(t))
		if _, err := s.Put(t.Context(), p); (err == nil) != (c.refused == "") {
			t.Errorf("%v: put: %v", c, err)
		}
		if err := s.Fits(sinks.Derived("_state", "installs"), schema); err != nil &&
			!strings.Contains(err.Error(), "two columns") {
			t.Errorf("%v: a table that tells of another: %v", c, err)
		}
	}
}

// A listing has all that a reader of the table finds in the table's folder, and of a layout without
// one the parts.
func TestListBesideTheLayout(t *testing.T) {
	for layout, want := range map[string][]string{
		"": {"t/2026-01-31.parquet", "t/day/x.parquet",
			"t/dt=2026-01-31/part-0.parquet 2026-01-31"},
		"?key={table}/{date}.parquet": {"t/2026-01-31.parquet 2026-01-31", "t/day/x.parquet",
			"t/dt=2026-01-31/part-0.parquet"},
		"?key={table}-{date}.parquet": {"t-2026-01-31.parquet 2026-01-31"},
		"?key={date}/{table}.parquet": {"2026-01-31/t.parquet 2026-01-31"},
	} {
		s := mustOpen(t, "file://"+t.TempDir()+layout).(*Sink)
		for _, key := range []string{
			"t/2026-01-31.parquet", "t/day/x.parquet", "t/dt=2026-01-31/part-0.parquet", "t/_old/x.parquet",
			"t/dt=2026-01-31/.x.parquet", "t/_x.parquet",
			"t-2026-01-31.parquet", "t-x.parquet", "2026-01-31/t.parquet", "2026-01-31/u.parquet", "u/x.parquet",
			"x.parquet",
		} {
			if err := s.bucket.Blob().WriteAll(t.Context(), key, []byte("x"), nil); err != nil {
				t.Fatal(err)
			}
		}
		objects, err := s.List(t.Context(), "t")
		var got []string
		for _, o := range objects {
			key := o.Key
			if o.Partition != (civil.Date{}) {
				key += " " + o.Partition.String()
			}
			got = append(got, key)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", layout, got, err, want)
		}
	}
}

// Two sinks share a table's folder when readers of one find the files of the other.
func TestShares(t *testing.T) {
	dir := "file://" + t.TempDir()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "?key={table}/{date}.parquet", true},
		{"", "?key={table}/deep/er/{date}.parquet", true},
		{"", "?key={table}-{date}.parquet", false},
		{"", "?key={table}_flat/{date}.parquet", false},
		{"", "?key={date}/{table}.parquet", false},
		{"?key={date}/{table}.parquet", "?key={date}/{table}/x.parquet", false},
		{"?key=a/{table}/{date}.parquet", "?key=b/{table}/{date}.parquet", false},
		{"", "/sub?key={table}/{date}.parquet", false},
	} {
		a, b := mustOpen(t, dir+c.a).(*Sink), mustOpen(t, dir+c.b).(*Sink)
		if a.Shares(b, "t") != c.want || b.Shares(a, "t") != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
}
