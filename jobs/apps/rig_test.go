package apps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A rig is a job of kind apps with all that it needs, in memory.
type rig struct {
	*testing.T
	server *emulator.Server
	ledger *ledger.Ledger
	log    bytes.Buffer
	runs   int
	told   []Report
	o      Options
}

const rigToken = "token-of-the-test"

// known are the readings of tests that are about how a job went: tickets are kept, and tell it in
// the document's word.
var known = append([]string{"ticket-unknown=kept", "ticket-status=lower", "error-body=model"}, asked...)

// asked is the reading of tests that count jobs: an unchanged request queues none, and is answered
// with the newest ticket.
var asked = []string{"ticket-idle=newest"}

// plainly are the readings of tests that give the service's answers another form themselves.
var plainly = append([]string{"app-absent=400", "app-answer=object", "apps-list=list", "settings-answer=sections"},
	known...)

func newRig(t *testing.T, o emulator.Options, list ...App) *rig {
	t.Helper()
	r := &rig{T: t}
	o.Apps, o.Days, o.Rate = 3, 10, -1
	var err error
	r.server, err = emulator.New(emutest.With(o))
	r.check(err)
	t.Cleanup(func() { _ = r.server.Close() })
	log := slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.ledger = ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	r.o = Options{
		Job: "account", Table: "account", Ledger: r.ledger, Apps: list, TicketWait: 10 * time.Second,
		FirstPoll:      time.Millisecond,
		IgnoreSchedule: true, Log: log, Client: r.client(rigToken),
	}
	return r
}

func (r *rig) client(token string) *adjust.Client { return r.clientOver(token, r.server.Client()) }

func (r *rig) clientOver(token string, over *http.Client) *adjust.Client {
	secret, err := transport.ParseToken("${T}", func(string) string { return token })
	r.check(err)
	c, err := adjust.New(adjust.Options{
		BaseURL: "http://embedded", Token: secret,
		Options: transport.Options{Rate: 100_000, InFlight: 8, Attempts: 1, HTTP: over, Logger: r.o.Log},
	})
	r.check(err)
	return c
}

func (r *rig) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// A dying connection does what is asked so many times; the next time it does it and loses the
// answer, and then nothing more.
type dying struct {
	left int
	http.RoundTripper
}

func (d *dying) RoundTrip(r *http.Request) (*http.Response, error) {
	d.left--
	if d.left < -1 {
		return nil, errors.New("dead")
	}
	res, err := d.RoundTripper.RoundTrip(r)
	if d.left < 0 && err == nil {
		_ = res.Body.Close()
		return nil, errors.New("dead in the middle")
	}
	return res, err
}

// A shouting connection shows a word in the place of another, wherever the service shows it.
type shouting struct {
	name, word string
	http.RoundTripper
}

func (s *shouting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	body = bytes.ReplaceAll(body, []byte(s.name), []byte(s.word))
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Del("Content-Length")
	return res, nil
}

// run is one execution.
func (r *rig) run() ledger.Result {
	r.Helper()
	return r.within(context.Background())
}

func (r *rig) within(ctx context.Context) ledger.Result {
	r.Helper()
	r.runs++
	o := r.o
	o.Run, r.told = fmt.Sprintf("run-%d", r.runs), nil
	o.Tell = func(rep Report) { r.told = append(r.told, rep) }
	list := []jobs.Job{{Name: o.Job, Table: o.Table, Kind: New(o)}}
	runner := &jobs.Runner{Run: o.Run, Lease: time.Minute, Parallel: 4, Log: o.Log}
	return runner.RunJobs(ctx, list, jobs.PlanJobs(ctx, list, time.Now()))[0]
}

// wants fails unless so many apps were written, unchanged and failed.
func (r *rig) wants(res ledger.Result, written, unchanged, failed int) {
	r.Helper()
	if o := res.Outcome; o.Written != written || o.Unchanged != unchanged || o.Failed != failed {
		r.Fatalf("written %d, unchanged %d, failed %d; want %d, %d, %d: %v", o.Written, o.Unchanged, o.Failed, written,
			unchanged, failed, res.Errs)
	}
}

// diff gives the lines of a plan.
func (r *rig) diff() []string {
	r.Helper()
	reports, err := New(r.o).Diff(context.Background())
	r.check(err)
	var lines []string
	for _, rep := range reports {
		r.check(rep.Err)
		for _, c := range rep.Changes {
			lines = append(lines, rep.ID+" "+c.String())
		}
	}
	return lines
}

func (r *rig) plans(want ...string) {
	r.Helper()
	if got := r.diff(); !slices.Equal(got, want) {
		r.Fatalf("the plan is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// tickets counts the jobs of each managed app, by ID.
func (r *rig) tickets() map[string]int {
	r.Helper()
	managed, err := r.server.ManagedApps()
	r.check(err)
	counts := map[string]int{}
	for _, a := range managed {
		if counts[a.Platform+"/"+a.StoreID] > 0 {
			r.Errorf("two apps of %s/%s", a.Platform, a.StoreID)
		}
		counts[a.Platform+"/"+a.StoreID] = len(a.Tickets)
	}
	return counts
}

// details are what the service shows of a declared app.
func (r *rig) details(a App) adjust.AppDetails {
	r.Helper()
	d, err := r.o.Client.AppByStore(context.Background(), a.StoreID, a.Platform, "")
	r.check(err)
	return d
}

func game(n int) App {
	return App{
		Name: fmt.Sprintf("Game %d", n), BundleID: fmt.Sprintf("com.example.g%d", n),
		StoreID: fmt.Sprintf("com.example.g%d", n), Platform: "android",
		Setup: map[string]map[string]any{
			"facebook": {"app_id": fmt.Sprint(1000 + n)}, "ironsource": {"advertiser_id": "77",
				"password": Secret("pass-word-zz")},
			"applovin": {"sdk_keys": []any{Secret("sdk-key-one-zz"), Secret("sdk-key-two-zz")}},
			"tiktok":   {"app_id": "5"},
		},
	}
}
