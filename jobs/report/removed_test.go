package report_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

// columnsOf gives the columns of each file, ascending by day, one letter a metric.
func (r *rig) columnsOf(first civil.Date, days int) (all []string) {
	r.t.Helper()
	files := r.files()
	for i := range days {
		var letters string
		for _, name := range readParquet(r.t, files[first.AddDays(i)]).names {
			if !slices.Contains(r.options.Query.Dimensions, name) {
				letters += name[:2] + " "
			}
		}
		all = append(all, strings.TrimSpace(letters))
	}
	return all
}

// A metric that is taken out of the config ends at a day: no partition that has it loses it,
// whatever else is added, and however its partitions are fetched again. drop takes it out.
func TestRemovedMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 5)
		defer r.close()
		sleepTo(r.options.Rules.Schedule)
		r.ok()
		var log bytes.Buffer
		r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
		first := civil.DateOf(time.Now()).AddDays(-5)
		r.options.Rules.Lookback, r.options.FinalAfter = 3, 3
		want := func(what string, days ...string) {
			t.Helper()
			if got := r.columnsOf(first, len(days)); !slices.Equal(got, days) {
				t.Errorf("%s: the files have %q, want %q", what, got, days)
			}
			metrics := r.options.Query.Metrics
			defer func() { r.options.Query.Metrics = metrics }()
			for i := range days { // every number is the service's
				day := first.AddDays(i)
				r.options.Query.Metrics = readParquet(t, r.files()[day]).names[len(r.options.Query.Dimensions):]
				header, rows := r.truth(day)
				sameRows(t, day, readParquet(t, r.files()[day]), header, rows)
			}
		}
		all, fewer := "in cl co", "in cl"
		want("at first", all, all, all, all, all)

		r.options.Query.Metrics = []string{"installs", "clicks"}
		sleepTo(r.options.Rules.Schedule)
		if res := r.ok(); res.Outcome.Unchanged == 0 {
			t.Errorf("what is asked for again as it was isn't put again: %+v", res.Outcome)
		}
		want("cost is removed", all, all, all, all, all, fewer)
		if text := "cost ends with " + first.AddDays(4).String() +
			": 5 partitions keep it"; !strings.Contains(log.String(), text) {
			t.Errorf("the run doesn't say %q: %s", text, log.String())
		}

		r.options.Query.Metrics = []string{"installs", "network_cost"}
		sleepTo(r.options.Rules.Schedule)
		r.ok()
		want("another is added", "in ne cl co", "in ne cl co", "in ne cl co", "in ne cl co", "in ne cl co", "in ne cl",
			"in ne")
		log.Reset()
		r.options.Rules.IgnoreLedger = true
		r.ok()
		r.options.Rules.IgnoreLedger = false
		want("all is asked for again", "in ne cl co", "in ne cl co", "in ne cl co", "in ne cl co", "in ne cl co",
			"in ne cl", "in ne")
		for _, text := range []string{"cost ends with " + first.AddDays(4).String() + ": 5 partitions keep it",
			"clicks ends with " + first.AddDays(5).String() + ": 6 partitions keep it"} {
			if !strings.Contains(log.String(), text) {
				t.Errorf("the run doesn't say %q: %s", text, log.String())
			}
		}

		r.options.Drop = []string{"cost"}
		if res := r.ok(); res.Outcome.Requests > 0 || res.Outcome.Written != 5 {
			t.Errorf("cost is dropped with %+v", res.Outcome)
		}
		want("cost is dropped", "in ne cl", "in ne cl", "in ne cl", "in ne cl", "in ne cl", "in ne cl", "in ne")
		if res := r.ok(); res.Outcome.Windows > 0 {
			t.Errorf("nothing is left to drop, and the next run has %+v", res.Outcome)
		}
	})
}

// Rows that lose a column are those that a sink gives back, as they are recorded, whatever their
// types are, and else those of the answers that were kept. The service is asked only when neither
// has them.
func TestDroppedColumn(t *testing.T) {
	for _, c := range []struct {
		name                  string
		silent, kept, damaged bool // the sink gives nothing back; answers are kept; files are damaged
		requests              bool
	}{
		{name: "of the sink"},
		{name: "the sink gives nothing back", silent: true, requests: true},
		{name: "the sink gives nothing back, and answers are kept", silent: true, kept: true},
		{name: "files are damaged", damaged: true, requests: true},
		{name: "files are damaged, and answers are kept", damaged: true, kept: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 10})
				defer r.close()
				schedule, err := refresh.ParseSchedule("0 6 * * *", "UTC")
				check(t, err)
				r.options.Rules.Schedule, r.options.Events = schedule, nil
				r.options.Query.Dimensions = []string{"day", "app_token", "campaign"}
				r.options.Query.Metrics = []string{"installs", "clicks", "retention_rate_d1", "roas_d7", "cost"}
				r.options.Stamps = []table.Stamp{table.LoadedAt}
				if c.kept {
					keeping(r, memblob.OpenBucket(nil), false)
				}
				time.Sleep(7 * time.Hour)
				r.start(5)
				r.ok()
				before, records := r.rowsWithout("cost"), r.records()
				if c.silent {
					r.options.Targets = []ledger.Target{{Name: "out", Sink: putter{r.sink}}}
				}
				for _, path := range r.files() {
					if c.damaged {
						about, err := os.Stat(path)
						check(t, err)
						content, err := os.ReadFile(path)
						check(t, err)
						content[len(content)/2] ^= 1
						check(t, os.WriteFile(path, content, 0o600))
						// As a disk does it, which tells nobody.
						check(t, os.Chtimes(path, time.Time{}, about.ModTime()))
					}
				}
				r.options.Query.Metrics = r.options.Query.Metrics[:4]
				r.options.Drop = []string{"cost"}
				if res := r.ok(); res.Outcome.Requests > 0 != c.requests || res.Outcome.Written != 5 {
					t.Errorf("the run has %+v", res.Outcome)
				}
				for day, rows := range r.rowsWithout("") {
					if !c.requests && !slices.Equal(rows, before[day]) {
						t.Errorf("%s: the file has\n%q\nwant\n%q", day, rows, before[day])
					}
					old, now := records[day], r.record(day)
					if !c.requests && (!now.Fetched.Equal(old.Fetched) || now.Moved ||
						!reflect.DeepEqual(now.Control, old.Control) || now.Rows != old.Rows) {
						t.Errorf("%s: the record is %+v, and was %+v", day, now, old)
					}
				}
				if res := r.ok(); res.Outcome.Windows > 0 {
					t.Errorf("nothing is left to drop, and the next run has %+v", res.Outcome)
				}
			})
		})
	}
}

