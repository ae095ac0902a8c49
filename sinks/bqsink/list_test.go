package bqsink

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

var (
	_ sinks.Counter    = (*Sink)(nil)
	_ sinks.Configurer = (*Sink)(nil)
)

const theTable = "/bigquery/v2/projects/proj/datasets/ds/tables/installs"

// tables.get answers with creationTime in milliseconds and with numRows, and with nothing of
// partitions (https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#Table). A receipt has
// the creation time of its table.
func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, bqtest.Options{})
		s := openOn(t, server, testURL)
		list := func() []sinks.Object {
			t.Helper()
			list, err := s.List(t.Context(), "installs")
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		if got := list(); len(got) != 0 {
			t.Errorf("no table: %+v", got)
		}
		made := fmt.Sprint(time.Now().UnixMilli())
		first, err := s.Put(t.Context(), testPart("2026-01-30", "run", "a"))
		if err != nil || first.Version != made {
			t.Errorf("%+v, %v; want version %s", first, err, made)
		}
		time.Sleep(time.Hour)
		mustPut(t, s, testPart("2026-01-31", "run", "a", "b"))
		want := sinks.Object{Key: "installs", Version: made, Table: true, Counted: true, Rows: 3}
		if got := list(); len(got) != 1 || got[0] != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if code := handledDelete(t, server, theTable); code != http.StatusNoContent {
			t.Fatal(code)
		}
		if got := list(); len(got) != 0 {
			t.Errorf("it is gone: %+v", got)
		}
		// The same process goes on with a table that is made anew, by itself or by others.
		again, err := s.Put(t.Context(), testPart("2026-01-31", "run2", "a"))
		if err != nil || again.Version == made || again.Version != list()[0].Version {
			t.Errorf("%+v, %v", again, err)
		}
		time.Sleep(time.Hour)
		handledDelete(t, server, theTable)
		mustPut(t, openOn(t, server, testURL), testPart("2026-01-30", "others", "a"))
		now := list()[0].Version
		if r, err := s.Put(t.Context(), testPart("2026-01-31", "run3", "a")); err != nil || r.Version != now ||
			now == again.Version {
			t.Errorf("%+v, %v; want version %s", r, err, now)
		}
	})
}

// A table without partitions is one part, and has no version: whether it is made anew when it is
// replaced isn't said.
func TestListOfAWholeTable(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	schema := &sinks.Schema{Period: "whole", Columns: []sinks.Column{{Name: "country", Type: sinks.String},
		{Name: "campaign", Type: sinks.String}}}
	r, err := s.Put(t.Context(), filePart(sinks.Whole.String(), "run", schema, []bareRow{{"DE", "a"}, {"FR", "a"}}))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), "installs")
	if want := (sinks.Object{Key: r.Key, Partition: sinks.Whole, Counted: true, Rows: 2}); err != nil ||
		len(list) != 1 || list[0] != want || r.Version != "" {
		t.Errorf("%+v, %v, receipt %+v; want %+v", list, err, r, want)
	}
}

// A listing takes one call, and saves the put that comes after it the same one.
func TestCallsOfAList(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	mustPut(t, openOn(t, server, testURL), testPart("2026-01-31", "run", "a"))
	calls := func(do func(s *Sink)) string {
		s, before := openOn(t, server, testURL), len(server.Requests())
		do(s)
		var names []string
		for _, r := range server.Requests()[before:] {
			if r.Call != "jobs.get" {
				names = append(names, r.Call)
			}
		}
		return strings.Join(names, " ")
	}
	list := func(s *Sink) {
		if _, err := s.List(t.Context(), "installs"); err != nil {
			t.Error(err)
		}
	}
	put := func(run string) func(s *Sink) {
		return func(s *Sink) { mustPut(t, s, testPart("2026-01-31", run, "a")) }
	}
	const puts = "datasets.get tables.get jobs.insert"
	for name, c := range map[string]struct {
		do   func(s *Sink)
		want string
	}{
		"a list": {list, "tables.get"},
		"a put":  {put("run2"), puts},
		"a list, a put": {func(s *Sink) { list(s); put("run3")(s) },
			"tables.get datasets.get jobs.insert"},
		"a list, a fit":                   {func(s *Sink) { list(s); fit(t, s, 0); fit(t, s, 0) }, "tables.get"},
		"a fit of no table that is known": {func(s *Sink) { fit(t, s, 0) }, ""},
	} {
		if got := calls(c.do); got != c.want {
			t.Errorf("%s takes %q, want %q", name, got, c.want)
		}
	}
}

func fit(t *testing.T, s *Sink, expires time.Duration) (warned string) {
	t.Helper()
	schema := testSchema()
	schema.Expiration = expires
	if err := s.Configure(t.Context(), "installs", schema, func(err error) { warned += err.Error() + "\n" }); err !=
		nil {
		t.Error(err)
	}
	return warned
}

