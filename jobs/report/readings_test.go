package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// alone is a choice beside the first reading of all other topics, whatever row of readings the
// tests run under.
func alone(choice string) (all []string) { return append(documented(), choice) }

// documented is the first reading of all topics, for a test that rewrites answers and knows their
// form.
func documented() (all []string) {
	for _, topic := range emulator.ReadingTopics() {
		all = append(all, topic.Name+"="+topic.Readings[0].Name)
	}
	return all
}

// contents are the rows of all partitions as text, sorted.
func (r *rig) contents() (rows []string) {
	r.t.Helper()
	files := r.files()
	for _, day := range slices.SortedFunc(maps.Keys(files), civil.Date.Compare) {
		for _, row := range readParquet(r.t, files[day]).rows {
			rows = append(rows, strings.Join(row, "|"))
		}
	}
	slices.Sort(rows)
	return rows
}

// A table is the same under every reading of how the service answers: but for NULL where a service
// has no number and others have 0, and for blanks where it has no value and others have "unknown".
func TestTheTableUnderEveryReading(t *testing.T) {
	slow.Test(t)
	topics := []string{"unknown-parameters", "unknown-apps", "format-dates", "week-start", "report-empty",
		"report-type",
		"report-form", "report-header", "report-numbers", "no-number", "no-value", "events-empty", "events-form",
		"events-under-apps", "error-body", "retry-after", "rate-by"}
	fill := func(t *testing.T, choice string) (rows []string) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Apps: 2, Days: 9, Readings: alone(choice)})
			defer r.close()
			r.start(4)
			r.options.Query.Dimensions = []string{"day", "app_token", "ad_account_id", "store_id", "network"}
			r.options.Query.Filters = map[string][]string{"app_token__in": {r.server.Apps()[0].Token}}
			r.ok()
			if n := r.equalsTruth(civil.DateOf(time.Now()).AddDays(-4), 4); n == 0 {
				t.Error("nothing was compared")
			}
			rows = r.contents()
		})
		return rows
	}
	want := fill(t, "report-form=plain")
	mended := func(choice, row string) string {
		cells := strings.Split(row, "|")
		for i, cell := range cells {
			switch {
			case strings.HasPrefix(choice, "no-number") && choice != "no-number=zero" && i >= 5 &&
				strings.Trim(cell, "0.") == "":
				cells[i] = "NULL"
			case choice == "no-value=empty" && i < 5 && (cell == "unknown" || cell == "missing"):
				cells[i] = ""
			}
		}
		return strings.Join(cells, "|")
	}
	for _, topic := range emulator.ReadingTopics() {
		if !slices.Contains(topics, topic.Name) {
			continue
		}
		for _, r := range topic.Readings {
			choice := topic.Name + "=" + r.Name
			t.Run(choice, func(t *testing.T) {
				var expected []string
				changed := false
				for _, row := range want {
					expected = append(expected, mended(choice, row))
					changed = changed || expected[len(expected)-1] != row
				}
				slices.Sort(expected)
				if got := fill(t, choice); !slices.Equal(got, expected) || len(got) < 20 {
					t.Errorf("%d rows, want %d: %.300q\nwant %.300q", len(got), len(expected), got, expected)
				}
				if other := strings.HasPrefix(choice, "no-") && choice != "no-number=zero" &&
					choice != "no-value=unknown"; changed != other {
					t.Errorf("the reading changes cells: %t, want %t", changed, other)
				}
			})
		}
	}
}

