package report_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A spoiler puts a text in place of the last cell of a day's first row.
type spoiler struct {
	http.RoundTripper
	day, cell string
}

func (s spoiler) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Accept-Encoding", "identity")
	res, err := s.RoundTripper.RoundTrip(q)
	if err != nil || !strings.Contains(q.URL.RawQuery, "campaign") {
		return res, err
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if at := bytes.Index(text, []byte("\n"+s.day)); at >= 0 {
		end := at + 1 + bytes.IndexByte(text[at+1:], '\n')
		last := bytes.LastIndexByte(text[:end], ',')
		text = []byte(string(text[:last+1]) + s.cell + string(text[end:]))
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	res.Header.Del("Content-Length")
	return res, nil
}

// A cell that can't be read fails its own day, and not its week, at whatever day and in whatever window it is.
func TestOneBadCellFailsOneDay(t *testing.T) {
	for _, cell := range []string{"1234567890123.5", "many", "--1"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Days: 20})
			defer r.close()
			r.options.Events = nil
			r.options.Query.Dimensions = []string{"day", "app_token", "campaign"}
			r.options.Query.Metrics = []string{"installs", "cost"}
			r.start(10)
			time.Sleep(time.Hour)
			bad := civil.DateOf(time.Now()).AddDays(-4)
			r.client.HTTP = &http.Client{Transport: spoiler{r.client.HTTP.Transport, bad.String(), cell}}
			res := r.run(t.Context())
			if exit := jobs.ExitCode([]ledger.Result{res}, false, false); exit != jobs.ExitSome || res.Outcome.Written != 9 || res.Outcome.Failed != 1 {
				t.Errorf("%q: exit code %d, %+v", cell, exit, res.Outcome)
			}
			if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(), "fetch installs/"+bad.String()+":") || !strings.Contains(res.Errs[0].Error(), cell) {
				t.Errorf("%q: errors %v", cell, res.Errs)
			}
			if _, there := r.files()[bad]; there || len(r.files()) != 9 {
				t.Errorf("%q: %d days are there", cell, len(r.files()))
			}
		})
	}
}
