package report_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A rewriter changes the answers to reports.
type rewriter struct {
	http.RoundTripper
	change func(query, text string) string
}

func (s rewriter) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Accept-Encoding", "identity")
	res, err := s.RoundTripper.RoundTrip(q)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(q.URL.Path, "csv_report") {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	text := s.change(q.URL.RawQuery, string(body))
	res.Body, res.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	res.Header.Del("Content-Length")
	return res, err
}

// spoilt changes the last cell of a day's first row, or the one before so many of the last.
func spoilt(text, day string, before int, change func(cell string) string) string {
	at := strings.Index(text, "\n"+day)
	if at < 0 {
		return text
	}
	end := at + 1 + strings.IndexByte(text[at+1:], '\n')
	for range before {
		end = strings.LastIndexByte(text[:end], ',')
	}
	last := strings.LastIndexByte(text[:end], ',') + 1
	return text[:last] + change(text[last:end]) + text[end:]
}

// A cell that can't be read fails its own day, and not its week, at whatever day and in whatever
// window it is.
func TestOneBadCellFailsOneDay(t *testing.T) {
	for cell, total := range map[string]string{"1234567890123.5": "2469135802468.25", "many": "", "--1": "--1"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 20, Readings: documented()})
			defer r.close()
			r.options.Events = nil
			r.options.Query.Dimensions = []string{"day", "app_token", "campaign"}
			r.options.Query.Metrics = []string{"installs", "cost"}
			r.start(10)
			time.Sleep(time.Hour)
			bad := civil.DateOf(time.Now()).AddDays(-4)
			r.client.HTTP = &http.Client{Transport: rewriter{r.client.HTTP.Transport, func(query, text string) string {
				if put := map[bool]string{true: cell, false: total}[strings.Contains(query, "campaign")]; put != "" {
					return spoilt(text, bad.String(), 0, func(string) string { return put })
				}
				return text
			}}}
			res := r.run(t.Context())
			if exit := jobs.ExitCode([]ledger.Result{res}, false, false); exit != jobs.ExitSome ||
				res.Outcome.Written != 9 || res.Outcome.Failed != 1 || res.Outcome.Unreconciled != 0 {
				t.Errorf("%q: exit code %d, %+v", cell, exit, res.Outcome)
			}
			if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(), "fetch installs/"+bad.String()+":") ||
				!strings.Contains(res.Errs[0].Error(), cell) {
				t.Errorf("%q: errors %v", cell, res.Errs)
			}
			if _, there := r.files()[bad]; there || len(r.files()) != 9 {
				t.Errorf("%q: %d days are there", cell, len(r.files()))
			}
		})
	}
}

// A day whose rows hold money that its total can't, because the total has more digits, is published
// and agrees with it.
func TestTotalsBeyondTwelveDigits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 20, Readings: documented()})
		defer r.close()
		r.options.Events = nil
		r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "app_token", "country_code"},
			[]string{"installs", "cost"}
		r.start(10)
		day := civil.DateOf(time.Now()).AddDays(-4)
		r.client.HTTP = &http.Client{Transport: rewriter{r.client.HTTP.Transport,
			func(query, text string) string { return rich(query, text, day.String()) }}}
		if res := r.ok(); res.Outcome.Written != 10 || res.Outcome.Unreconciled != 0 {
			t.Errorf("%+v: %+v", res.Outcome, res.Problems)
		}
	})
}

// rich puts three rows in the place of a day's, whose costs make a total of thirteen digits.
func rich(query, text, day string) string {
	lines := strings.SplitAfter(text, "\n")
	rest := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasPrefix(line, day) })
	switch {
	case len(rest) == len(lines):
	case strings.Contains(query, "country_code"):
		rest = append(rest, day+",x,a,1,900000000000.125\n", day+",x,b,1,900000000000.125\n",
			day+",x,c,1,900000000000.125\n")
	default:
		rest = append(rest, day+",3,2700000000000.375\n")
	}
	return strings.Join(rest, "")
}
