package bqtest

import (
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"google.golang.org/api/iterator"
)

// read runs a query and returns its names with types and its rows, cells with | between them.
func (b *bench) read(query string) (string, []string, error) {
	it, err := b.client.Query(query).Read(b.Context())
	if err != nil {
		return "", nil, err
	}
	var rows []string
	for {
		var row []bigquery.Value
		err := it.Next(&row)
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			return "", nil, err
		}
		var cells []string
		for _, v := range row {
			text := fmt.Sprint(v)
			if r, ok := v.(*big.Rat); ok {
				text = r.FloatString(9)
			}
			if v == nil {
				text = "NULL"
			}
			cells = append(cells, text)
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	var heads []string
	for _, f := range it.Schema {
		heads = append(heads, f.Name+" "+string(f.Type))
	}
	return strings.Join(heads, ", "), rows, nil
}

// newSums is a bench with four rows of two days.
func newSums(t *testing.T) *bench {
	b := newBench(t, Options{Now: hour, Quotas: Quotas{MetadataUpdates: -1}})
	b.createInstalls()
	b.mustLoad(load{id: "rows", to: "installs", schema: installSchema, file: installFile(t,
		install{"2026-02-27", "a", 3, "0.100000", 0.5}, install{"2026-02-27", "b", 0, "10.200000", 1.5},
		install{"2026-02-28", "a", 4, "9.300000", 2}, install{"2026-02-28", "b", nil, "", 4})})
	return b
}

func TestQueries(t *testing.T) {
	b := newSums(t)
	if err := b.client.Dataset("d").Table("plain").Create(t.Context(), &bigquery.TableMetadata{Schema: bigquery.Schema{{Name: "app", Type: bigquery.StringFieldType}, {Name: "label", Type: bigquery.StringFieldType}}}); err != nil {
		t.Fatal(err)
	}
	const from = " FROM `p.d.installs` "
	for _, c := range []struct{ query, head, rows string }{
		{"SELECT *" + from + "ORDER BY date, app DESC", "date DATE, app STRING, installs INTEGER, cost NUMERIC, rate FLOAT",
			"2026-02-27|b|0|10.200000000|1.5; 2026-02-27|a|3|0.100000000|0.5; 2026-02-28|b|NULL|NULL|4; 2026-02-28|a|4|9.300000000|2"},
		{"SELECT i.app" + from + "AS i WHERE i.date = DATE '2026-02-28' AND installs > 0", "app STRING", "a"},
		{"select App, sum(installs) as n, sum(cost) cost, SAFE_DIVIDE(SUM(cost), SUM(installs)) AS each" + from + "GROUP BY app ORDER BY 1", "App STRING, n INTEGER, cost NUMERIC, each NUMERIC",
			"a|7|9.400000000|1.342857143; b|0|10.200000000|NULL"},
		{"SELECT COUNT(*), COUNT(installs), COUNT(DISTINCT app), MIN(cost), MAX(cost), AVG(cost), AVG(installs), SUM(rate), MAX(date), COUNTIF(installs > 3)" + from,
			"f0_ INTEGER, f1_ INTEGER, f2_ INTEGER, f3_ NUMERIC, f4_ NUMERIC, f5_ NUMERIC, f6_ FLOAT, f7_ FLOAT, f8_ DATE, f9_ INTEGER",
			"4|3|2|0.100000000|10.200000000|6.533333333|2.3333333333333335|8|2026-02-28|1"},
		{"SELECT DISTINCT date" + from + "ORDER BY date DESC LIMIT 1", "date DATE", "2026-02-28"},
		{"SELECT app, cost" + from + "WHERE cost > 9.3 OR cost < NUMERIC '0.2' ORDER BY cost DESC", "app STRING, cost NUMERIC", "b|10.200000000; a|0.100000000"},
		{"SELECT app" + from + "WHERE cost BETWEEN 9 AND 10 OR cost IN (NUMERIC '10.2') ORDER BY cost", "app STRING", "a; b"},
		{"SELECT date, app, installs" + from + "QUALIFY ROW_NUMBER() OVER (PARTITION BY app ORDER BY date DESC) = 1 ORDER BY app", "date DATE, app STRING, installs INTEGER", "2026-02-28|a|4; 2026-02-28|b|NULL"},
		{"SELECT app, SUM(cost) OVER (PARTITION BY app) AS s" + from + "WHERE date = '2026-02-27' ORDER BY app", "app STRING, s NUMERIC", "a|0.100000000; b|10.200000000"},
		{"SELECT DATE_TRUNC(date, MONTH) AS m, SUM(installs) AS n" + from + "GROUP BY m HAVING n > 6", "m DATE, n INTEGER", "2026-02-01|7"},
		{"SELECT DATE_DIFF(CURRENT_DATE(), MAX(date), DAY) AS age, TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), TIMESTAMP '2026-03-01 10:30:00', HOUR) h" + from, "age INTEGER, h INTEGER", "1|1"},
		{"SELECT DATE_ADD(DATE '2026-01-31', INTERVAL 1 MONTH) a, DATE_SUB('2026-03-01', INTERVAL 1 DAY) b, DATE_TRUNC(DATE '2026-03-01', WEEK) c, DATE_TRUNC(DATE '2026-03-01', WEEK(MONDAY)) d, DATE_DIFF('2026-03-01', '2025-12-31', MONTH) e, EXTRACT(QUARTER FROM DATE '2026-05-01') f, FORMAT_DATE('%Y-%m', DATE '2026-05-01') g",
			"a DATE, b DATE, c DATE, d DATE, e INTEGER, f INTEGER, g STRING", "2026-02-28|2026-02-28|2026-03-01|2026-02-23|3|2|2026-05"},
		{"SELECT 1 + 2 * 3 a, 7 / 2 b, NUMERIC '1' / 3 c, -2 d, 1.5 + 1 e, 'x' || 'y' f, CONCAT('a', \"b\") g, IF(TRUE, 1, 2) h, IFNULL(NULL, 'n') i, NULLIF(3, 3) j, ROUND(NUMERIC '2.345', 2) k, GREATEST(1, NUMERIC '2.5') l, CAST('1.20' AS NUMERIC) m, CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' ELSE 'c' END n, NOT 1 = 2 o",
			"a INTEGER, b FLOAT, c NUMERIC, d INTEGER, e FLOAT, f STRING, g STRING, h INTEGER, i STRING, j INTEGER, k NUMERIC, l NUMERIC, m NUMERIC, n STRING, o BOOLEAN",
			"7|3.5|0.333333333|-2|2.5|xy|ab|1|n|NULL|2.350000000|2.500000000|1.200000000|b|true"},
		{"WITH a AS (SELECT app, installs FROM `p`.`d`.`installs` WHERE installs IS NOT NULL), b AS (SELECT app, MAX(installs) AS top FROM a GROUP BY app) SELECT a.app, a.installs, b.top FROM a JOIN b ON a.app = b.app -- so\nORDER BY 1, 2",
			"app STRING, installs INTEGER, top INTEGER", "a|3|4; a|4|4; b|0|0"},
		{"SELECT i.app, plain.label" + from + "i LEFT JOIN p.d.plain ON plain.app = i.app WHERE i.installs = 4", "app STRING, label STRING", "a|NULL"},
		{"SELECT 'x' AS name, 1 AS n UNION ALL SELECT 'y', NUMERIC '2.5' UNION ALL (SELECT 'z', NULL) ORDER BY n DESC", "name STRING, n NUMERIC", "y|2.500000000; x|1.000000000; z|NULL"},
		{"SELECT TIMESTAMP '2026-01-01 00:00:00.5Z' AS t, DATETIME '2026-01-01 10:00:00' AS dt", "t TIMESTAMP, dt DATETIME", "2026-01-01 00:00:00.5 +0000 UTC|2026-01-01T10:00:00"},
		{"SELECT app" + from + "WHERE FALSE", "app STRING", ""},
		{"SELECT DISTINCT app" + from + "WHERE app LIKE '_' AND app NOT LIKE 'A%' AND NOT STARTS_WITH(app, 'b') AND REGEXP_CONTAINS(app, '^[a-z]$')", "app STRING", "a"},
		{"SELECT SAFE.PARSE_DATE('%Y%m%d', '2026') a, PARSE_DATE('%Y%m%d', '20260228') b, LENGTH('äb') c, SUBSTR('20260228', 5, 2) d, ABS(NUMERIC '-2.5') e, ABS(-2) f, LOWER('AB') g",
			"a DATE, b DATE, c INTEGER, d STRING, e NUMERIC, f INTEGER, g STRING", "NULL|2026-02-28|2|02|2.500000000|2|ab"},
		{"SELECT EXTRACT(DATE FROM TIMESTAMP '2026-01-01 10:00:00Z') a, DATE(DATETIME '2026-01-02 00:00:00') b, CAST(DATE '2026-01-01' AS STRING) c, CAST(2.6 AS INT64) d, CAST(NUMERIC '2.4' AS INT64) e, CAST(1 AS FLOAT64) f, TIMESTAMP_TRUNC(TIMESTAMP '2026-01-01 10:11:12Z', HOUR) g",
			"a DATE, b DATE, c STRING, d INTEGER, e INTEGER, f FLOAT, g TIMESTAMP", "2026-01-01|2026-01-02|2026-01-01|3|2|1|2026-01-01 10:00:00 +0000 UTC"},
		{"SELECT table_name, partition_id, total_rows, TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), last_modified_time, SECOND) AS age FROM `p.d.INFORMATION_SCHEMA.PARTITIONS` ORDER BY 1, 2",
			"table_name STRING, partition_id STRING, total_rows INTEGER, age INTEGER", "installs|20260227|2|0; installs|20260228|2|0; plain|NULL|0|0"},
	} {
		head, rows, err := b.read(c.query)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
		} else if got := strings.Join(rows, "; "); head != c.head || got != c.rows {
			t.Errorf("%s:\n%s\n%s\nwant\n%s\n%s", c.query, head, got, c.head, c.rows)
		}
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	b := newSums(t)
	const from = " FROM `p.d.installs`"
	for _, c := range []struct{ query, reason, message string }{
		{"SELECT app, SUM(installs)" + from, "invalidQuery", "references column app which is neither grouped nor aggregated at [1:8]"},
		{"SELECT rate" + from + " GROUP BY rate", "invalidQuery", "Grouping by expressions of type FLOAT64"},
		{"SELECT nix" + from, "invalidQuery", "Unrecognized name: nix at [1:8]"},
		{"SELECT app FROM `p.d.installs` a, `p.d.installs` b", "invalidQuery", "ambiguous"},
		{"SELECT a.app, b.app FROM `p.d.installs` a, `p.d.installs` b", "invalidQuery", "Duplicate column names"},
		{"SELECT app" + from + " WHERE SUM(installs) > 1", "invalidQuery", "Aggregate function not allowed in WHERE"},
		{"SELECT SUM(MAX(installs))" + from, "invalidQuery", "Aggregations of aggregations"},
		{"SELECT app" + from + " WHERE app", "invalidQuery", "should return type BOOL"},
		{"SELECT app" + from + " WHERE app = 1", "invalidQuery", "No matching signature for ="},
		{"SELECT app" + from + " WHERE date > 'soon'", "invalidQuery", "Invalid DATE literal 'soon'"},
		{"SELECT SUM(app)" + from, "invalidQuery", "No matching signature for function SUM for argument types: STRING"},
		{"SELECT 1 / 0", "invalidQuery", "division by zero"},
		{"SELECT 1 AS a UNION ALL SELECT 'x'", "invalidQuery", "incompatible types"},
		{"SELECT 1, 2 UNION ALL SELECT 1", "invalidQuery", "mismatched column count"},
		{"SELECT (1", "invalidQuery", `Expected ")" but got ""`},
		{"SELECT 'a", "invalidQuery", "Unclosed string literal at [1:8]"},
		{"SELECT 1;\nSELECT 2", "invalidQuery", "Expected end of input but got \"SELECT\" at [2:1]"},
		{"DELETE" + from, "invalidQuery", "Expected keyword WHERE"},
		{"SELECT x FROM `p.d.none`", "notFound", "Not found: Table p:d.none"},
		{"SELECT x FROM `p.none.t`", "notFound", "Not found: Dataset p:none"},
		{"SELECT x FROM t", "invalidQuery", "must be qualified with a dataset"},
		{"INSERT INTO `p.d.installs` VALUES (1)", "notImplemented", "SELECT and DELETE only"},
		{"SELECT app" + from + " UNION DISTINCT SELECT 'a'", "notImplemented", "UNION ALL only"},
		{"SELECT SOUNDEX(app)" + from, "notImplemented", "the function SOUNDEX"},
		{"SELECT (SELECT 1)", "notImplemented", "no subqueries in expressions"},
		{"SELECT SAFE.LOWER(app)" + from, "notImplemented", "SAFE.LOWER"},
		{"SELECT PARSE_DATE('%Y', 'x')", "invalidQuery", "failed to parse input string"},
		{"SELECT * FROM `p.d.INFORMATION_SCHEMA.COLUMNS`", "notImplemented", "INFORMATION_SCHEMA.COLUMNS"},
		{"SELECT 1 ?", "invalidQuery", `Unexpected "?"`},
	} {
		_, _, err := b.read(c.query)
		if status, reason := reasonOf(err); status != reasonStatus[c.reason] || reason != c.reason || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s gave %v, want %s: %s", c.query, err, c.reason, c.message)
		}
	}
	// As a job, the statement's faults are in its status.
	job, err := b.client.Query("SELECT nix" + from).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st, err := job.Status(t.Context()); err != nil || st.Err() == nil || st.Errors[0].Reason != "invalidQuery" || st.Errors[0].Location != "query" {
		t.Errorf("%+v, %v", st, err)
	}
	legacy := b.client.Query("SELECT 1")
	legacy.UseLegacySQL = true
	if _, err := legacy.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no legacy SQL") {
		t.Errorf("legacy SQL gave %v", err)
	}
	elsewhere := b.client.Query("SELECT app" + from)
	elsewhere.Location = "EU"
	if _, err := elsewhere.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "Dataset p:d was not found in location EU") {
		t.Errorf("another location gave %v", err)
	}
}

