package bqsink_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// A dataset is one that the sink is tried on from outside: by what the package exports, and by
// BigQuery's own client. It may be a real one with other tables in it: every name made here ends in
// a random suffix, and goes when its test ends.
type dataset struct {
	project, name string
	endpoint      string // of a stand-in, or empty for BigQuery itself
}

// The code that tries a real dataset, on the stand-in.
func TestADataset(t *testing.T) {
	server, err := bqtest.New(bqtest.Options{Datasets: []string{"proj.ds"}, Location: "EU",
		Quotas: bqtest.Quotas{Commits: -1}})
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	base, err := server.Listen()
	check(t, err)
	t.Run("", dataset{"proj", "ds", base}.try)
	if left := server.Tables(); len(left) > 0 {
		t.Errorf("%d tables are left behind", len(left))
	}
}

func (d dataset) try(t *testing.T) {
	t.Run("rows", func(t *testing.T) {
		sinktest.RunRows(t, func(t *testing.T) sinktest.RowFixture {
			place := d.open(t)
			return sinktest.RowFixture{Sink: place, Visible: place.visible}
		})
	})
	t.Run("audit", func(t *testing.T) { d.open(t).audit(t) })
	t.Run("views", func(t *testing.T) { d.open(t).views(t) })
}

// A corner of a dataset is a sink whose tables have a suffix of their own, and who reads them.
type corner struct {
	sinks.Sink
	dataset *bigquery.Dataset
	client  *bigquery.Client
	suffix  string
	fake    bool
}