// Each partition that has rows is a row of INFORMATION_SCHEMA.PARTITIONS, with its ID and
// total_rows; rows without a date are in __NULL__
// (https://cloud.google.com/bigquery/docs/information-schema-partitions). The permissions are
// bigquery.tables.get and bigquery.tables.list.
func TestCount(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	mustPut(t, s, testPart("2026-01-30", "run", "a"), testPart("2026-01-31", "run", "a", "b"))
	none := testPart("2026-02-01", "run")
	mustPut(t, s, none)
	for _, once := range []string{"", "", "2026-02-02", "2026-02-03"} {
		list, err := s.Count(t.Context(), "installs", once)
		want := []sinks.Object{
			{Key: "installs$20260130", Partition: date("2026-01-30"), Counted: true, Rows: 1},
			{Key: "installs$20260131", Partition: date("2026-01-31"), Counted: true, Rows: 2},
		}
		if err != nil || fmt.Sprint(list) != fmt.Sprint(want) {
			t.Errorf("%q: %+v, %v; want %+v", once, list, err, want)
		}
	}
	before := len(server.Jobs())
	if list, err := s.Count(t.Context(), "installs", "2026-02-03"); !errors.Is(err, sinks.ErrCounted) ||
		len(list) > 0 || len(server.Jobs()) != before {
		t.Errorf("once more on one day: %v, %v", list, err)
	}
	server.SetDenied("bigquery.tables.list")
	_, err := s.Count(t.Context(), "installs", "")
	mustContain(t, err, "count the partitions of installs in bigquery://proj/ds: ", "accessDenied",
		"bigquery.tables.list")
}

// What the months and years of a table are called.
func TestCountByMonths(t *testing.T) {
	for period, key := range map[string]string{"month": "installs$202601", "year": "installs$2026"} {
		server := newServer(t, bqtest.Options{})
		s := openOn(t, server, testURL)
		p := testPart("2026-01-01", "run", "a")
		p.Schema.Period = period
		r, err := s.Put(t.Context(), p)
		list, failed := s.Count(t.Context(), "installs", "")
		if err != nil || failed != nil || r.Key != key || len(list) != 1 || list[0].Key != key ||
			list[0].Partition != date("2026-01-01") {
			t.Errorf("%s: %+v, %v, %+v, %v", period, r, err, list, failed)
		}
	}
}

// The time that a table keeps its partitions follows the config: expire_days is set, changed and
// taken away. What else a table has stays.
func TestExpirationFollowsTheConfig(t *testing.T) {
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, bqtest.Options{})
		put := func(expires time.Duration) (warned string) {
			t.Helper()
			p := testPart("1999-12-31", "run"+fmt.Sprint(len(server.Jobs())), "a")
			p.Schema.Expiration, p.Schema.RequireFilter = expires, true
			p.Warn = func(err error) { warned += err.Error() }
			mustPut(t, openOn(t, server, testURL), p)
			return warned
		}
		for _, c := range []struct {
			expires time.Duration
			says    string
		}{
			{90 * day, ""}, {400 * day, "keeps a partition 400 days from now on, as expire_days says, and not 90 days"},
			{400 * day, ""},
			{30 * day, "30 days from now on"}, {0, "for ever from now on"}, {0, ""},
		} {
			if said := put(c.expires); !strings.Contains(said, c.says) || (c.says == "") != (said == "") {
				t.Errorf("%v: it says %q, want %q", c.expires, said, c.says)
			}
			if got := server.Tables()["proj.ds.installs"]; got.TimePartitioning.ExpirationMs !=
				c.expires.Milliseconds() || !got.RequirePartitionFilter {
				t.Errorf("%v: it is %+v, filter %v", c.expires, got.TimePartitioning, got.RequirePartitionFilter)
			}
		}
		// Nothing is put, and the table follows all the same.
		s := openOn(t, server, testURL)
		if _, err := s.List(t.Context(), "installs"); err != nil {
			t.Fatal(err)
		}
		schema := testSchema()
		schema.Expiration, schema.RequireFilter = 7*day, true
		if err := s.Configure(t.Context(), "installs", schema, func(error) {}); err != nil ||
			server.Tables()["proj.ds.installs"].TimePartitioning.ExpirationMs != (7*day).Milliseconds() {
			t.Errorf("a fit: %v", err)
		}
		mustHold(t, server, "installs", "a")
	})
}