func TestDeletes(t *testing.T) {
	for _, c := range []struct {
		where string
		n     int64
		left  int
	}{
		{"`date` >= DATE '2026-02-27' AND `date` < DATE '2026-02-28'", 2, 2},
		{"date = '2026-02-28'", 2, 2},
		{"date = '2026-02-28' AND app = 'a'", 1, 3},
		{"TRUE", 4, 0},
		{"date < '2020-01-01'", 0, 4},
	} {
		b := newSums(t)
		q := b.client.Query("DELETE FROM `p.d.installs` WHERE " + c.where)
		q.JobID, q.Location, q.Labels = "clear", "US", map[string]string{"run": "r"}
		job, err := q.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st, err := job.Wait(t.Context())
		if err != nil || st.Err() != nil {
			t.Fatalf("%v, %v", err, st)
		}
		details := st.Statistics.Details.(*bigquery.QueryStatistics)
		rows, _ := b.Rows("p.d.installs")
		if details.NumDMLAffectedRows != c.n || details.StatementType != "DELETE" || details.DMLStats.DeletedRowCount != c.n || len(rows) != c.left {
			t.Errorf("%s: deleted %d, left %d, %+v", c.where, details.NumDMLAffectedRows, len(rows), details)
		}
		if _, err := q.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Already Exists: Job p:US.clear") {
			t.Errorf("the same job again gave %v", err)
		}
	}
	b := newSums(t)
	it, err := b.client.Query("DELETE `p.d.installs` AS i WHERE i.installs IS NULL").Read(t.Context())
	if err != nil || it.TotalRows != 0 {
		t.Errorf("by jobs.query: %v", err)
	}
	if rows, _ := b.Rows("p.d.installs"); len(rows) != 3 {
		t.Errorf("%d rows are left", len(rows))
	}
}

