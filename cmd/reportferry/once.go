package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// once does one run:
//
//	jobs ─ credential ─ clock ─ plans ─ quotas ─ record begun ─ units ─ record ended ─ listeners
//
// Its exit code is also in the run's record. An error means that no unit was begun. The first
// listener writes the record's end.
func once(ctx context.Context, e *wire.Engine, r wire.Request, l *listeners) (code int, err error) {
	// The telemetry step, the deadline, and an interruption before any unit.
	ctx, about := step.Begin(ctx, step.Run)
	show, ran := l.display, &wire.RunInfo{}
	defer func() { endStep(about, ran.Record, code, err) }()
	if !r.Stop.IsZero() {
		var release context.CancelFunc
		ctx, release = context.WithCancel(ctx)
		defer release()
		defer time.AfterFunc(time.Until(r.Stop), release).Stop()
	}
	defer func() {
		if err != nil && jobs.Stopped(ctx) && errors.Is(err, context.Canceled) {
			show.log.Info("interrupted before anything was begun")
			code, err = jobs.ExitInterrupted, nil
		}
	}()
	// The session, whose log, display and spool folder are those of this run.
	s := e.NewRun()
	ctx = step.OfRun(ctx, s.RunID)
	s.Log = e.Traced(ctx, s.Log)
	show.log = e.Traced(ctx, show.log.With("run", s.RunID))
	l.log = show.log
	s.Progress = show.messages()
	show.beginRun(s.RunID)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.OpenSpool(); err != nil {
		return 0, err
	}
	// The jobs, and what has to be right before anything is planned.
	list, err := r.Jobs(ctx, s)
	if err != nil {
		return 0, err
	}
	if !r.Offline { // a missing credential must leave nothing behind
		if err := s.Credentials(ctx, list); err != nil {
			return 0, err
		}
	}
	if err := checkClock(ctx, s); err != nil {
		return 0, err
	}
	// The plans, and warnings about them.
	plans := s.Task.Part().Plan(ctx, e.Bounds, list, time.Now())
	show.units, show.waits, show.accounts = see.UnitNames(s.Config), s.Waits, accountsOf(list)
	if first := startingJobs(list, plans); len(first) > 0 {
		s.Warn(first)
	}
	_ = quotas(s.Log, list, plans) // errors are in the plans
	// The record of the beginning, and then the units.
	about.Set(attribute.String("reportferry.run.id", s.RunID), attribute.String("reportferry.trigger", r.Trigger))
	ran.Record = ledger.Run{ID: s.RunID, Trigger: r.Trigger, Started: time.Now().UTC()}
	ran.Session = s
	if err := recordBegin(ctx, ran, plans); err != nil {
		return 0, err
	}
	ran.List, ran.Plans = jobs.Own(plans, list), jobs.Own(plans, plans)
	l.begun(ctx, ran)
	runner := &jobs.Runner{
		Run: s.RunID, Lease: s.Config.Lease, Parallel: e.Parallel(), Bounds: e.Bounds, Deadline: r.Stop,
		Log: show.log, Observe: show.progress, Over: r.Over,
	}
	ran.Record.Results = jobs.Own(plans, runner.RunJobs(ctx, list, plans))
	ran.List, ran.Plans = jobs.Own(plans, list), jobs.Own(plans, plans)
	ran.Record.Exit = jobs.ExitCode(ran.Record.Results, jobs.Stopped(ctx), r.Named && s.Task.Alone())
	l.ended(ctx, ran)
	return ran.Record.Exit, nil
}

// endStep ends the run's telemetry step, with the exit code and, after a failure, its reason.
func endStep(about step.Step, r ledger.Run, code int, err error) {
	errs := []error{err}
	if err != nil {
		code = text.ExitCode(err)
	}
	for _, res := range r.Results {
		errs = append(errs, res.Errs...)
	}
	about.Set(attribute.Int("reportferry.exit_code", code))
	switch err := errors.Join(errs...); {
	case code == jobs.ExitInterrupted:
		about.Set(attribute.Bool("reportferry.stopped", true))
	case err != nil:
		about.Fail(text.FailureReason(err))
	case code != jobs.ExitDone && code != jobs.ExitHeld:
		about.Fail("incomplete") // the data is published, but not all that the config asks for
	}
	about.End(nil)
}

