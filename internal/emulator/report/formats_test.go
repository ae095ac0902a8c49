package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/slow"
)

// jsonAnswer is the answer of GET /report.
type jsonAnswer struct {
	Rows         []map[string]any    `json:"rows"`
	Totals       map[string]float64  `json:"totals"`
	Warnings     []map[string]string `json:"warnings"`
	DataWarnings []map[string]string `json:"data_warnings"`
	Currencies   []string            `json:"currencies"`
	Immature     map[string][]string `json:"immature_cohorts"`
	Pagination   *int                `json:"pagination"`
}

func decodeReport(tb testing.TB, body string) (a jsonAnswer) {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		tb.Fatalf("%v in %.300s", err, body)
	}
	return a
}

// readParquet reads a file by a library that isn't the one that wrote it: names, types and cells,
// which print as the CSV's do.
func readParquet(tb testing.TB, body []byte) (names []string, types []arrow.Type, rows [][]string) {
	tb.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range f.NumRowGroups() {
		chunk, err := f.MetaData().RowGroup(i).ColumnChunk(0)
		if err != nil || chunk.Compression().String() != "BROTLI" {
			tb.Fatalf("compression %v, %v", chunk.Compression(), err)
		}
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		tb.Fatal(err)
	}
	table, err := r.ReadTable(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	defer table.Release()
	rows = make([][]string, table.NumRows())
	for c := range int(table.NumCols()) {
		field := table.Schema().Field(c)
		names, types = append(names, field.Name), append(types, field.Type.ID())
		n := 0
		for _, chunk := range table.Column(c).Data().Chunks() {
			for i := range chunk.Len() {
				rows[n] = append(rows[n], arrowText(tb, chunk, i))
				n++
			}
		}
	}
	return names, types, rows
}

func arrowText(tb testing.TB, a arrow.Array, i int) string {
	tb.Helper()
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.Int64:
		return strconv.FormatInt(a.Value(i), 10)
	case *array.Float64:
		return string(report.AppendReal(nil, a.Value(i)))
	}
	tb.Fatalf("a column of type %v", a.DataType())
	return ""
}

// addsUp are metrics that add up over the rows of a report.
var addsUp = []string{"installs", "clicks", "cost", "network_cost", "revenue", "ad_revenue", "all_revenue",
	"cohort_revenue", "sessions",
	"revenue_total_d7", "retained_users_d1", "purchase_events", "purchase_revenue", "purchase_d3_revenue_cohort",
	"skad_installs"}

var others = []string{"ecpi_all", "ctr", "daus", "roas_d7", "retention_rate_d7", "network_cost_diff", "arpdau",
	"time_spent_per_user_d1", "roas"}

// drawReport draws a report's query.
func drawReport(r *rand.Rand, apps []facts.App) url.Values {
	pick := func(from []string, most int) string {
		var out []string
		for range 1 + r.IntN(most) {
			out = append(out, from[r.IntN(len(from))])
		}
		return strings.Join(report.SplitList(strings.Join(out, ",")), ",")
	}
	var slugs []string
	for _, d := range metrics.Dimensions {
		slugs = append(slugs, d.Slug)
	}
	from := r.IntN(15)
	v := url.Values{"dimensions": {pick(slugs, 4)}, "metrics": {pick(addsUp, 4) + "," + pick(others, 3)},
		"date_period":   {fmt.Sprintf("-%dd:-%dd", from, r.IntN(from+1))},
		"ad_spend_mode": {pick([]string{"adjust", "network", "mixed"}, 1)},
		"currency":      {pick([]string{"USD", "EUR", "JPY"}, 1)}}
	metrics := strings.Split(v.Get("metrics"), ",")
	if r.IntN(2) == 0 {
		v.Set("sort", "-"+metrics[r.IntN(len(metrics))])
	}
	if r.IntN(3) == 0 {
		v.Set("app_token__in", apps[r.IntN(len(apps))].Token)
	}
	if r.IntN(3) == 0 {
		v.Set("os_names", "ios,android")
	}
	if r.IntN(3) == 0 {
		v.Set("utc_offset", "+05:30")
	}
	if r.IntN(3) == 0 {
		v.Set("cohort_maturity", pick([]string{"mature", "fully_mature"}, 1))
	}
	if r.IntN(4) == 0 {
		v.Set("period_over_period", pick([]string{"previous_period", "previous_week"}, 1))
	}
	if r.IntN(4) == 0 {
		v.Set(metrics[0]+"__gt", "2")
	}
	return v
}