// open makes a corner for a test, which goes on beside others: most of it is waiting.
func (d dataset) open(t *testing.T) corner {
	t.Helper()
	t.Parallel()
	rawURL, options := "bigquery://"+d.project+"/"+d.name, []option.ClientOption{}
	if d.endpoint != "" {
		rawURL += "?endpoint=" + d.endpoint
		options = append(options, option.WithEndpoint(d.endpoint+"/bigquery/v2/"), option.WithoutAuthentication())
	}
	sink, err := bqsink.Open(t.Context(), rawURL)
	check(t, err)
	if d.endpoint != "" {
		sink.(*bqsink.Sink).Unpaced()
	}
	client, err := bigquery.NewClient(context.WithoutCancel(t.Context()), d.project, options...)
	check(t, err)
	c := corner{sink, client.DatasetInProject(d.project, d.name), client, "_test_" + strings.ToLower(rand.Text()[:12]),
		d.endpoint != ""}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's has ended
		defer cancel()
		for _, table := range c.tables(ctx, t) {
			if err := table.Delete(ctx); err != nil {
				t.Errorf("delete %s, which is left behind: %v", table.FullyQualifiedName(), err)
			}
		}
		if err := errors.Join(sink.Close(), client.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Put is the sink's, into a table of the corner.
func (c corner) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	p.Table += c.suffix
	return c.Sink.Put(ctx, p)
}

// tables are the tables and views of the corner.
func (c corner) tables(ctx context.Context, t *testing.T) (found []*bigquery.Table) {
	t.Helper()
	for all := c.dataset.Tables(ctx); ; {
		table, err := all.Next()
		if errors.Is(err, iterator.Done) {
			return found
		}
		check(t, err)
		if strings.Contains(table.TableID, c.suffix) {
			found = append(found, table)
		}
	}
}

// visible lists tables' rows without a query, which would cost something and count against quotas.
func (c corner) visible(t *testing.T) (all []sinktest.Row) {
	t.Helper()
	for _, table := range c.tables(t.Context(), t) {
		for _, r := range values(t, table.Read(t.Context())) {
			row := sinktest.Row{Table: strings.TrimSuffix(table.TableID, c.suffix), Partition: sinks.Whole}
			if len(r) == 3 {
				row.Partition, r = r[0].(civil.Date), r[1:]
			}
			row.Name, row.Number = r[0].(string), r[1].(int64)
			all = append(all, row)
		}
	}
	return all
}

// A run's rows are appended once, however often it is asked for; another run's come to them.
func (c corner) audit(t *testing.T) {
	for _, run := range []string{"run-1" + c.suffix, "run-1" + c.suffix, "run-2" + c.suffix} {
		c.fill(t, "audited"+c.suffix, run)
	}
	rows := values(t, c.dataset.Table("audited"+c.suffix).Read(t.Context()))
	if len(rows) != 2*len(filling) {
		t.Errorf("%d rows, want %d", len(rows), 2*len(filling))
	}
}

var filling = []map[string]any{
	{"day": "2026-01-31", "network": "Ämter", "campaign": "a", "installs": 1, "cost": "9.000001"},
	{"day": "2026-01-31", "network": "Ämter", "campaign": "b", "installs": 3, "cost": "-1"},
	{"day": "2026-01-31", "network": "", "campaign": "a", "installs": 0, "cost": "0.5"},
	{"day": "2026-02-01", "network": "", "campaign": "a", "installs": 5},
}

func (c corner) fill(t *testing.T, table, run string) {
	t.Helper()
	schema := &sinks.Schema{Period: "day", On: "day", ClusterBy: []string{"network"}, Columns: []sinks.Column{
		{Name: "day", Type: sinks.Date, Required: true}, {Name: "network", Type: sinks.String, Required: true},
		{Name: "campaign", Type: sinks.String, Required: true},
		{Name: "installs", Type: sinks.Int64, Description: "Installs"},
		{Name: "cost", Type: sinks.Decimal, Description: "Spend"},
	}}
	check(t, c.Sink.(*bqsink.Sink).Append(t.Context(), table, schema, run, filling))
}

// Both views can be made over one that is there. Only a real warehouse runs them: .ci/views.py runs
// their SQL elsewhere.
func (c corner) views(t *testing.T) {
	c.fill(t, "viewed"+c.suffix, "run-1"+c.suffix)
	viewer := c.Sink.(*bqsink.Sink)
	named := func(name string) string { return views.BigQuery.Quote(viewer.Named(name)) }
	place := views.Place{Dialect: views.BigQuery, Table: named, Named: named}
	save := func(v views.View, suffix string) string {
		name, query := viewer.Named(v.Name), v.Query
		for range 2 {
			check(t, viewer.SaveView(t.Context(), name+suffix, query))
		}
		made, err := c.dataset.Table(name[strings.LastIndexByte(name, '.')+1:] + suffix).Metadata(t.Context())
		check(t, err)
		if made.ViewQuery != query {
			t.Errorf("the view %s is\n%s\nwant\n%s", name, made.ViewQuery, query)
		}
		return name + suffix
	}
	ask := func(sql, want string) {
		if c.fake {
			return
		}
		rows, err := c.client.Query(sql).Read(t.Context())
		check(t, err)
		var lines []string
		for _, r := range values(t, rows) {
			lines = append(lines, fmt.Sprint(r))
		}
		slices.Sort(lines)
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s gives\n%s\nwant\n%s", sql, got, want)
		}
	}
	sums, err := place.Summed(views.Table{
		Name: "viewed" + c.suffix, On: "day", By: []string{"network"}, Sums: []string{"installs", "cost"},
		Ratios: []views.Ratio{{Name: "ecpi", Formula: "cost/installs"}},
	}, "")
	check(t, err)
	name := save(sums, "")
	want := "[2026-01-31  0 0.5 <nil>]\n[2026-01-31 Ämter 4 8.000001 2.00000025]\n[2026-02-01  5 <nil> <nil>]"
	ask("SELECT day, network, installs, CAST(cost AS STRING), ecpi FROM `"+name+"`", want)
	// The dataset may have one of its own, which stays.
	name = save(place.Fresh("_reportferry_", named("INFORMATION_SCHEMA.PARTITIONS")), c.suffix)
	want = fmt.Sprint("[viewed"+c.suffix, " 20260201 ", len(filling), " filled]")
	ask("SELECT table_name, last_period, row_count, state FROM `"+name+"` WHERE table_name = 'viewed"+c.suffix+"'",
		want)
}

// values reads rows to their end. A table that goes away meanwhile has none.
func values(t *testing.T, rows *bigquery.RowIterator) (all [][]bigquery.Value) {
	t.Helper()
	for {
		var row []bigquery.Value
		err := rows.Next(&row)
		var answer *googleapi.Error
		if errors.Is(err, iterator.Done) || errors.As(err, &answer) && answer.Code == http.StatusNotFound {
			return all
		}
		check(t, err)
		all = append(all, row)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
