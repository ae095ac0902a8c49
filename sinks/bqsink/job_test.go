package bqsink

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// A lost answer is asked again under the same ID, and the job that is there is taken for ours: one job, one commit.
func TestLostAnswer(t *testing.T) {
	for _, rows := range []string{"new", ""} {
		within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
			server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultLost})
			p := testPart("2026-01-31", "run", "new")
			if rows == "" {
				p = testPart("2026-01-31", "run")
			}
			mustPut(t, s, p)
			mustHold(t, server, thePartition, rows)
			inserts := asked(server, "jobs.insert")[1:]
			if len(inserts) != 2 || inserts[0].Job != inserts[1].Job || inserts[1].Reason != "duplicate" || len(server.Jobs()) != 2 {
				t.Errorf("%d inserts, %d jobs: %+v", len(inserts), len(server.Jobs())-1, inserts)
			}
		})
	}
}

// The verdict of the job whose answer was lost is the Put's.
func TestLostAnswerOfAJobThatFails(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		bad := testPart("2026-01-31", "run", "new")
		bad.Partition = date("2026-02-01") // its rows are of the day before
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultLost})
		_, err := s.Put(t.Context(), bad)
		mustContain(t, err, "failed: invalid")
		mustHold(t, server, "installs", "old")
		if n := len(server.Jobs()); n != 2 {
			t.Errorf("%d jobs", n)
		}
	})
}

// A job of another process under the same run isn't taken for ours, though its content be the same: other rows may have
// come since.
func TestTakenIDIsAnothers(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		a, b := testPart("2026-01-31", "run", "a"), testPart("2026-01-31", "run", "b")
		killed := openOn(t, server, testURL)
		mustPut(t, killed, a, b)
		mustPut(t, openOn(t, server, testURL), a)
		mustHold(t, server, thePartition, "a")
		last := asked(server, "jobs.insert")
		if got := last[len(last)-1].Job; got != s.jobID(place{"installs", byDay, a.Partition}, "run", 3) {
			t.Errorf("the last job is %s", got)
		}
	})
}

// A slow load of an earlier run, of another process, lands before ours.
func TestEarlierRunIsWaitedFor(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultSlowJob, Delay: time.Hour},
			bqtest.Fault{Call: "jobs.get", Kind: bqtest.FaultStatus, Reason: "accessDenied"}, // its process is as good as killed
			bqtest.Fault{Call: "jobs.cancel", Kind: bqtest.FaultReset, Every: 1})
		_, err := s.Put(t.Context(), testPart("2026-01-31", "first", "slow"))
		mustContain(t, err, "the outcome of job reportferry_proj-ds_installs_20260131_first_1 is unknown")
		start := time.Now()
		server.SetFaults()
		other := openOn(t, server, testURL)
		mustPut(t, other, testPart("2026-01-30", "second", "other"))
		if took := time.Since(start); took > time.Minute {
			t.Errorf("another partition waited %v", took)
		}
		mustPut(t, other, testPart("2026-01-31", "second", "new"))
		mustHold(t, server, thePartition, "new")
		if took := time.Since(start); took < 55*time.Minute {
			t.Errorf("it took %v", took)
		}
		server.Advance(24 * time.Hour)
		mustHold(t, server, thePartition, "new")

		n := len(asked(server, "jobs.list"))
		mustPut(t, other, testPart("2026-01-31", "second", "newer"))
		if asked := len(asked(server, "jobs.list")) - n; asked != 0 {
			t.Errorf("%d listings for the second load of a run", asked)
		}
	})
}

// How an earlier run's job ends doesn't matter, when it has ended.
func TestEarlierRunThatFails(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		bad := testPart("2026-02-01", "first", "slow")
		bad.Partition = date("2026-01-31") // it fails at its end
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultSlowJob, Delay: time.Hour},
			bqtest.Fault{Call: "jobs.get", Kind: bqtest.FaultStatus, Reason: "accessDenied"},
			bqtest.Fault{Call: "jobs.cancel", Kind: bqtest.FaultReset, Every: 1})
		_, err := s.Put(t.Context(), bad)
		mustContain(t, err, "is unknown")
		server.SetFaults()
		mustPut(t, openOn(t, server, testURL), testPart("2026-01-31", "second", "new"))
		mustHold(t, server, thePartition, "new")
		if n := len(asked(server, "jobs.get")); n < 10 {
			t.Errorf("the job was looked at %d times", n)
		}
	})
}

