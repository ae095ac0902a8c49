package icesink

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// A new table says what it is: columns with their texts, partitions, order and comment.
func TestCreation(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *sinks.Schema)
		want   string
	}{
		"by day": {func(*sinks.Schema) {}, "partitioned by day, sorted by day, campaign"},
		"by hour": {func(s *sinks.Schema) { s.Columns[0].Type = sinks.DateTime },
			"partitioned by day(day), sorted by day, campaign"},
		"clustered": {func(s *sinks.Schema) { s.ClusterBy = []string{"installs", "campaign"} },
			"partitioned by day, sorted by day, installs, campaign"},
		"whole": {func(s *sinks.Schema) { s.Period, s.On = "whole", "" },
			"not partitioned, sorted by day, campaign"},
		"weeks": {func(s *sinks.Schema) { s.Period = "week" }, "partitioned by day, sorted by day, campaign"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openURL(t, newURL(t))
			schema := testSchema()
			c.change(schema)
			if _, err := s.ensure(t.Context(), "installs", schema, "f1"); err != nil {
				t.Fatal(err)
			}
			of := load(t, s)
			var by []string
			for _, f := range of.SortOrder().Fields() {
				column, _ := of.Schema().FindColumnName(f.SourceID())
				by = append(by, column)
			}
			if got := partitioningOf(of) + ", sorted by " + strings.Join(by, ", "); got != c.want {
				t.Errorf("the table is %s, want %s", got, c.want)
			}
			if p := of.Properties(); p["comment"] != "Installs by campaign" || p[propertyTable] != "installs" ||
				p[propertyFingerprint] != "f1" || of.Metadata().Version() != 2 {
				t.Errorf("version %d, properties %v", of.Metadata().Version(), p)
			}
			f, _ := of.Schema().FindFieldByName("installs")
			if f.Doc != "Installs (count)" || f.Required {
				t.Errorf("a column is %+v", f)
			}
		})
	}
}

// Whether a part fits is seen without changing anything.
func TestTakes(t *testing.T) {
	at := newURL(t)
	s, schema := openURL(t, at), testSchema()
	if err := s.Takes(t.Context(), "installs", schema); err != nil {
		t.Errorf("a table that isn't there: %v", err)
	}
	if _, err := s.load(t.Context(), "installs"); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("the table was made: %v", err)
	}
	if _, err := s.ensure(t.Context(), "installs", schema, "f1"); err != nil {
		t.Fatal(err)
	}
	made := load(t, s).MetadataLocation()
	wide, other := testSchema(), testSchema()
	wide.Columns = append(wide.Columns, sinks.Column{Name: "more", Type: sinks.Int64})
	other.Columns[2].Type = sinks.String
	for _, fresh := range []*Sink{s, openURL(t, at)} {
		if err := errors.Join(fresh.Takes(t.Context(), "installs", schema),
			fresh.Takes(t.Context(), "installs", wide)); err != nil {
			t.Error(err)
		}
		if err := fresh.Takes(t.Context(), "installs", other); err == nil ||
			!strings.Contains(err.Error(), "column installs is long, and the job writes string") {
			t.Errorf("another type: %v", err)
		}
	}
	if now := load(t, s).MetadataLocation(); now != made {
		t.Errorf("the table was changed: %s", now)
	}
}

// New columns are added, and older rows read NULL; columns that are no longer written stay.
func TestColumnsComeAndGo(t *testing.T) {
	s := openURL(t, newURL(t))
	type wider struct {
		Day      int32  `parquet:"day,date"`
		Clicks   *int64 `parquet:"clicks,optional"`
		Campaign string `parquet:"campaign"`
		Installs *int64 `parquet:"installs,optional"`
	}
	wide := testSchema()
	wide.Columns = []sinks.Column{wide.Columns[0], {Name: "clicks", Type: sinks.Int64, Description: "Clicks"},
		wide.Columns[1], wide.Columns[2]}
	n := int64(7)
	mustPut(t, s, testPart("2026-01-30", "old"), sinktest.FilePart(day, wide,
		[]wider{{int32(date(day).DaysSince(epoch)), &n, "new", &n}}), testPart("2026-02-01", "old again"))
	of := load(t, s)
	f, _ := of.Schema().FindFieldByName("clicks")
	if f.Doc != "Clicks" || f.Required || f.ID != 6 {
		t.Errorf("the new column is %+v", f)
	}
	_, batches, err := of.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			var row []string
			for _, column := range batch.Columns() {
				row = append(row, column.ValueStr(i))
			}
			rows = append(rows, strings.Join(row, " "))
		}
		batch.Release()
	}
	slices.Sort(rows)
	want := "[2026-01-30 old 1 0.000000 0.25 (null) 2026-01-31 new 7 (null) (null) 7 2026-02-01 old again 1 " +
		"0.000000 0.25 (null)]"
	if got := fmt.Sprint(rows); got != want && strings.ReplaceAll(got, " 0 0.25", " 0.000000 0.25") != want {
		t.Errorf("rows are %s, want %s", got, want)
	}
}