func TestViews(t *testing.T) {
	b := newSums(t)
	ctx := t.Context()
	view := b.client.Dataset("d").Table("ratios")
	const query = "SELECT date, SUM(installs) AS installs, SAFE_DIVIDE(SUM(cost), SUM(installs)) AS ecpi FROM `p.d.installs` GROUP BY date"
	if err := view.Create(ctx, &bigquery.TableMetadata{ViewQuery: query, Description: "ratios", Labels: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	meta, err := view.Metadata(ctx)
	if err != nil || meta.Type != bigquery.ViewTable || meta.ViewQuery != query || meta.UseLegacySQL || len(meta.Schema) != 3 || meta.Schema[2].Type != bigquery.NumericFieldType {
		t.Fatalf("%+v, %v", meta, err)
	}
	_, rows, err := b.read("SELECT * FROM `p.d.ratios` ORDER BY date")
	if got := strings.Join(rows, "; "); err != nil || got != "2026-02-27|3|3.433333333; 2026-02-28|4|2.325000000" {
		t.Errorf("%s, %v", got, err)
	}
	if meta, err = view.Update(ctx, bigquery.TableMetadataToUpdate{ViewQuery: "SELECT MAX(ecpi) AS top FROM p.d.ratios2"}, meta.ETag); err == nil {
		t.Errorf("a view of nothing was taken: %+v", meta)
	}
	if _, err = view.Update(ctx, bigquery.TableMetadataToUpdate{ViewQuery: "SELECT MAX(date) AS last FROM `p.d.installs`"}, ""); err != nil {
		t.Fatal(err)
	}
	if head, rows, err := b.read("SELECT v.last FROM `p.d.ratios` v"); err != nil || head != "last DATE" || rows[0] != "2026-02-28" {
		t.Errorf("%s %v, %v", head, rows, err)
	}
	second := b.client.Dataset("d").Table("second")
	if err := second.Create(ctx, &bigquery.TableMetadata{ViewQuery: "SELECT DATE_ADD(last, INTERVAL 1 DAY) AS next FROM `p.d.ratios`"}); err != nil {
		t.Fatal(err)
	}
	if _, rows, err := b.read("SELECT next FROM `p.d.second`"); err != nil || rows[0] != "2026-03-01" {
		t.Errorf("a view of a view: %v, %v", rows, err)
	}
	if _, err := view.Update(ctx, bigquery.TableMetadataToUpdate{ViewQuery: "SELECT next AS last FROM `p.d.second`"}, ""); err == nil || !strings.Contains(err.Error(), "references itself") {
		t.Errorf("a circle gave %v", err)
	}
	if err := b.client.Dataset("d").Table("legacy").Create(ctx, &bigquery.TableMetadata{ViewQuery: "SELECT 1", UseLegacySQL: true}); err == nil {
		t.Error("legacy SQL was taken")
	}
	b.wantFailure(load{id: "into", to: "ratios", file: oneRow(t, "2026-01-01", "a", 1)}, "invalid", "it is a view")
	if it := view.Read(ctx); it.Next(&[]bigquery.Value{}) == nil {
		t.Error("the rows of a view were listed")
	}
}

func TestTablesThatAskForAFilter(t *testing.T) {
	b := newSums(t)
	status, answer, _ := b.send("PATCH", "/bigquery/v2/projects/p/datasets/d/tables/installs", http.Header{}, []byte(`{"requirePartitionFilter":true}`))
	if status != 200 {
		t.Fatal(answer)
	}
	view := &bigquery.TableMetadata{ViewQuery: "SELECT date, SUM(installs) AS n FROM `p.d.installs` GROUP BY date"} // made without a filter
	if err := b.client.Dataset("d").Table("sums").Create(t.Context(), view); err != nil {
		t.Fatal(err)
	}
	for query, ok := range map[string]bool{
		"SELECT COUNT(*) FROM `p.d.installs`":                                                                   false,
		"SELECT MAX(date) FROM `p.d.installs` WHERE app = 'a'":                                                  false,
		"SELECT MAX(date) FROM `p.d.installs` WHERE date > '2026-01-01'":                                        true,
		"SELECT MAX(i.date) FROM `p.d.installs` i WHERE i.app = 'a' AND i.date IS NOT NULL":                     true,
		"SELECT n FROM `p.d.sums` WHERE date = '2026-02-27'":                                                    true,
		"SELECT n FROM `p.d.sums` WHERE n > 1":                                                                  false,
		"SELECT x.d FROM (SELECT date AS d FROM `p.d.installs`) x WHERE x.d = '2026-02-27'":                     true,
		"SELECT x.d FROM (SELECT MAX(date) AS d FROM `p.d.installs`) x WHERE x.d = '2026-02-27'":                false,
		"SELECT d FROM (SELECT * FROM `p.d.installs`) i, (SELECT 1 AS d) WHERE i.date = '2026-02-27' AND d = 1": true,
		"DELETE FROM `p.d.installs` WHERE app = 'none'":                                                         false,
		"DELETE FROM `p.d.installs` WHERE date = '2020-01-01'":                                                  true,
	} {
		_, _, err := b.read(query)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "Cannot query over table 'p.d.installs' without a filter over column(s) 'date'") {
			t.Errorf("%s gave %v", query, err)
		}
	}
}

func TestRowsByPages(t *testing.T) {
	b := newSums(t)
	it := b.client.Dataset("d").Table("installs").Read(t.Context())
	it.PageInfo().MaxSize = 3
	n := 0
	for ; ; n++ {
		var row []bigquery.Value
		if err := it.Next(&row); errors.Is(err, iterator.Done) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, ok := row[0].(civil.Date); !ok {
			t.Errorf("row %v", row)
		}
	}
	if n != 4 || it.TotalRows != 4 {
		t.Errorf("%d rows of %d", n, it.TotalRows)
	}
	q := b.client.Query("SELECT app, TIMESTAMP '2026-01-01 00:00:00Z' AS t FROM `p.d.installs`")
	q.JobID = "paged"
	job, err := q.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	it, err = job.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	it.PageInfo().MaxSize = 2
	var rows [][]bigquery.Value
	pages := iterator.NewPager(it, 2, "")
	for more := true; more; {
		var page [][]bigquery.Value
		token, err := pages.NextPage(&page)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > 2 {
			t.Errorf("a page of %d", len(page))
		}
		rows, more = append(rows, page...), token != ""
	}
	if len(rows) != 4 {
		t.Errorf("rows %v", rows)
	}
}

func TestTimestampsAreSecondsUnlessAskedFor(t *testing.T) {
	b := newSums(t)
	q := b.client.Query("SELECT TIMESTAMP '2026-01-01 00:00:00.5Z' AS t")
	q.JobID = "now"
	if _, err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"": `{"v":"1.7672256005E+09"}`, "?formatOptions.useInt64Timestamp=true": `{"v":"1767225600500000"}`} {
		if _, answer, _ := b.send("GET", "/bigquery/v2/projects/p/queries/now"+query, nil, nil); !strings.Contains(answer, want) {
			t.Errorf("%q: %s", query, answer)
		}
	}
	b.mustLoad(load{id: "load", to: "installs$20260101", file: oneRow(t, "2026-01-01", "a", 1), schema: installSchema})
	if status, _, _ := b.send("GET", "/bigquery/v2/projects/p/queries/load", nil, nil); status != 400 {
		t.Errorf("the results of a load: %d", status)
	}
	if status, _, _ := b.send("GET", "/bigquery/v2/projects/p/queries/now?maxResults=-1", nil, nil); status != 400 {
		t.Errorf("a negative page: %d", status)
	}
}