// startingJobs returns the names of the jobs whose first due partition is missing, as it is when a
// table begins. The caller warns about what is probably a mistake in their config now, while it is
// easy to change. A table without days is therefore warned about once, and not each night.
func startingJobs(list []jobs.Job, plans []jobs.Planned) (names []string) {
	for i, p := range plans {
		if len(p.Units) > 0 && len(p.Units[0].Due) > 0 && p.Units[0].Due[0].Reason == refresh.Missing {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// recordBegin writes the run's record before the run does anything. A run that has nothing to do is
// recorded once, at its end; for it, recordBegin only reads the past runs.
func recordBegin(ctx context.Context, ran *wire.RunInfo, plans []jobs.Planned) error {
	if slices.ContainsFunc(plans, func(p jobs.Planned) bool { return len(p.Units) > 0 }) {
		return saveRecord(ctx, ran)
	}
	err := ran.Ledger.ReadRuns(ctx, ran.Record.Started)
	if damaged := new(ledger.DamagedError); errors.As(err, &damaged) {
		return nil // the end of the run reports the damage
	}
	return err
}

// saveRecord writes the run's record. A damaged month of records doesn't stop the run, because no
// table needs the record. The damage is reported in the log, in the result and in the last lines.
func saveRecord(ctx context.Context, ran *wire.RunInfo) error {
	err := ran.Ledger.SaveRun(ctx, ran.Record)
	var damaged *ledger.DamagedError
	if !errors.As(err, &damaged) {
		ran.Unrecorded = ""
		return err
	}
	if ran.Unrecorded == "" {
		ran.Log.Warn("the run goes on without a record", "error", damaged)
	}
	ran.Unrecorded = damaged.Error()
	return nil
}

// recordEnd writes how the run ended. It waits for other runs that write the same document, but no
// longer than 3 seconds once the process was told to stop.
func recordEnd(ctx context.Context, ran *wire.RunInfo) error {
	stopped := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(stopped, func() { time.AfterFunc(3*time.Second, cancel) })()
	r, ended := &ran.Record, time.Now().UTC()
	r.Ended = &ended
	for _, res := range r.Results {
		for _, g := range grouped(res.Errs) {
			// The text is escaped so that printing the ledger's JSON is safe from control
			// characters.
			r.Errors = append(r.Errors, res.Job+": "+terminal.Text(g))
		}
	}
	for _, res := range r.Results {
		if slices.ContainsFunc(res.Errs, func(err error) bool { return errors.Is(err, adjust.ErrClock) }) {
			return ran.Ledger.ForgetRun(ctx, *r) // IDs sort by date, so a future record would stay the newest
		}
	}
	return saveRecord(ctx, ran)
}

// checkClock compares this machine's clock with that of the ledger's bucket, and returns an error
// when they are far apart. A folder has no clock of its own, so there the start of its last run is
// used, and only a warning is logged. The service's clock is compared by the client, with each
// answer.
func checkClock(ctx context.Context, s *wire.Session) error {
	theirs, known, err := s.Ledger.Clock(ctx)
	if err != nil {
		return err
	}
	if known {
		warning, err := transport.CheckClock("the ledger's bucket", theirs, time.Now())
		if warning != "" {
			s.Log.Warn(warning)
		}
		return err
	}
	past, err := s.Ledger.Past(ctx, 1)
	if err != nil || len(past.Runs) == 0 {
		return nil //nolint:nilerr // SaveRun reports the same trouble in a moment
	}
	last := past.Runs[0]
	if now := time.Now(); last.Started.Sub(now) > transport.ClockRefuses {
		s.Log.Warn("the ledger's last run began at "+last.Started.UTC().Format(time.RFC3339)+", which is in the "+
			"future by this machine's clock: "+
			"it is wrong now, or was then", "run", last.ID)
	}
	return nil
}
