package bqsink

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// within runs a test in a bubble with a warehouse that has rows of an earlier run.
func within(t *testing.T, test func(t *testing.T, server *bqtest.Server, s *Sink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, bqtest.Options{})
		s := openOn(t, server, testURL)
		mustPut(t, s, testPart("2026-01-31", "earlier", "old"))
		test(t, server, s)
	})
}

const thePartition = "installs$20260131"

func TestTransientReasonsAreTriedAgain(t *testing.T) {
	for _, c := range []struct {
		reason      string
		least, most time.Duration
	}{
		{"backendError", 0, 40 * time.Second}, {"internalError", 0, 40 * time.Second},
		{"rateLimitExceeded", 0, 40 * time.Second},
		{"quotaExceeded", 7 * time.Minute, 16 * time.Minute},
	} {
		for _, kind := range []bqtest.FaultKind{bqtest.FaultFailJob, bqtest.FaultStatus} {
			t.Run(fmt.Sprint(c.reason, " by ", kind), func(t *testing.T) {
				within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
					server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: kind, Reason: c.reason, Times: 2,
						Every: 1})
					start := time.Now()
					mustPut(t, s, testPart("2026-01-31", "run", "new"))
					mustHold(t, server, thePartition, "new")
					if took := time.Since(start); took < c.least || took > c.most {
						t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
					}
					inserts := asked(server, "jobs.insert")[1:]
					ids := map[string]bool{}
					for _, r := range inserts {
						ids[r.Job] = true
					}
					// A job that failed keeps its ID; one that was refused has none.
					if want := map[bqtest.FaultKind]int{bqtest.FaultFailJob: 3,
						bqtest.FaultStatus: 1}[kind]; len(inserts) != 3 || len(ids) != want {
						t.Errorf("%d inserts under %d IDs, want 3 under %d", len(inserts), len(ids), want)
					}
				})
			})
		}
	}
}

func TestOtherReasonsAreNot(t *testing.T) {
	for _, reason := range []string{
		"accessDenied", "billingNotEnabled", "blocked", "invalid", "invalidQuery", "jobBackendError",
		"jobInternalError",
		"jobRateLimitExceeded", "notFound", "notImplemented", "resourceInUse", "resourcesExceeded", "stopped",
		"tableUnavailable", "timeout",
	} {
		for _, kind := range []bqtest.FaultKind{bqtest.FaultFailJob, bqtest.FaultStatus} {
			if reason == "stopped" && kind == bqtest.FaultStatus {
				continue // it is of jobs only
			}
			t.Run(fmt.Sprint(reason, " by ", kind), func(t *testing.T) {
				within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
					server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: kind, Reason: reason, Every: 1})
					start := time.Now()
					_, err := s.Put(t.Context(), testPart("2026-01-31", "run", "new"))
					mustContain(t, err, "put installs/dt=2026-01-31 to bigquery://proj/ds: ", reason)
					if n := len(asked(server, "jobs.insert")) - 1; n != 1 {
						t.Errorf("%d inserts, want 1", n)
					}
					if strings.Contains(err.Error(), "unknown") || time.Since(start) > time.Second {
						t.Errorf("after %v: %v", time.Since(start), err)
					}
					mustHold(t, server, thePartition, "old")
				})
			})
		}
	}
}

// A warehouse that doesn't come back is given up, after a minute or so, and the message says how
// often it was asked.
func TestTryingEnds(t *testing.T) {
	for _, c := range []struct {
		fault       bqtest.Fault
		word        string
		least, most time.Duration
	}{
		{bqtest.Fault{Kind: bqtest.FaultFailJob, Reason: "backendError"}, "(tries: 8)", time.Second, 2 * time.Minute},
		{bqtest.Fault{Kind: bqtest.FaultReset}, "the outcome of job", time.Second, 2 * time.Minute},
		{bqtest.Fault{Kind: bqtest.FaultStatus, Status: 502}, "(tries: 8)", time.Second, 2 * time.Minute},
		{bqtest.Fault{Kind: bqtest.FaultStatus, Reason: "quotaExceeded"}, "no time is left to wait", time.Hour,
			5 * time.Hour},
	} {
		t.Run(fmt.Sprint(c.fault.Kind, c.fault.Reason), func(t *testing.T) {
			within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
				c.fault.Call, c.fault.Every = "jobs.insert", 1
				server.SetFaults(c.fault)
				start := time.Now()
				_, err := s.Put(t.Context(), testPart("2026-01-31", "run", "new"))
				mustContain(t, err, c.word)
				if took := time.Since(start); took < c.least || took > c.most {
					t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
				}
				mustHold(t, server, thePartition, "old")
				server.SetFaults()
				mustPut(t, s, testPart("2026-01-31", "run", "new"))
				mustHold(t, server, thePartition, "new")
			})
		})
	}
}

