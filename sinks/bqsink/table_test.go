package bqsink

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/bigquery"
	"golang.org/x/time/rate"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

func TestTableIsMade(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	p := testPart("2026-01-31", "run", "a")
	p.Schema.RequireFilter, p.Schema.Expiration, p.Schema.KMSKey = true, 36500*24*time.Hour,
		"projects/p/locations/eu/keyRings/r/cryptoKeys/k"
	p.Schema.Labels = map[string]string{"Team": "Growth & Data", "cost-centre": strings.Repeat("x", 70)}
	p.Schema.Columns[1].Description = strings.Repeat("ü", 2000)
	mustPut(t, openOn(t, server, testURL), p)
	got := server.Tables()["proj.ds.installs"]
	if got == nil {
		t.Fatal("no table")
	}
	var columns []string
	for _, f := range got.Schema.Fields {
		columns = append(columns, fmt.Sprint(f.Name, " ", typeName(bigquery.FieldType(f.Type)), " ", f.Mode, " ",
			len([]rune(f.Description))))
	}
	if got, want := strings.Join(columns, "; "),
		"day DATE REQUIRED 24; campaign STRING REQUIRED 1024; installs INT64 NULLABLE 8; "+
			"cost NUMERIC NULLABLE 5; ratio FLOAT64 NULLABLE 0"; got != want {
		t.Errorf("columns: %s\nwant     %s", got, want)
	}
	made, _ := json.Marshal(map[string]any{
		"partitioning": got.TimePartitioning, "clustering": got.Clustering, "labels": got.Labels,
		"filter": got.RequirePartitionFilter,
		"key":    got.EncryptionConfiguration,
	})
	const want = `{"clustering":{"fields":["campaign"]},"filter":true,"key":{"kmsKeyName":"projects/p/locations/eu/keyRings/r/cryptoKeys/k"},` +
		`"labels":{"cost-centre":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","team":"growth___data"},` +
		`"partitioning":{"expirationMs":"3153600000000","field":"day","type":"DAY"}}`
	if string(made) != want {
		t.Errorf("got  %s\nwant %s", made, want)
	}
	if key := theJob(t, server).Configuration.Load.DestinationEncryptionConfiguration; key == nil ||
		key.KmsKeyName != p.Schema.KMSKey {
		t.Errorf("the job's key: %+v", key)
	}
}

// The job says everything itself, and nothing is left to what BigQuery would guess.
func TestLoadJob(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	p := testPart("2026-01-31", "20260201T060000.123Z-1f2e3d4c", "a", "b")
	mustPut(t, openOn(t, server, testURL+"&job_project=payer"), p)
	job := theJob(t, server)
	if want := "reportferry_proj-ds_installs_20260131_20260201t060000_123z-1f2e3d4c-"; !strings.HasPrefix(
		job.JobReference.JobId, want) ||
		!strings.HasSuffix(job.JobReference.JobId, "_1") || job.JobReference.Location != "EU" ||
		job.JobReference.ProjectId != "payer" {
		t.Errorf("%+v", job.JobReference)
	}
	if got := asked(server, "datasets.get")[0].Query.Get("datasetView"); got != "METADATA" {
		t.Errorf("the dataset is looked at as %q", got)
	}
	labels := job.Configuration.Labels
	if len(labels[putLabel]) != 26 {
		t.Errorf("%+v", labels)
	}
	delete(labels, putLabel)
	if got, want := fmt.Sprint(labels),
		fmt.Sprintf("map[hash:%s partition:20260131 reportferry:proj-ds run:%s table:installs]",
			p.Hash, labelText(p.Run)); got != want {
		t.Errorf("labels %s\nwant   %s", got, want)
	}
	l := job.Configuration.Load
	var fields []string
	for _, f := range l.Schema.Fields {
		fields = append(fields, f.Name)
	}
	if got, want := fmt.Sprint(l.DestinationTable.TableId, l.SourceFormat, l.WriteDisposition, l.CreateDisposition,
		l.DecimalTargetTypes, fields),
		"installs$20260131PARQUETWRITE_TRUNCATECREATE_NEVER[NUMERIC][day campaign installs cost ratio]"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	rows, err := server.Rows("proj.ds.installs")
	if want := "[[2026-01-31 a 1 1.5 0.25] [2026-01-31 b 2 1.5 0.25]]"; err != nil || fmt.Sprint(rows) != want {
		t.Errorf("%v %v", rows, err)
	}
}

type hourRow struct {
	Hour     int64  `parquet:"hour,timestamp(microsecond:local)"`
	Campaign string `parquet:"campaign"`
}