func TestJSONAndParquetReportsSayWhatTheCSVSays(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 16})
	empty, cells := 0, 0
	for range 40 {
		v := drawReport(r, s.Apps())
		query := v.Encode()
		a := emutest.Report(t, s, v.Get("dimensions"), v.Get("metrics"), query)
		if len(a.Rows) == 0 {
			empty++
			if body := emutest.Get(t, s, "parquet_report?"+query, 204); body != "" {
				t.Errorf("204 with %q", body)
			}
			if body := emutest.Get(t, s, "report?"+query, 200); !strings.HasPrefix(body, `{"rows":[],`) {
				t.Errorf("no rows: %.200q", body)
			}
			continue
		}
		cells += len(a.Rows) * len(a.Header)
		j := decodeReport(t, emutest.Get(t, s, "report?"+query, 200))
		compareJSON(t, query, a, j)
		if want := []string{v.Get("currency")}; !slices.Equal(j.Currencies, want) ||
			len(j.Warnings)+len(j.DataWarnings) > 0 {
			t.Errorf("%s: currencies %q, warnings %v %v", query, j.Currencies, j.Warnings, j.DataWarnings)
		}
		compareParquet(t, query, a, []byte(emutest.Get(t, s, "parquet_report?"+query, 200)))
	}
	if empty > 10 || cells < 5000 {
		t.Errorf("%d reports of 40 were empty, %d cells compared: the test shows little", empty, cells)
	}
}

func compareJSON(t *testing.T, query string, a emutest.Answer, j jsonAnswer) {
	t.Helper()
	if len(j.Rows) != len(a.Rows) {
		t.Fatalf("%s: %d rows as JSON, %d as CSV", query, len(j.Rows), len(a.Rows))
	}
	for i, row := range j.Rows {
		if _, ok := row["attr_dependency"].(map[string]any); !ok || len(row) != len(a.Header)+1 {
			t.Fatalf("%s: row %d is %v", query, i, row)
		}
		for c, slug := range a.Header {
			if row[slug] != any(a.Rows[i][c]) {
				t.Fatalf("%s: row %d: %s is %#v as JSON, %q as CSV", query, i, slug, row[slug], a.Rows[i][c])
			}
		}
	}
	for _, slug := range a.Header[a.Dims:] {
		total, ok := j.Totals[slug]
		if !ok || len(j.Totals) != len(a.Header)-a.Dims {
			t.Fatalf("%s: totals %v", query, j.Totals)
		}
		if !slices.Contains(addsUp, slug) || strings.Contains(query, "fully_mature") ||
			strings.Contains(query, "__gt=") {
			continue // the rows are not all
		}
		if want := a.Sum(t, slug); emutest.Exact(t, string(report.AppendReal(nil, total))) != want {
			t.Errorf("%s: the total of %s is %v, the rows add up to %d millionths", query, slug, total, want)
		}
	}
}

func compareParquet(t *testing.T, query string, a emutest.Answer, body []byte) {
	t.Helper()
	names, types, rows := readParquet(t, body)
	if !slices.Equal(names, a.Header) || len(rows) != len(a.Rows) {
		t.Fatalf("%s: %d rows of %q as Parquet, %d of %q as CSV", query, len(rows), names, len(a.Rows), a.Header)
	}
	for i, want := range a.Rows {
		if !slices.Equal(rows[i], want) {
			t.Fatalf("%s: row %d is %q as Parquet, %q as CSV", query, i, rows[i], want)
		}
		for c, cell := range want {
			kind := arrow.STRING
			switch {
			case c >= a.Dims && strings.Contains(cell, "."):
				kind = arrow.FLOAT64
			case c >= a.Dims:
				kind = arrow.INT64
			}
			if types[c] != kind {
				t.Fatalf("%s: column %s is %v, its cell as CSV %q", query, names[c], types[c], cell)
			}
		}
	}
}