func TestJSONLines(t *testing.T) {
	b := newBench(t, Options{})
	schema := bigquery.Schema{
		{Name: "run", Type: bigquery.StringFieldType, Required: true}, {Name: "at", Type: bigquery.TimestampFieldType}, {Name: "n", Type: bigquery.IntegerFieldType},
		{Name: "cost", Type: bigquery.NumericFieldType}, {Name: "day", Type: bigquery.DateFieldType}, {Name: "ok", Type: bigquery.BooleanFieldType},
	}
	lines := func(l *load) {
		l.change = func(x *bigquery.Loader) { x.Src.(*bigquery.ReaderSource).SourceFormat = bigquery.JSON }
	}
	one := load{id: "one", to: "runs", mode: bigquery.WriteAppend, schema: schema, file: []byte(`{"run":"r1","at":"2026-01-01T00:00:00Z","n":"3","cost":1.50,"day":"2026-01-01","ok":true}
{"run":"r2","n":4}
`)}
	lines(&one)
	b.mustLoad(one)
	two := load{id: "two", to: "runs", mode: bigquery.WriteAppend, file: []byte(`{"RUN":"r3"}`)}
	lines(&two)
	b.mustLoad(two)
	b.wantRows("runs", "r1|1767225600000000|3|1.5|2026-01-01|true", "r2|␀|4|␀|␀|␀", "r3|␀|␀|␀|␀|␀")
	for i, c := range [][2]string{
		{`{"run":"x","n":1.5}`, "could not convert value of field n to INTEGER"}, {`{"run":"x","other":1}`, "'other' is not in the schema"}, {`{"n":1}`, "column 'run' is missing"},
		{`[1]`, "line 1"}, {`{"run":{}}`, "no scalar"},
	} {
		l := load{id: fmt.Sprint("bad", i), to: "runs", mode: bigquery.WriteAppend, schema: schema, file: []byte(c[0])}
		lines(&l)
		b.wantFailure(l, "invalid", c[1])
	}
	if rows, _ := b.Rows("p.d.runs"); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
}