// A dataset's default becomes that of a table which is made without a word on it, and counts for
// partitions before it counts for tables
// (https://cloud.google.com/bigquery/docs/reference/rest/v2/datasets, defaultPartitionExpirationMs
// and defaultTableExpirationMs).
func TestDefaultsOfTheDataset(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		defaults bqtest.Options
		says     string
		lives    time.Duration
	}{
		"of partitions": {bqtest.Options{PartitionExpiration: 60 * day, TableExpiration: 7 * day},
			"deletes a partition of the table installs after 60 days, as is the default of its dataset", 61 * day},
		"of tables": {bqtest.Options{TableExpiration: 7 * day},
			"deletes the table installs as a whole on 2000-01-08; bq update --expiration 0 proj:ds.installs", 7 * day},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, c.defaults)
				said := ""
				p := testPart("2000-01-01", "run", "a")
				p.Warn = func(err error) { said += err.Error() }
				s := openOn(t, server, testURL)
				mustPut(t, s, p)
				if !strings.Contains(said, c.says) {
					t.Errorf("it says %q, want %q", said, c.says)
				}
				time.Sleep(c.lives - time.Minute)
				if list, err := s.List(t.Context(), "installs"); err != nil || len(list) != 1 || list[0].Rows != 1 {
					t.Errorf("before its end: %+v, %v", list, err)
				}
				time.Sleep(2 * time.Minute)
				if list, err := s.List(t.Context(), "installs"); err != nil || len(list) == 1 && list[0].Rows > 0 {
					t.Errorf("after it: %+v, %v", list, err)
				}
			})
		})
	}
}

// What a table keeps follows the config before the first put has changed the table, but for the
// default of its dataset.
func TestWhatATableWillKeep(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		has, usual, wanted time.Duration
		oldest             string
	}{
		{0, 0, 0, "0000-00-00"}, {14 * day, 0, 0, "0000-00-00"}, {14 * day, 60 * day, 0, "0000-00-00"},
		{0, 60 * day, 0, "1999-11-02"}, {14 * day, 60 * day, 30 * day, "1999-12-02"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := openOn(t, newServer(t, bqtest.Options{PartitionExpiration: c.usual}), testURL)
			p := testPart("2000-01-01", "run", "a")
			p.Schema.Expiration = c.has
			mustPut(t, s, p)
			if _, err := s.List(t.Context(), "installs"); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Oldest(t.Context(), "installs", c.wanted); err != nil || got.String() != c.oldest {
				t.Errorf("%+v: %v, %v", c, got, err)
			}
		})
	}
}

// A partition goes expirationMs after its end, in UTC
// (https://cloud.google.com/bigquery/docs/managing-partitioned-tables#partition-expiration). One
// that would go at once is refused, and no job is made.
func TestAPartitionThatIsTooOld(t *testing.T) {
	for _, c := range []struct {
		period, at, now string // the partition, and the day after noon
		days            int
		oldest          string
		kept            bool
	}{
		{"day", "2000-03-01", "2000-03-31", 30, "2000-03-01", true},
		{"day", "2000-03-01", "2000-04-01", 30, "2000-03-02", false},
		{"week", "2000-03-05", "2000-04-04", 30, "2000-03-05", true},
		{"week", "2000-03-05", "2000-04-05", 30, "2000-03-06", false},
		{"month", "2000-03-01", "2000-04-30", 30, "2000-03-01", true},
		{"month", "2000-03-01", "2000-05-02", 30, "2000-04-01", false},
		{"year", "2000-01-01", "2001-01-30", 30, "2000-01-01", true},
		{"year", "2000-01-01", "2001-02-01", 30, "2001-01-01", false},
		{"day", "1990-01-01", "2000-04-01", 0, "0000-00-00", true},
	} {
		t.Run(c.period+" "+c.now, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(date(c.now).In(time.UTC).Add(12 * time.Hour)))
				server := newServer(t, bqtest.Options{})
				s := openOn(t, server, testURL)
				p := testPart(c.at, "run", "a")
				p.Schema.Period, p.Schema.Expiration = c.period, time.Duration(c.days)*24*time.Hour
				_, err := s.Put(t.Context(), p)
				var old *sinks.NotKept
				if errors.As(err, &old) == c.kept || (err == nil) != c.kept || c.kept &&
					campaigns(t, server, "installs") != "a" || !c.kept && len(server.Jobs()) > 0 {
					t.Errorf("kept %v: %v, %d jobs", c.kept, err, len(server.Jobs()))
				}
				if list, err := s.List(t.Context(), "installs"); err != nil || list[0].Oldest.String() != c.oldest {
					t.Errorf("%+v, %v; want %s", list, err, c.oldest)
				}
			})
		})
	}
}

// A job that failed has changed nothing for certain.
func TestAFailedJobChangedNothing(t *testing.T) {
	server := newServer(t, bqtest.Options{Faults: []bqtest.Fault{{Call: "jobs.insert", Nth: 1,
		Kind: bqtest.FaultFailJob, Reason: "invalid"}}})
	if _, err := openOn(t, server, testURL).Put(t.Context(), testPart("2026-01-31", "run", "a")); !errors.Is(err,
		sinks.ErrUnchanged) {
		t.Error(err)
	}
}