// A total of a quotient is the quotient of the totals.
func TestTotalsOfQuotients(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	body := emutest.Get(t, s, "report?dimensions=day,campaign&metrics=cost,installs,ecpi_all,daus&date_period=-7d:-1d",
		200)
	if !regexp.MustCompile(`"totals":\{"cost":\d+\.\d+,"installs":\d+\.0,.*"pagination":null\}\n$`).MatchString(body) {
		t.Errorf("the answer ends with %s", body[len(body)-300:])
	}
	j := decodeReport(t, body)
	if got, want := j.Totals["ecpi_all"], j.Totals["cost"]/j.Totals["installs"]; got != want || want == 0 {
		t.Errorf("total of ecpi_all %v, cost/installs %v", got, want)
	}
	if daily := emutest.Report(t, s, "day", "daus", "date_period=-7d:-1d").Sum(t,
		"daus"); int64(j.Totals["daus"]*7*facts.Million+0.5) != daily {
		t.Errorf("total of daus %v, the days' add up to %d millionths", j.Totals["daus"], daily)
	}
	if j := decodeReport(t, emutest.Get(t, s, "report?dimensions=os_name"+
		"&metrics=installs,retention_rate_d3,revenue_total_w1&date_period=-20d:-1d",
		200)); !slices.Equal(j.Immature["retention_rate_d3"],
		[]string{"2026-03-11", "2026-03-12", "2026-03-13"}) || len(j.Immature["revenue_total_w1"]) != 13 ||
		len(j.Immature) != 2 {
		t.Errorf("immature cohorts %v", j.Immature)
	}
}

func TestAttrDependencyGivesTheIDsBehindNames(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"dynamic", "first"} {
		s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4})
		more := "&date_period=-3d:-1d&attribution_source=" + source
		j := decodeReport(t, emutest.Get(t, s, "report?dimensions=app,partner_name,campaign,os_name"+
			"&metrics=installs"+more, 200))
		ids := emutest.Report(t, s, "app,partner_name,campaign,os_name,partner_id,partner,campaign_id_network",
			"installs", more)
		behind := map[string][][]string{}
		for _, row := range ids.Rows {
			key := strings.Join(row[:4], "\x00")
			behind[key] = append(behind[key], row[4:7])
		}
		organic := 0
		for _, row := range j.Rows {
			key := strings.Join([]string{row["app"].(string), row["partner_name"].(string), row["campaign"].(string),
				row["os_name"].(string)}, "\x00")
			attr := row["attr_dependency"].(map[string]any)
			for i, slug := range []string{"partner_id", "partner", "campaign_id_network"} {
				for _, got := range behind[key] {
					if attr[slug] != any(got[i]) {
						t.Fatalf("%s: %s of %q is %v, the report by ids says %q", source, slug, key, attr[slug], got[i])
					}
				}
			}
			if row["partner_name"] == "Organic" && attr["partner_id"] == "-300" &&
				attr["campaign_id_network"] == "unknown" {
				organic++
			}
			if stores, ok := attr["app_network"].([]any); !ok || len(stores) == 0 ||
				!strings.Contains(stores[0].(string), ":") {
				t.Fatalf("app_network %v", attr["app_network"])
			}
		}
		if organic == 0 {
			t.Error("no organic row")
		}
		if got := emutest.Get(t, s, "report?include_attr_dependency=false&dimensions=app&metrics=installs"+more,
			200); strings.Contains(got, "attr_dependency") {
			t.Errorf("include_attr_dependency=false gives %s", got)
		}
	}
}
