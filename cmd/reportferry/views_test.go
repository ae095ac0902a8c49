package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
)

// The view's ratios are those that the service gives for the same grouping, not averages of what the table's rows have.
func TestViewsGiveTheServicesRatios(t *testing.T) {
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "3")
	w := newWarehouse(t, s, 3, living)
	w.edit(t, "metrics: [installs, clicks,", "metrics: [installs, clicks, daus, ctr,")
	if out, code := w.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for range 2 { // the second time it is replaced
		out, code := w.run("views", "installs", "--by", "network", "--apply")
		if code != 0 || !strings.Contains(out, "left out: ctr, which needs impressions in the table") ||
			!strings.Contains(out, "SUM(`daus`)") { // unique within a day
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	_, at, _ := strings.Cut(w.url, "endpoint=")
	client, err := bigquery.NewClient(t.Context(), "proj", option.WithEndpoint(at+"/bigquery/v2/"), option.WithoutAuthentication())
	check(t, err)
	defer func() { check(t, client.Close()) }()
	rows, err := client.Query("SELECT day, network, installs, ecpi_all FROM `proj.ds.installs_by_day_network`").Read(t.Context())
	check(t, err)
	got := map[string][]bigquery.Value{}
	for {
		var row []bigquery.Value
		err := rows.Next(&row)
		if errors.Is(err, iterator.Done) {
			break
		}
		check(t, err)
		got[fmt.Sprint(row[0], " ", row[1])] = row[2:]
	}
	freshness, err := client.Query("SELECT table_name, last_period, row_count, state, age_minutes FROM `proj.ds._reportferry_freshness`").Read(t.Context())
	check(t, err)
	var fresh []bigquery.Value
	check(t, freshness.Next(&fresh))
	today := civil.DateOf(time.Now().UTC())
	want := s.grouped(t, "day,network", "installs,ecpi_all", today.AddDays(-3), today.AddDays(-1))
	held, err := w.Rows(warehouseTable)
	check(t, err)
	if want := fmt.Sprint("[installs ", strings.ReplaceAll(today.AddDays(-1).String(), "-", ""), " ", len(held), " filled 0]"); fmt.Sprint(fresh) != want {
		t.Errorf("freshness %v, want %s", fresh, want)
	}
	if len(want) < 10 || len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for _, row := range want {
		found := got[row[0]+" "+row[1]]
		ecpi, err := strconv.ParseFloat(row[3], 64)
		check(t, err)
		if len(found) != 2 || fmt.Sprint(found[0]) != row[2] {
			t.Errorf("%v: %v", row, found)
			continue
		}
		if value, ok := found[1].(float64); !ok && ecpi != 0 || math.Abs(value-ecpi) > 1e-6*max(1, ecpi) {
			t.Errorf("%v: eCPI %v", row, found[1])
		}
	}
}

// A kept dimension must be one, and a bucket has no views.
func TestViewsRefuse(t *testing.T) {
	s := startService(t, "--days", "30", "--apps", "1")
	w := newWarehouse(t, s, 1, living)
	if out, code := w.run("views", "installs", "--by", "colour"); code != 2 || !strings.Contains(out, "no such dimension") {
		t.Errorf("exit code %d: %s", code, out)
	}
	p := newPlace(t, s, 1, 1, living)
	if out, code := p.run("views", "installs"); code != 2 || !strings.Contains(out, "none of its sinks has views") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