func TestQuotaIsNotWaitedForBeyondTheDeadline(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultFailJob, Reason: "quotaExceeded",
			Every: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := s.Put(ctx, testPart("2026-01-31", "run", "new"))
		mustContain(t, err, "quotaExceeded", "no time is left to wait", "the plan command")
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Every other call is tried again too, a lost answer to it as well.
func TestCallsAreTriedAgain(t *testing.T) {
	for _, call := range []string{"datasets.get", "tables.get", "tables.insert", "tables.patch", "jobs.get"} {
		for _, fault := range []bqtest.Fault{
			{Kind: bqtest.FaultStatus, Reason: "backendError"}, {Kind: bqtest.FaultStatus, Status: 503},
			{Kind: bqtest.FaultReset}, {Kind: bqtest.FaultLost},
		} {
			t.Run(fmt.Sprint(call, " ", fault.Kind, fault.Reason), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := newServer(t, bqtest.Options{JobTime: time.Second})
					s := openOn(t, server, testURL)
					p := testPart("2026-01-31", "run", "old")
					if call == "tables.patch" {
						narrow := *p.Schema
						narrow.Columns = narrow.Columns[:2]
						first := p
						first.Schema, first.Rows = &narrow, 1
						first = filePart("2026-01-30", "run", &narrow, []struct {
							Day      int32  `parquet:"day,date"`
							Campaign string `parquet:"campaign"`
						}{{20483, "narrow"}})
						mustPut(t, s, first)
					}
					fault.Call, fault.Every, fault.Times = call, 1, 2
					server.SetFaults(fault)
					mustPut(t, s, p)
					mustHold(t, server, thePartition, "old")
					struck := 0
					for _, r := range asked(server, call) {
						if r.Fault != "" {
							struck++
						}
					}
					if struck == 0 {
						t.Error("the fault never struck")
					}
				})
			})
		}
	}
}

// There is one layer of retries: a call that never succeeds is asked for as often as this package
// says, and not more.
func TestOneLayerOfRetries(t *testing.T) {
	narrow := func(p sinks.Part) sinks.Part { // the warehouse's table lacks columns of the others
		schema := *p.Schema
		schema.Columns = schema.Columns[:2]
		return filePart("2026-01-30", "run", &schema, []plainRow{{20483, "narrow"}})
	}
	for _, call := range []string{"datasets.get", "tables.get", "tables.insert", "tables.patch", "jobs.get",
		"jobs.insert", "view"} {
		for _, fault := range []bqtest.Fault{
			{Kind: bqtest.FaultStatus, Status: 503}, {Kind: bqtest.FaultStatus, Reason: "internalError"},
			{Kind: bqtest.FaultStatus, Reason: "rateLimitExceeded"}, {Kind: bqtest.FaultReset},
		} {
			t.Run(fmt.Sprint(call, " ", fault.Kind, fault.Status, fault.Reason), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := newServer(t, bqtest.Options{JobTime: time.Second})
					s := openOn(t, server, testURL)
					p := testPart("2026-01-31", "run")
					if call == "tables.patch" {
						mustPut(t, s, narrow(p))
					}
					fault.Call, fault.Every = call, 1
					save := func() error { _, err := s.Put(t.Context(), p); return err }
					if call == "view" {
						fault.Call = "tables.insert"
						save = func() error { return s.SaveView(t.Context(), "proj.ds.v", "SELECT 1 AS one") }
					}
					server.SetFaults(fault)
					mustContain(t, save(), "(tries: 8)")
					tries := 0
					for _, r := range server.Requests() {
						if r.Call == "jobs.cancel" {
							break // what is asked then has a limit of its own
						}
						if r.Fault != "" {
							tries++
						}
					}
					if tries != mostTries {
						t.Errorf("%d tries, want %d", tries, mostTries)
					}
				})
			})
		}
	}
}

// A view whose making was lost is there already: its query is set once more.
func TestLostView(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "tables.insert", Kind: bqtest.FaultLost},
			bqtest.Fault{Call: "tables.patch", Kind: bqtest.FaultStatus, Status: 503})
		if err := s.SaveView(t.Context(), "proj.ds.v", "SELECT campaign FROM `proj.ds.installs`"); err != nil {
			t.Fatal(err)
		}
		if v := server.Tables()["proj.ds.v"]; v == nil || v.View == nil || len(asked(server, "tables.patch")) != 2 {
			t.Errorf("%+v after %d patches", v, len(asked(server, "tables.patch")))
		}
	})
}