// What a table can't be brought to is refused in one message, and nothing changes.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, s *Sink)
		change func(p *sinks.Part)
	}{
		"foreign": {before: func(t *testing.T, s *Sink) {
			c, err := s.connect(t.Context())
			if err == nil {
				err = c.CreateNamespace(t.Context(), s.namespace, nil)
			}
			if err == nil {
				_, err = c.CreateTable(t.Context(), s.identifier("installs"), fields(testSchema()),
					catalog.WithPartitionSpec(iceberg.UnpartitionedSpec))
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		"type": {change: func(p *sinks.Part) { p.Schema.Columns[2].Type = sinks.Decimal }},
		"several": {change: func(p *sinks.Part) {
			p.Schema.Columns[2].Type = sinks.Double
			p.Schema.Columns[1].Required = false
			p.Schema.Period, p.Schema.On, p.Partition = "whole", "", sinks.Whole
		}},
		"dimension": {change: func(p *sinks.Part) {
			p.Schema.Columns = append(p.Schema.Columns[:1],
				p.Schema.Columns[2:]...)
		}},
		"another_day": {change: func(p *sinks.Part) { p.Partition = date("2026-02-01") }},
		"row_count":   {change: func(p *sinks.Part) { p.Rows++ }},
		"no_file":     {change: func(p *sinks.Part) { p.Size -= 8 }},
		"no_schema":   {change: func(p *sinks.Part) { p.Schema = nil }},
		"period":      {change: func(p *sinks.Part) { p.Partition = sinks.Whole }},
		"on":          {change: func(p *sinks.Part) { p.Schema.On = "campaign" }},
		"no_column":   {change: func(p *sinks.Part) { p.Schema.Columns = p.Schema.Columns[:4] }},
	} {
		t.Run(name, func(t *testing.T) {
			s := openURL(t, newURL(t))
			if c.before != nil {
				c.before(t, s)
			} else {
				mustPut(t, s, testPart(day, "there"))
			}
			p := testPart(day, "new")
			if name == "no_column" { // the file has one that the table lacks
				s = openURL(t, newURL(t))
			}
			if c.change != nil {
				c.change(&p)
			}
			var before string
			if name != "no_column" {
				before = load(t, s).MetadataLocation()
			}
			_, err := s.Put(t.Context(), p)
			if err == nil {
				t.Fatal("no error")
			}
			golden(t, name, regexp.MustCompile(`file://\S*/warehouse`).ReplaceAllString(err.Error(), "WAREHOUSE"))
			if before != "" && load(t, s).MetadataLocation() != before {
				t.Error("the table was changed")
			}
			if _, err := s.ConditionOf(t.Context(), "installs", date(day), true); name == "foreign" &&
				!errors.Is(err, sinks.ErrForeign) {
				t.Errorf("a look at a table of somebody else's: %v", err)
			}
		})
	}
}

// Snapshots that are older than the config has them go, with their files, and no others.
func TestExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openURL(t, newURL(t))
		put := func(campaign string) {
			t.Helper()
			p := testPart(day, campaign)
			p.Schema.History = 48 * time.Hour
			mustPut(t, s, p)
		}
		kept := func(snapshots, files int, campaign string) {
			t.Helper()
			if n := len(load(t, s).Metadata().Snapshots()); n != snapshots || dataFiles(t, s) != files {
				t.Errorf("%d snapshots and %d data files, want %d and %d", n, dataFiles(t, s), snapshots, files)
			}
			if got := held(t, s); got != campaign {
				t.Errorf("a reader finds %s, want %s", got, campaign)
			}
		}
		put("first")
		time.Sleep(40 * time.Hour)
		put("second")
		kept(2, 2, "second")
		time.Sleep(30 * time.Hour) // the first is too old, but by less than a day
		put("third")
		kept(3, 3, "third")
		time.Sleep(3 * time.Hour)
		put("fourth")
		kept(3, 3, "fourth")
		time.Sleep(1000 * time.Hour)
		put("fifth")
		kept(1, 1, "fifth")
		setProperty(t, s, "gc.enabled", "false") // its owner keeps all of it
		time.Sleep(1000 * time.Hour)
		put("sixth")
		kept(2, 2, "sixth")
	})
}

func dataFiles(t *testing.T, s *Sink) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(strings.TrimPrefix(load(t, s).Location(), "file://"), "data",
		"*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// A load of many days leaves few manifests, which is what readers open first.
func TestManifestsAreMerged(t *testing.T) {
	s := openURL(t, newURL(t))
	const days = 2 * mostManifests
	for i := range days {
		mustPut(t, s, testPart(date(day).AddDays(i).String(), "a"))
		if i%5 == 0 {
			mustPut(t, s, testPart(date(day).AddDays(i/2).String(), "b"))
		}
	}
	of, err := s.load(t.Context(), "installs")
	if err != nil {
		t.Fatal(err)
	}
	lists, err := of.CurrentSnapshot().Manifests(of.files)
	if err != nil || len(lists) > mostManifests {
		t.Errorf("the table has %d manifests: %v", len(lists), err)
	}
	if list, err := s.List(t.Context(), "installs"); err != nil || len(list) != days {
		t.Errorf("%d partitions are listed: %v", len(list), err)
	}
	if got := strings.Count(held(t, s), "b"); got == 0 || len(strings.Fields(held(t, s))) != days {
		t.Errorf("a reader finds %s", held(t, s))
	}
}

// The file of a put that came to nothing goes.
func TestAFileInVain(t *testing.T) {
	s := openURL(t, newURL(t))
	mustPut(t, s, testPart(day, "first"))
	late := testPart(day, "late")
	late.Over.Absent = true
	if _, err := s.Put(t.Context(), late); !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("a late put: %v", err)
	}
	if n := dataFiles(t, s); n != 1 {
		t.Errorf("%d data files are left", n)
	}
}
