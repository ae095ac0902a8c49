package report_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A database holds no text with U+0000, as a Postgres doesn't.
type database struct{ sinks.Sink }

func (database) NoNUL() {}

// What an answer has in another form than the table is taken in the table's, and the run says how
// many cells of which column it was and which was the first, with exit code 0. With bad_text: fail
// a text that can't be held keeps its day out.
func TestAlteredCells(t *testing.T) {
	for name, c := range map[string]struct {
		metrics   string // the last of which is altered
		dimension string // that is altered in its place
		cell      string
		fail, nul bool
		want      string
	}{
		"a text that isn't UTF-8": {metrics: "installs", dimension: "network", cell: "Somm\xc3",
			want: `network: bytes that aren't UTF-8 became U+FFFD: 1, first "Somm\xc3" in row`},
		"one that must not be": {metrics: "installs", dimension: "network", cell: "Somm\xc3", fail: true},
		"U+0000": {metrics: "installs", dimension: "network", cell: "a\x00b", nul: true,
			want: `network: the character U+0000 was left out: 1, first "a\x00b" in row`},
		// The put is the sink's to refuse.
		"U+0000 that must not be":  {metrics: "installs", dimension: "network", cell: "a\x00b", nul: true, fail: true},
		"U+0000 where it may stay": {metrics: "installs", dimension: "network", cell: "a\x00b"},
		"no number": {metrics: "installs,roas_d7", cell: "nan",
			want: `roas_d7: "nan" is no number, and became NULL: 1, first "nan" in row`},
		"a fraction of a network's": {metrics: "installs,network_clicks", cell: "N.75",
			want: `network_clicks: a fraction was rounded to a whole number: 1, first "`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 20, Readings: documented()})
				defer r.close()
				r.options.Events, r.options.FailText = nil, c.fail
				r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "app_token", "os_name",
					"country_code"}, strings.Split(c.metrics, ",")
				if c.dimension != "" {
					r.options.Query.Dimensions = []string{"day", "app_token", c.dimension}
				}
				if c.nul {
					r.options.Targets = []ledger.Target{{Name: "out", Sink: database{r.sink}}}
				}
				r.start(4)
				day := civil.DateOf(time.Now()).AddDays(-2)
				r.client.HTTP = &http.Client{Transport: rewriter{r.client.HTTP.Transport,
					func(query, text string) string {
						if !strings.Contains(query, "app_token") {
							return text // totals
						}
						return spoilt(text, day.String(), map[bool]int{true: 1}[c.dimension != ""],
							func(cell string) string { return strings.ReplaceAll(c.cell, "N", cell) })
					}}}
				res := r.run(context.WithoutCancel(t.Context()))
				var altered []string
				for _, a := range res.Outcome.Altered {
					altered = append(altered, fmt.Sprintf("%s: %s: %d, first %s", a.Column, a.What, a.Cells, a.First))
				}
				got, exit, failed := strings.Join(altered, "; "), jobs.ExitCode([]ledger.Result{res}, false, false), 0
				if c.fail && !c.nul {
					failed = 1
				}
				if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") || res.Outcome.Failed != failed ||
					res.Outcome.Written != 4-failed || (exit == 0) != (failed == 0) || res.Outcome.Unreconciled != 0 {
					t.Errorf("altered %s\nwant    %s\n%+v, exit code %d: %v", got, c.want, res.Outcome, exit, res.Errs)
				}
			})
		})
	}
}