// A column more, a text that is cut and a bound of addresses change no number: what can be taken is
// taken and said, and the rest is refused with what to do.
func TestAnswersOutOfTheOrdinary(t *testing.T) {
	for _, c := range []struct{ choice, says, refused string }{
		{"more-columns=none", "", ""},
		{"more-columns=one", "note", ""},
		{"cut-texts=whole", "", ""},
		{"cut-texts=cut", "bytes that aren't UTF-8 became U+FFFD", ""},
		{"address-length=any", "", ""},
		{"address-length=8000", "", "414"},
	} {
		t.Run(c.choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Apps: 2, Days: 9, Readings: alone(c.choice)})
				defer r.close()
				var log bytes.Buffer
				r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
				r.options.Events, r.options.Query.Dimensions, r.options.Query.Metrics = nil,
					[]string{"day", "campaign"}, []string{"installs", "cost"}
				if strings.HasPrefix(c.choice, "address-length") {
					var nobody []string
					for i := range 1000 {
						nobody = append(nobody, fmt.Sprintf("nobody %d", i))
					}
					r.client.MaxURL = 64000
					r.options.Query.Filters = map[string][]string{"campaign__not_in": nobody}
				}
				r.start(4)
				res := r.run(t.Context())
				err := errors.Join(res.Errs...)
				if c.refused != "" {
					if !errors.Is(err, jobs.ErrStop) || !strings.Contains(err.Error(), c.refused) ||
						r.client.Attempts < 2 || len(r.files()) > 0 {
						t.Errorf("%v, %d files", err, len(r.files()))
					}
					return
				}
				check(t, err)
				said := log.String() + fmt.Sprint(res.Outcome)
				if c.says == "" && strings.Contains(said, "level=WARN") || !strings.Contains(said, c.says) {
					t.Errorf("it says %s", said)
				}
				rows := r.contents()
				if len(rows) < 20 {
					t.Errorf("%d rows", len(rows))
				}
				for _, row := range rows {
					if cut := strings.Contains(row, "\ufffd"); cut != (c.choice == "cut-texts=cut") ||
						strings.HasSuffix(row, "|-") {
						t.Fatalf("a row is %q", row)
					}
				}
				for ago, control := range r.controls() {
					if control.State != ledger.Reconciled {
						t.Errorf("%d days ago: %s", ago, control.Say())
					}
				}
			})
		})
	}
}

// A day without rows is one without a failure, said by 204 or by a header alone, and neither
// empties a partition that had rows. A failure is a third thing.
func TestNoRowsUnderEveryReading(t *testing.T) {
	for _, choice := range []string{"report-empty=204", "report-empty=header"} {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Apps: 1, Days: 3, Readings: alone(choice)})
				defer r.close()
				r.start(6)
				if res := r.ok(); len(r.files()) != 2 {
					t.Errorf("%d files, %+v", len(r.files()), res)
				}
				before := r.contents()
				r.server.SetFaults([]emulator.Fault{{Path: "csv_report", Every: 1, Kind: emulator.FaultStatus,
					Status: 500}})
				r.client.Attempts = 1
				time.Sleep(24 * time.Hour)
				if res := r.run(t.Context()); len(res.Errs) == 0 || !strings.Contains(errors.Join(res.Errs...).Error(),
					"500 Internal Server Error") {
					t.Errorf("a failure: %v", res.Errs)
				}
				if got := r.contents(); !slices.Equal(got, before) {
					t.Errorf("%d rows after a failure, want %d", len(got), len(before))
				}
			})
		})
	}
}

// Weeks that begin on a Monday are no weeks of a table whose weeks begin on a Sunday: nothing is
// written, and the error says what came.
func TestWeeksFromMonday(t *testing.T) {
	for _, choice := range []string{"week-start=sunday", "week-start=monday"} {
		t.Run(choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Apps: 1, Days: 30, Readings: alone(choice)})
				defer r.close()
				r.start(21)
				r.options.Query.Dimensions = []string{"week", "app_token"}
				r.options.Rules.Period = refresh.Week
				res := r.run(t.Context())
				err := errors.Join(res.Errs...)
				if choice == "week-start=sunday" {
					if err != nil || len(r.files()) < 2 {
						t.Errorf("%d files, %v", len(r.files()), err)
					}
					return
				}
				if err == nil || len(r.files()) != 0 || !strings.Contains(err.Error(),
					"lies outside the dates that were asked for; a week of a table begins on a Sunday") {
					t.Errorf("%d files, %v", len(r.files()), err)
				}
			})
		})
	}
}