// An unknown outcome is settled by the next Put of the same process too.
func TestRepeatedPutSettles(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		mustPut(t, s, testPart("2026-01-31", "run", "a"))
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultSlowJob, Delay: time.Hour},
			bqtest.Fault{Call: "jobs.cancel", Kind: bqtest.FaultStatus, Reason: "accessDenied"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Put(ctx, testPart("2026-01-31", "run", "b"))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		mustContain(t, err, "is unknown")
		mustHold(t, server, thePartition, "a")
		mustPut(t, s, testPart("2026-01-31", "run", "c"))
		mustHold(t, server, thePartition, "c")
		server.Advance(24 * time.Hour)
		mustHold(t, server, thePartition, "c")
	})
}

// An account that may not list the jobs of others lists its own.
func TestListingOwnJobs(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "jobs.list", Kind: bqtest.FaultStatus, Reason: "accessDenied"})
		mustPut(t, s, testPart("2026-01-31", "run", "new"))
		lists := asked(server, "jobs.list")
		var got []string
		for _, l := range lists[2:] { // two are of the Put before
			got = append(got, l.Query.Get("allUsers")+" "+strings.ToLower(l.Query.Get("stateFilter")))
		}
		if got, want := strings.Join(got, ", "), "true pending, false pending, false running"; got != want {
			t.Errorf("listings: %s, want %s", got, want)
		}
		server.SetDenied("bigquery.jobs.list")
		_, err := s.Put(t.Context(), testPart("2026-01-31", "third", "newer"))
		mustContain(t, err, "look for unfinished jobs of earlier runs", "accessDenied")
		mustHold(t, server, thePartition, "new")
	})
}

// A Put whose context ends cancels its job.
func TestEndedContextCancels(t *testing.T) {
	for _, names := range [][]string{{"new"}, nil} {
		within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
			server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultSlowJob, Delay: time.Hour},
				bqtest.Fault{Call: "jobs.cancel", Kind: bqtest.FaultReset})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(errors.New("lease lost")) })
			start := time.Now()
			_, err := s.Put(ctx, testPart("2026-01-31", "run", names...))
			if !errors.Is(err, context.Canceled) || !errors.Is(err, sinks.ErrUnchanged) {
				t.Error(err)
			}
			mustContain(t, err, "is cancelled, the old rows stay")
			if took := time.Since(start); took > 66*time.Second {
				t.Errorf("it took %v", took)
			}
			server.Advance(24 * time.Hour)
			mustHold(t, server, thePartition, "old")
			if n := len(asked(server, "jobs.cancel")); n != 2 { // the first was lost
				t.Errorf("%d cancellations", n)
			}
		})
	}
}

// A job that was done before it could be cancelled says so.
func TestEndedContextTooLate(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultSlowJob, Delay: time.Minute},
			bqtest.Fault{Call: "jobs.get", Kind: bqtest.FaultDelay, Delay: time.Hour}) // no news of the job for long
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		_, err := s.Put(ctx, testPart("2026-01-31", "run", "new"))
		if mustContain(t, err, "was done by then, so the new rows are visible"); errors.Is(err, sinks.ErrUnchanged) {
			t.Error("it says that nothing changed")
		}
		mustHold(t, server, thePartition, "new")
		mustPut(t, s, testPart("2026-01-31", "run", "new"))
	})
}

// Commits to one table are four a second, and one table doesn't wait for another.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, bqtest.Options{})
		s := openOn(t, server, testURL)
		other := testPart("2026-01-01", "run", "a")
		other.Table = "sessions"
		start := time.Now()
		var wg sync.WaitGroup
		put := func(p sinks.Part) {
			wg.Go(func() {
				if _, err := s.Put(t.Context(), p); err != nil {
					t.Error(err)
				}
			})
		}
		for day := 1; day <= 28; day++ {
			put(testPart(date("2025-12-31").AddDays(day).String(), "run", "a"))
		}
		put(other)
		wg.Wait()
		var last time.Time
		atOnce := 0
		for _, r := range asked(server, "jobs.insert") {
			if last = r.Time; last.Equal(start) {
				atOnce++
			}
		}
		if took := last.Sub(start); took != 27*time.Second/4 || atOnce != 2 {
			t.Errorf("28 commits took %v, and %d were at once", took, atOnce)
		}
		mustHold(t, server, "sessions", "a")
		for day := 1; day <= 2; day++ { // the second has to wait
			put(testPart(date("2026-01-31").AddDays(day).String(), "run", "a"))
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := s.Put(ctx, testPart("2026-01-31", "run", "a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wg.Wait()
	})
}

// Two Puts on one partition don't overlap.
func TestPutsOnAPartitionTakeTurns(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultSlowJob, Delay: time.Minute})
		done := make(chan error, 1)
		go func() {
			_, err := s.Put(t.Context(), testPart("2026-01-31", "run", "first"))
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Put(ctx, testPart("2026-01-31", "run", "impatient")); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		mustPut(t, s, testPart("2026-01-31", "run", "second"))
		if err := <-done; err != nil {
			t.Error(err)
		}
		mustHold(t, server, thePartition, "second")
	})
}