type plainRow struct {
	Day      int32  `parquet:"day,date"`
	Campaign string `parquet:"campaign"`
}

type bareRow struct {
	Country  string `parquet:"country"`
	Campaign string `parquet:"campaign"`
}

func TestPeriods(t *testing.T) {
	for _, c := range []struct{ period, first, key, kind, next string }{
		{"day", "2026-01-31", "installs$20260131", "DAY", "2026-02-01"},
		{"week", "2026-02-01", "installs$20260201", "DAY", "2026-02-08"},
		{"month", "2026-12-01", "installs$202612", "MONTH", "2027-01-01"},
		{"quarter", "2026-10-01", "installs$202610", "MONTH", "2027-01-01"},
		{"year", "2026-01-01", "installs$2026", "YEAR", "2027-01-01"},
		{"hours", "2026-01-31", "installs$20260131", "DAY", "2026-02-01"},
		{"whole", sinks.Whole.String(), "installs", "", ""},
	} {
		t.Run(c.period, func(t *testing.T) {
			server := newServer(t, bqtest.Options{})
			s := openOn(t, server, testURL)
			s.pace.perSecond = rate.Inf
			one := func(first, name string) sinks.Part {
				schema := &sinks.Schema{Period: c.period, On: "day", Columns: []sinks.Column{
					{Name: "day", Type: sinks.Date, Required: true},
					{Name: "campaign", Type: sinks.String, Required: true},
				}}
				days := int32(date(first).In(time.UTC).Unix() / 86400)
				switch c.period {
				case "hours":
					schema.Period, schema.On, schema.Columns[0] = "day", "hour",
						sinks.Column{Name: "hour", Type: sinks.DateTime}
					last := int64(days)*86_400_000_000 + 86_399_999_999
					return filePart(first, "run", schema, []hourRow{{int64(days) * 86_400_000_000, name}, {last, name}})
				case "whole":
					schema.On, schema.Columns[0] = "", sinks.Column{Name: "country", Type: sinks.String}
					return filePart(first, "run", schema, []bareRow{{"DE", name}, {"FR", name}})
				}
				return filePart(first, "run", schema, []plainRow{{days, name}, {days, name}})
			}
			empty := func(p sinks.Part) sinks.Part { p.Rows, p.Hash = 0, "none"; return p }
			a := one(c.first, "a")
			r, err := s.Put(t.Context(), a)
			table := server.Tables()["proj.ds.installs"]
			made := ""
			if c.kind != "" {
				made = fmt.Sprint(table.CreationTime)
			}
			if err != nil || r != (sinks.Receipt{Sink: "bigquery://proj/ds", Key: c.key, Size: a.Size, Version: made}) {
				t.Fatalf("%+v, %v", r, err)
			}
			if kind := table.TimePartitioning; (kind == nil) != (c.kind == "") || (kind != nil && kind.Type != c.kind) {
				t.Errorf("partitioned by %+v", kind)
			}
			if c.next != "" {
				mustPut(t, s, one(c.next, "z"), one(c.first, "b"))
				mustHold(t, server, "installs", "b b z z")
			}
			r, err = s.Put(t.Context(), empty(a))
			if err != nil || r != (sinks.Receipt{Sink: "bigquery://proj/ds", Key: c.key, Version: made}) {
				t.Errorf("%+v, %v", r, err)
			}
			mustHold(t, server, "installs", strings.Repeat("z z", min(len(c.next), 1)))
		})
	}
}

// A DELETE covers exactly the partition.
func TestDeletion(t *testing.T) {
	s := &Sink{target: target{project: "proj", dataset: "ds"}}
	for period, want := range map[string]string{
		"day":     "`day` >= DATE '2024-01-01' AND `day` < DATE '2024-01-02'",
		"week":    "`day` >= DATE '2024-01-01' AND `day` < DATE '2024-01-02'", // its rows are all of its first day
		"month":   "`day` >= DATE '2024-01-01' AND `day` < DATE '2024-02-01'",
		"quarter": "`day` >= DATE '2024-01-01' AND `day` < DATE '2024-02-01'", // and those of its first month
		"year":    "`day` >= DATE '2024-01-01' AND `day` < DATE '2025-01-01'",
	} {
		p := testPart("2024-01-01", "run")
		p.Schema.Period = period
		at, err := locate(p)
		if got := s.deletion(at, p.Schema); err != nil || got != "DELETE FROM `proj.ds.installs` WHERE "+want {
			t.Errorf("%s: %s, %v", period, got, err)
		}
		p.Schema.Columns[0].Type = sinks.DateTime
		got := s.deletion(at, p.Schema)
		if want := strings.NewReplacer("DATE '", "DATETIME '", "' AND",
			" 00:00:00' AND").Replace(want); !strings.HasSuffix(got, want[:len(want)-1]+" 00:00:00'") {
			t.Errorf("%s by the hour: %s", period, got)
		}
	}
}