// rowsWithout gives what each partition's file holds, but for a column.
func (r *rig) rowsWithout(column string) map[civil.Date][]string {
	r.t.Helper()
	out := map[civil.Date][]string{}
	for day, path := range r.files() {
		read := readParquet(r.t, path)
		at := slices.Index(read.names, column)
		for _, row := range append(read.rows, read.names) {
			if at >= 0 {
				row = slices.Delete(slices.Clone(row), at, at+1)
			}
			out[day] = append(out[day], strings.Join(row, "\x00"))
		}
		slices.Sort(out[day])
	}
	return out
}

// putter is a sink that gives nothing back.
type putter struct{ sinks.Sink }

// refusingMetric answers queries for a metric as the service answers those for one that it doesn't
// know.
type refusingMetric struct {
	http.RoundTripper
	metric string
}

func (r refusingMetric) RoundTrip(q *http.Request) (*http.Response, error) {
	if !slices.Contains(strings.Split(q.URL.Query().Get("metrics"), ","), r.metric) {
		return r.RoundTripper.RoundTrip(q)
	}
	body := `{"messages":[{"text":"Unsupported metric: ` + r.metric + `","level":"error"}]}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Status: "400 Bad Request", Request: q,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// The service refuses a metric that was taken out of the config: partitions that have values of it
// stay, and say so; others go on.
func TestRemovedMetricIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 5)
		defer r.close()
		sleepTo(r.options.Rules.Schedule)
		r.ok()
		first := civil.DateOf(time.Now()).AddDays(-5)
		before := r.record(first.AddDays(4))
		r.options.Query.Metrics = []string{"installs", "clicks"}
		r.client.HTTP = &http.Client{Transport: refusingMetric{r.client.HTTP.Transport, "cost"}}
		sleepTo(r.options.Rules.Schedule)
		res := r.run(t.Context())
		if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(),
			"the partitions have values of it, which the config asks for no more, and so they stay; drop: gives "+
				"them up") {
			t.Errorf("errors %v", res.Errs)
		}
		if now := r.record(first.AddDays(4)); now.Hash != before.Hash || now.State != ledger.Written {
			t.Errorf("the partition became %+v", now)
		}
		if e := r.record(first.AddDays(5)); e.State != ledger.Written {
			t.Errorf("the new day is %+v", e)
		}
		r.options.Drop = []string{"cost"}
		sleepTo(r.options.Rules.Schedule)
		r.ok()
	})
}

// An event is gone from the service's list, and its columns become NULL: in new partitions, and not
// in those with values of it.
func TestVanishedEventKeepsItsNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 5)
		defer r.close()
		sleepTo(r.options.Rules.Schedule)
		r.ok()
		r.options.Events = []report.Selector{{Slug: "purchase", Metrics: []string{"events"}}}
		r.options.Rules.IgnoreLedger = true
		r.ok()
		r.options.Rules.IgnoreLedger, r.options.NullMissing = false, true
		first := civil.DateOf(time.Now()).AddDays(-5)
		before := r.record(first.AddDays(4))
		r.client.HTTP = &http.Client{Transport: refusingMetric{withoutEvents{r.client.HTTP.Transport},
			"purchase_events"}}
		sleepTo(r.options.Rules.Schedule)
		res := r.run(t.Context())
		if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(), "so they stay") {
			t.Errorf("errors %v", res.Errs)
		}
		if now := r.record(first.AddDays(4)); now.Hash != before.Hash || now.State != ledger.Written {
			t.Errorf("the partition became %+v", now)
		}
		if e := r.record(first.AddDays(5)); e.State != ledger.Written {
			t.Errorf("the new day is %+v", e)
		}
	})
}

// withoutEvents answers as an account without any event does.
type withoutEvents struct{ http.RoundTripper }

func (w withoutEvents) RoundTrip(q *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(q.URL.Path, "/events") {
		return w.RoundTripper.RoundTrip(q)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Request: q,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("[]")),
	}, nil
}
