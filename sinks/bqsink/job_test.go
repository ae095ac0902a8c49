package bqsink

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// A lost answer is asked again under the same ID, and the job that is there is taken for ours: one
// job, one commit.
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
			if len(inserts) != 2 || inserts[0].Job != inserts[1].Job || inserts[1].Reason != "duplicate" ||
				len(server.Jobs()) != 2 {
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

// earlier is a part that takes over from the leases.
func earlier(p sinks.Part, leases ...string) sinks.Part {
	p.Earlier = leases
	return p
}

// A process that was suspended before it asked for its job, and goes on when its partition was
// taken over and put, changes nothing: not by the job that it was about to ask for, nor by another.
func TestAWokenProcessChangesNothing(t *testing.T) {
	for _, rows := range [][]string{{"old"}, nil} {
		within(t, func(t *testing.T, server *bqtest.Server, suspended *Sink) {
			bad := testPart("2026-01-31", "first", "wrong")
			bad.Partition = date("2026-02-01")
			if _, err := suspended.Put(t.Context(), bad); err == nil { // another partition: its IDs are others
				t.Error("a job with rows of another day succeeded")
			}
			other := openOn(t, server, testURL)
			mustPut(t, other, earlier(testPart("2026-01-31", "second", "new"), "first"))
			for range 2 {
				_, err := suspended.Put(t.Context(), testPart("2026-01-31", "first", rows...))
				if mustContain(t, err, "another run has taken the partition over"); !errors.Is(err, sinks.ErrConflict) {
					t.Error(err)
				}
				mustHold(t, server, thePartition, "new")
			}
			mustPut(t, openOn(t, server, testURL), earlier(testPart("2026-01-31", "third", "newer"), "first", "second"))
			if _, err := other.Put(t.Context(), testPart("2026-01-31", "second", "new")); !errors.Is(err,
				sinks.ErrConflict) {
				t.Error(err) // it has put once, and its next ID is used up
			}
			mustHold(t, server, thePartition, "newer")
		})
	}
}

// The IDs of a lease are used one after the other, also after failures, so that the first free one
// is the next of whoever has it.
func TestNoIDIsLeftOut(t *testing.T) {
	for name, faults := range map[string][]bqtest.Fault{
		"the job was refused":  {{Call: "jobs.insert", Kind: bqtest.FaultStatus, Reason: "accessDenied"}},
		"the request was lost": {{Call: "jobs.insert", Kind: bqtest.FaultReset, Every: 1, Times: 8}},
		"the outcome wasn't known": {{Call: "jobs.insert", Kind: bqtest.FaultLost},
			{Call: "jobs.get", Kind: bqtest.FaultStatus, Reason: "accessDenied", Every: 1}},
		"the job failed for a reason": {{Call: "jobs.insert", Kind: bqtest.FaultFailJob, Reason: "invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T, server *bqtest.Server, suspended *Sink) {
				server.SetFaults(faults...)
				if _, err := suspended.Put(t.Context(), testPart("2026-01-31", "first", "a")); err == nil {
					t.Error("nothing failed")
				}
				server.SetFaults()
				mustPut(t, suspended, testPart("2026-01-31", "first", "b"))
				mustPut(t, openOn(t, server, testURL), earlier(testPart("2026-01-31", "second", "new"), "first"))
				if _, err := suspended.Put(t.Context(), testPart("2026-01-31", "first", "late")); !errors.Is(err,
					sinks.ErrConflict) {
					t.Error(err)
				}
				mustHold(t, server, thePartition, "new")
			})
		})
	}
}

// An answer to a request for an ID to be used up is lost, and the request is sent again.
func TestLostAnswerOfAnIDUsedUp(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultLost})
		mustPut(t, s, earlier(testPart("2026-01-31", "second", "new"), "first"))
		mustHold(t, server, thePartition, "new")
		if inserts := asked(server, "jobs.insert")[1:]; len(inserts) != 3 || inserts[0].Job != inserts[1].Job {
			t.Errorf("%+v", inserts)
		}
	})
}

// A slow load under an earlier lease, of another process, lands before ours.
func TestEarlierRunIsWaitedFor(t *testing.T) {
	within(t, func(t *testing.T, server *bqtest.Server, s *Sink) {
		server.SetFaults(bqtest.Fault{Call: "jobs.insert", Kind: bqtest.FaultSlowJob, Delay: time.Hour},
			// Its process is as good as killed.
			bqtest.Fault{Call: "jobs.get", Kind: bqtest.FaultStatus, Reason: "accessDenied"},
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
		mustPut(t, other, earlier(testPart("2026-01-31", "second", "new"), "first"))
		mustHold(t, server, thePartition, "new")
		if took := time.Since(start); took < 55*time.Minute {
			t.Errorf("it took %v", took)
		}
		server.Advance(24 * time.Hour)
		mustHold(t, server, thePartition, "new")

		n := len(server.Jobs())
		mustPut(t, other, earlier(testPart("2026-01-31", "second", "newer"), "first"))
		if made := len(server.Jobs()) - n; made != 1 {
			t.Errorf("%d jobs for the second load under a lease", made)
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
		mustPut(t, openOn(t, server, testURL), earlier(testPart("2026-01-31", "second", "new"), "first"))
		mustHold(t, server, thePartition, "new")
		if n := len(asked(server, "jobs.get")); n < 10 {
			t.Errorf("the job was looked at %d times", n)
		}
	})
}

// An unknown outcome is waited for by the next Put of the same process too.
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