func TestPartsThatHaveNoPlace(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	for want, spoil := range map[string]func(p *sinks.Part){
		"no schema": func(p *sinks.Part) { p.Schema = nil },
		"can't be the name of a table in BigQuery": func(p *sinks.Part) { p.Table = "a`b" },
		"the first day of a partition":             func(p *sinks.Part) { p.Schema.Period = "month" },
		"a table by year":                          func(p *sinks.Part) { p.Schema.Period = "year" },
		"a table by whole":                         func(p *sinks.Part) { p.Schema.Period = "whole" },
		"0001-01-01 isn't the first day":           func(p *sinks.Part) { p.Partition = sinks.Whole },
		`period is "hour"`:                         func(p *sinks.Part) { p.Schema.Period = "hour" },
		`partitions are by "campaign"`:             func(p *sinks.Part) { p.Schema.On = "campaign" },
		"at most 4 columns": func(p *sinks.Part) {
			p.Schema.ClusterBy = strings.Split(
				"day campaign day day day", " ")
		},
		"clustered by network":       func(p *sinks.Part) { p.Schema.ClusterBy = []string{"network"} },
		`unknown type "BOOL"`:        func(p *sinks.Part) { p.Schema.Columns[3].Type = "BOOL" },
		"two columns have that name": func(p *sinks.Part) { p.Schema.Columns[3].Name = "Campaign" },
		"BigQuery keeps names that begin so": func(
			p *sinks.Part) {
			p.Schema.Columns[3].Name = "_Partitioned_by"
		},
		"at most 300 characters": func(p *sinks.Part) {
			p.Schema.Columns[3].Name = strings.Repeat("x",
				301)
		},
		"no columns": func(p *sinks.Part) { p.Schema.Columns = nil },
		`label "1st": a key must begin`: func(
			p *sinks.Part) {
			p.Schema.Labels = map[string]string{"1st": "x"}
		},
		`labels "A b" and "a_b" are the sa`: func(
			p *sinks.Part) {
			p.Schema.Labels = map[string]string{"A b": "x", "a_b": "y"}
		},
	} {
		p := testPart("2026-01-31", "run", "a")
		spoil(&p)
		_, err := s.Put(t.Context(), p)
		mustContain(t, err, want)
	}
	whole := testPart(sinks.Whole.String(), "run", "a")
	whole.Schema.Period, whole.Schema.ClusterBy, whole.Schema.Expiration = "whole", nil, time.Hour
	_, err := s.Put(t.Context(), whole)
	mustContain(t, err, "expiration and require_partition_filter are for partitions")
	if tables := server.Tables(); len(tables) != 0 {
		t.Errorf("tables were made: %v", tables)
	}
}

// Whether a part fits is seen without changing anything, and a put that follows needn't look again
// at a table that fits as it is.
func TestTakes(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	p := testPart("2026-01-31", "run", "a")
	if err := s.Takes(t.Context(), p.Table, p.Schema); err != nil || len(server.Tables()) > 0 {
		t.Errorf("a table that isn't there: %v, %v", err, server.Tables())
	}
	p.Schema.Labels = map[string]string{"1st": "x"}
	mustContain(t, s.Takes(t.Context(), p.Table, p.Schema), "a key must begin")
	p.Schema.Labels = nil
	mustPut(t, s, p)
	s, p.Lease = openOn(t, server, testURL), "another"
	server.ForgetRequests()
	if err := s.Takes(t.Context(), p.Table, p.Schema); err != nil {
		t.Error(err)
	}
	mustPut(t, s, p)
	looks := 0
	for _, r := range server.Requests() {
		if r.Call == "tables.get" {
			looks++
		}
	}
	if looks != 1 {
		t.Errorf("a table that fits is looked up %d times", looks)
	}
	made := server.Tables()["proj.ds.installs"].Etag
	wide := testPart("2026-01-31", "run", "a")
	wide.Schema.Columns = append(wide.Schema.Columns, sinks.Column{Name: "more", Type: sinks.Int64})
	if err := s.Takes(t.Context(), p.Table, wide.Schema); err != nil {
		t.Error(err)
	}
	other := testPart("2026-01-31", "run", "a")
	other.Schema.ClusterBy, other.Schema.Columns[2].Type = []string{"day"}, sinks.String
	err := s.Takes(t.Context(), p.Table, other.Schema)
	mustContain(t, err, "clustered by campaign")
	mustContain(t, err, "column installs is INT64, and the job writes STRING")
	if now := server.Tables()["proj.ds.installs"]; now.Etag != made || len(now.Schema.Fields) != 5 {
		t.Errorf("the table was changed: %+v", now)
	}
}

