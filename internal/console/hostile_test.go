package console

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/store"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// ofLedger is a job whose table is read from the ledger at each look, by rules of days since a
// start.
func ofLedger(l *ledger.Ledger, name string, start civil.Date) Job {
	rules := refresh.Rules{Page: 7, Start: start, Location: time.UTC, Lookback: 7}
	return Job{Name: name, Kind: "report", Table: name, Zone: time.UTC,
		Inspect: func(ctx context.Context, past ledger.Past) (look TableState, err error) {
			table, err := l.Table(ctx, name)
			if err != nil {
				return look, err
			}
			look.Inspection = status.Inspect(noon, name, "report", rules, table.Records(), past)
			return look, nil
		}}
}

// years fills a table with days before noon, and folds them.
func years(t testing.TB, l *ledger.Ledger, name string, days int) civil.Date {
	t.Helper()
	table, err := l.Table(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	first := civil.DateOf(noon).AddDays(-days)
	for i := range days {
		e := ledger.Record{
			Partition: first.AddDays(i), Run: oldRun, Fetched: noon.AddDate(0, 0, i+1-days), State: ledger.Written,
			Rows: 1000, Hash: fmt.Sprint(i), Finality: refresh.Final,
			Sums: map[string]string{"installs": fmt.Sprint(i), "cost": fmt.Sprintf("%d.25", i), "revenue": "1.5"},
		}
		if err := table.Commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	return first
}

// copies gives other tables what one has.
func copies(t testing.TB, b *blob.Bucket, from string, names ...string) {
	t.Helper()
	for it := b.List(&blob.ListOptions{Prefix: "tables/" + from + "/"}); ; {
		o, err := it.Next(t.Context())
		if err != nil {
			return
		}
		for _, name := range names {
			data, err := b.ReadAll(t.Context(), o.Key)
			if err == nil {
				err = b.WriteAll(t.Context(), strings.Replace(o.Key, "tables/"+from+"/", "tables/"+name+"/", 1), data,
					nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

const markup = `"><script>alert(1)</script><img src=x onerror=y>`

// A ledger in which nothing is as it should be: every page answers, says what is damaged, and lets
// no markup through.
func TestHostileLedger(t *testing.T) {
	slow.Test(t)
	memory := bucket.NewMemory()
	b, l := memory.Blob(), ledger.Open(ledger.Options{Store: memory, URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	first := years(t, l, "long", 3650)
	copies(t, b, "long", "damaged")
	if err := b.WriteAll(t.Context(), "tables/damaged/months/2026-01.json",
		[]byte(`{"v":2,"xxh64":"0","content":{"partitions":{}}}`), nil); err != nil {
		t.Fatal(err)
	}
	for i := range 200 { // of which half have a page
		r := ledger.Run{
			ID: fmt.Sprintf("20260101T%06d.000Z-%08x", i, i), Trigger: markup,
			Started: noon.Add(time.Duration(i-200) * time.Second), Errors: []string{markup},
			Results: []ledger.Result{{Job: "long", Table: "long",
				Failures: []ledger.Failure{{Unit: markup, Error: markup}}}},
		}
		if err := l.SaveRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	hostile := []outbox.File{{Name: markup, Run: markup, Error: markup},
		{Name: "b" + markup, Rows: 5, Rejected: 5, Ended: noon, Rejects: markup,
			Reasons: []store.Reason{{Field: markup, Reason: markup, Rows: 5}}}}
	c := New(Options{Ledger: l, Again: " --config " + markup, Now: func() time.Time { return noon }, Jobs: []Job{
		ofLedger(l, "long", first), ofLedger(l, "damaged", first), ofLedger(l, "empty", civil.DateOf(noon)),
		ofLedger(l, markup, first),
		{Name: "spend", Kind: "spend", Source: markup, Rejects: markup, Files: given(hostile...)},
		{Name: "apps", Kind: "apps", Apps: given(App{ID: markup, Name: markup, Token: markup})},
	}})
	all := everyPage(t, c)
	if len(all) < 200 {
		t.Errorf("there are %d pages", len(all))
	}
	for path, page := range all {
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") || len(page) > 500_000 {
			t.Errorf("%s lets markup through, or has %d bytes", path, len(page))
		}
	}
	for path, want := range map[string]string{
		"problems.html": "tables/damaged/months/2026-01.json", "jobs/damaged/index.html": "trusted",
		"index.html":            "unreadable",
		"jobs/empty/index.html": "No partition is recorded", "overnight.html": "What moved of it can't be read",
		"jobs/long/2020-01-01.html": "",
	} {
		page, err := c.page(t.Context(), path, true)
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s doesn't say %q: %v", path, want, err)
		}
	}
}

// A store that answers after 20 ms, with ten years of fifty tables: the overview takes this long,
// cold and when its cache is too old.
func BenchmarkFiftyTables(b *testing.B) {
	memory := &bucket.Memory{}
	l := ledger.Open(ledger.Options{Store: memory.Open(), URL: "mem://"})
	first := years(b, l, "t00", 3650)
	var names []string
	for i := range 49 {
		names = append(names, fmt.Sprintf("t%02d", i+1))
	}
	copies(b, memory.Blob(), "t00", names...)
	slow := &ledgertest.Store{Memory: memory, Before: func(string, string) { time.Sleep(20 * time.Millisecond) }}
	far := ledger.Open(ledger.Options{Store: slow.Open(), URL: "mem://"})
	var list []Job
	for _, name := range append(names, "t00") {
		list = append(list, ofLedger(far, name, first))
	}
	now := noon
	c := New(Options{Ledger: far, Jobs: list, Now: func() time.Time { return now }})
	for _, path := range []string{"index.html", "problems.html", "jobs/t07/index.html", "overnight.html"} {
		b.Run("cold_or_old/"+path, func(b *testing.B) {
			for b.Loop() {
				now = now.Add(time.Minute)
				if _, err := c.page(b.Context(), path, true); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("warm/"+path, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.page(b.Context(), path, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