// Columns come and go; the rows of other partitions stay as they are.
func TestColumnsComeAndGo(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	narrow := testSchema()
	narrow.Columns = narrow.Columns[:2]
	plain := func(day, name string) sinks.Part {
		return filePart(day, "run", narrow, []plainRow{{int32(date(day).In(time.UTC).Unix() / 86400), name}})
	}
	wide := testPart("2026-02-01", "run", "wide")
	wide.Schema.Columns[0], wide.Schema.Columns[2] = wide.Schema.Columns[2], wide.Schema.Columns[0] // any order
	mustPut(t, s, plain("2026-01-31", "before"), wide, plain("2026-02-02", "after"))
	want := "[[2026-01-31 before ␀ ␀ ␀] [2026-02-01 wide 1 1.5 0.25] [2026-02-02 after ␀ ␀ ␀]]"
	if rows, err := server.Rows("proj.ds.installs"); err != nil || fmt.Sprint(rows) != want {
		t.Errorf("%v, %v\nwant %s", rows, err, want)
	}
	f := server.Tables()["proj.ds.installs"].Schema.Fields[2]
	if f.Name != "installs" || f.Description != "Installs" || f.Mode != "NULLABLE" {
		t.Errorf("%+v", f)
	}
	if n := len(asked(server, "tables.patch")); n != 1 {
		t.Errorf("%d patches", n)
	}
}

// A column that others have described and guarded stays as it is when columns are added beside it.
func TestAddedColumnsLeaveTheOthers(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	schema := testPart("2026-01-31", "run").Schema
	have := bigquery.Schema{
		{Name: "day", Type: "DATE", Required: true, Description: "Theirs"},
		{Name: "campaign", Type: "STRING", Description: "Theirs too", Collation: "und:ci",
			DefaultValueExpression: "'none'",
			PolicyTags: &bigquery.PolicyTagList{Names: []string{"projects/p/locations/eu/taxonomies/1/" +
				"policyTags/2"}}},
		{Name: "cost", Type: "NUMERIC", RoundingMode: bigquery.RoundHalfEven},
		{Name: "note", Type: "STRING", Description: "Nobody's"},
	}
	schema.Columns[1].Required = false
	if err := s.table("installs").Create(t.Context(), &bigquery.TableMetadata{
		Schema: have, Description: "A table", Clustering: &bigquery.Clustering{Fields: []string{"campaign"}},
		TimePartitioning: &bigquery.TimePartitioning{Type: bigquery.DayPartitioningType, Field: "day",
			Expiration: time.Hour},
	}); err != nil {
		t.Fatal(unhide(err))
	}
	before := server.Tables()["proj.ds.installs"]
	schema.Expiration = time.Hour
	if _, err := s.ensure(t.Context(), "installs", schema, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	after := server.Tables()["proj.ds.installs"]
	if len(after.Schema.Fields) != 6 || after.Description != "A table" {
		t.Fatalf("%d columns, %q", len(after.Schema.Fields), after.Description)
	}
	for i, f := range before.Schema.Fields {
		was, _ := json.Marshal(f)
		is, _ := json.Marshal(after.Schema.Fields[i])
		if string(was) != string(is) {
			t.Errorf("%s\nbecame %s", was, is)
		}
	}
	was, _ := json.Marshal([]any{before.TimePartitioning, before.Clustering})
	if is, _ := json.Marshal([]any{after.TimePartitioning, after.Clustering}); string(was) != string(is) {
		t.Errorf("%s became %s", was, is)
	}
	if tags := before.Schema.Fields[1].PolicyTags; tags == nil || len(tags.Names) != 1 ||
		before.Schema.Fields[1].DefaultValueExpression == "" {
		t.Errorf("the server keeps less than it was told: %+v", before.Schema.Fields[1])
	}
}

// A whole table keeps its columns and its clustering when it is replaced.
func TestWholeTableKeepsItsShape(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	schema := &sinks.Schema{Period: "whole", ClusterBy: []string{"campaign"}, Columns: []sinks.Column{
		{Name: "country", Type: sinks.String, Description: "Where"},
		{Name: "campaign", Type: sinks.String, Description: "Which"},
	}}
	mustPut(t, s, filePart(sinks.Whole.String(), "run", schema, []bareRow{{"DE", "a"}}))
	less := *schema
	less.Columns = schema.Columns[1:]
	mustPut(t, s, filePart(sinks.Whole.String(), "run", &less, []struct {
		Campaign string `parquet:"campaign"`
	}{{"b"}}))
	rows, err := server.Rows("proj.ds.installs")
	if err != nil || fmt.Sprint(rows) != "[[␀ b]]" {
		t.Errorf("%v, %v", rows, err)
	}
	table := server.Tables()["proj.ds.installs"]
	if table.Schema.Fields[0].Description != "Where" || table.Clustering == nil ||
		table.Clustering.Fields[0] != "campaign" {
		t.Errorf("%+v %+v", table.Schema.Fields[0], table.Clustering)
	}
	for _, j := range server.Jobs() { // it isn't left to what a truncated table keeps
		if c := j.Configuration.Load.Clustering; c == nil || c.Fields[0] != "campaign" {
			t.Errorf("the load says %+v", c)
		}
	}
}

// Another process adds a column between our look and our patch: 412, and both columns are there in
// the end.
func TestColumnsAddedByTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, bqtest.Options{})
		first := testPart("2026-01-31", "run", "a")
		mustPut(t, openOn(t, server, testURL), first)
		more := func(name string) sinks.Part {
			p := testPart("2026-01-31", name, "b")
			p.Schema.Columns = append(p.Schema.Columns, sinks.Column{Name: name, Type: sinks.Int64})
			return p
		}
		// Between the look and the patch of the one, the other does all of its work.
		raced := false
		racing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch && !raced {
				raced = true
				mustPut(t, openOn(t, server, testURL), more("theirs"))
			}
			server.ServeHTTP(w, r)
		})
		mustPut(t, openOn(t, racing, testURL), more("ours"))
		var names []string
		for _, f := range server.Tables()["proj.ds.installs"].Schema.Fields[5:] {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != "theirs ours" {
			t.Errorf("added: %s", got)
		}
	})
}

// A table that is dropped during a run fails one Put, and is made again by the next.
func TestDroppedTable(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	s := openOn(t, server, testURL)
	p := testPart("2026-01-31", "run", "a")
	mustPut(t, s, p)
	w := handledDelete(t, server, "/bigquery/v2/projects/proj/datasets/ds/tables/installs")
	if w != http.StatusNoContent && w != http.StatusOK {
		t.Fatal(w)
	}
	_, err := s.Put(t.Context(), p)
	mustContain(t, err, "notFound")
	mustPut(t, s, p)
	mustHold(t, server, thePartition, "a")
	if kind := server.Tables()["proj.ds.installs"].TimePartitioning; kind == nil {
		t.Error("it came back without partitions")
	}
}

func handledDelete(t *testing.T, server http.Handler, path string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://x"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := handled{server}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// The rows that BigQuery wrote are counted.
func TestRowsAreCounted(t *testing.T) {
	server := newServer(t, bqtest.Options{})
	p := testPart("2026-01-31", "run", "a", "b")
	p.Rows = 3
	_, err := openOn(t, server, testURL).Put(t.Context(), p)
	mustContain(t, err, "is done and wrote 2 rows, and the part has 3", "fetch the partition again")
	mustContain(t, checkRows(&bigquery.Job{}, &jobSpec{part: p}), "doesn't say how many rows")
}

// A column of SQL's names and one of the older names are the same.
func TestCompareKnowsBothNamesOfTypes(t *testing.T) {
	have := &bigquery.TableMetadata{
		TimePartitioning: &bigquery.TimePartitioning{Type: "DAY", Field: "Day"},
		Clustering:       &bigquery.Clustering{Fields: []string{"Campaign"}},
		Schema: bigquery.Schema{
			{Name: "Day", Type: "DATE", Required: true}, {Name: "CAMPAIGN", Type: "STRING"},
			{Name: "installs", Type: "INTEGER"},
			{Name: "cost", Type: "NUMERIC"}, {Name: "ratio", Type: "FLOAT"}, {Name: "note", Type: "STRING"},
		},
	}
	if missing, err := compare("t", have, testSchema()); err != nil || len(missing) != 0 {
		t.Errorf("%v, %v", missing, err)
	}
}
