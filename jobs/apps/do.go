package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
)

// ErrMigration says that the service accepted an app, but the app isn't as it is declared.
var ErrMigration = errors.New("the migration failed")

// An attempt brings one app to its declared state.
type attempt struct {
	kind       *Kind
	app        App
	record     record  // the app's record in the ledger
	writer     *writer // writes the record
	client     *adjust.Client
	finder     *finder
	report     Report
	sent       bool // this run has sent something
	endUnknown bool // it isn't known how the last job ended
}

// do compares the app, sends what differs, waits for the migration, and sends what must follow it.
// Each step is recorded before it is taken, so that the next run continues after a crash. Therefore
// every request may be sent twice.
func (w *attempt) do(ctx context.Context) Report {
	w.report = Report{ID: w.app.ID(), Name: w.app.Name, Result: Unchanged, Ticket: w.record.Ticket,
		Token: w.record.Token}
	if err := w.steps(ctx); err != nil {
		w.report.Err = fmt.Errorf("apply app %s: %w", w.app.ID(), err)
	}
	return w.report
}

// steps does the work of do, and leaves the result in w.report.
func (w *attempt) steps(ctx context.Context) error {
	// A migration that an earlier run asked for comes first.
	if w.record.State == Waiting && w.record.Sent == w.app.sum(w.record.Salt) && !w.asksNewTicket() {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	// What differs is sent, and the app is read again.
	s, err := w.read(ctx)
	if err != nil {
		return err
	}
	w.report.Changes = unsent(w.app, s, w.record)
	noFurtherJob := w.endUnknown && w.record.Lost >= mostLost && s.exists && !w.kind.o.Migrate
	switch {
	case !w.needsApp(s) && s.refusal != nil:
		return fmt.Errorf("whether it is as declared can't be read: %w", s.refusal)
	case w.needsApp(s) && !noFurtherJob:
		w.report.Warning = s.warning(w.app)
		if err := w.send(ctx, s); err != nil {
			return err
		}
		if s, err = w.read(ctx); err != nil {
			return err
		}
		switch {
		case !s.exists && w.record.Token == "":
			return w.failed(ctx, false, fmt.Errorf("%w: the service took the app, and shows none", ErrMigration))
		case !s.exists: // it has a token, and the service doesn't show it yet
			s.exists, s.opaque, s.details.AppToken = true, true, w.record.Token
		}
		if w.endUnknown && w.record.Lost < mostLost && slices.ContainsFunc(unsent(w.app, s, w.record), ofApp) {
			return w.failed(ctx, true,
				fmt.Errorf("%w: nobody saw how it ended (%s), and the app still differs; the next run asks for "+
					"another, "+
					"apps apply --new-ticket %s at once", ErrMigration, strings.Join(w.report.Seen, "; "), w.app.ID()))
		}
	}
	return w.follow(ctx, s)
}

// ofApp reports whether a change is sent with the app itself, and not by a request that follows it.
func ofApp(c Change) bool { return c.sentBy == byApp }

// asksNewTicket reports whether the run is to ask for a new job at once.
func (w *attempt) asksNewTicket() bool { return slices.Contains(w.kind.o.NewTicket, w.app.ID()) }

// read asks the service for the app. After this run has sent something, it doesn't use the list of
// apps that was read before.
func (w *attempt) read(ctx context.Context) (state, error) {
	f := w.finder
	if w.sent {
		f = &finder{client: w.client}
	}
	s, err := f.read(ctx, w.app, w.record.Token)
	w.report.addSeen(w.app.scrub(s.unclear))
	w.report.readRefused = s.refusal != nil
	return s, err
}

// reportChange notes in the report that the app was created or changed.
func (w *attempt) reportChange() {
	if w.report.Result == Unchanged {
		w.report.Result = Changed
	}
	if w.record.New {
		w.report.Result = Created
	}
}

// needsApp reports whether the app must be sent: because a field of that request differs, because
// how the last request ended isn't known, or because it was asked for.
func (w *attempt) needsApp(s state) bool {
	return !s.exists || w.kind.o.Migrate || w.asksNewTicket() || w.record.Again || w.record.State == Sending ||
		w.record.State == Waiting || slices.ContainsFunc(w.report.Changes, ofApp)
}

// send creates or updates the app, and waits for the migration.
func (w *attempt) send(ctx context.Context, s state) error {
	r := w.app.request()
	if w.record.Sent != w.app.sum(w.record.Salt) {
		w.record.Lost = 0
	}
	// If a killed run was creating this app, the migration of the creation is enough.
	creating := w.record.State == Sending && w.record.New
	r.ForceUpdate = s.exists && (w.asksNewTicket() || !creating &&
		(w.kind.o.Migrate || w.record.Again || w.record.Lost > 0 || slices.ContainsFunc(w.report.Changes,
			func(c Change) bool { return c.migrates })))
	switch {
	case r.ChannelSetup == nil && s.opaque && w.app.Token == "":
		return fmt.Errorf("%w: the service doesn't show the app's channel setup, which a request replaces; declare "+
			"channel_setup", ErrMigration)
	case r.ChannelSetup == nil && s.exists:
		r.ChannelSetup = s.details.ChannelSetup // what isn't sent is cleared
	}
	// The record says that the request is about to be sent.
	before := "" // the ticket of a job that is over
	if w.record.State == Done || w.record.State == Failed {
		before = w.record.Ticket
	}
	w.record.State, w.record.Sent, w.record.New = Sending, w.app.sum(w.record.Salt), creating || !s.exists
	w.reportChange()
	if err := w.save(ctx); err != nil {
		return err
	}
	guarded, done, err := w.writer.guard(ctx)
	if err != nil {
		return err
	}
	defer done()
	created, err := w.post(guarded, r)
	if err != nil {
		return err
	}
	w.sent = true
	w.record.State, w.record.Token, w.record.Ticket, w.record.Again = Waiting, cmp.Or(created.AppToken, w.record.Token),
		created.Ticket, false
	w.report.Token, w.report.Ticket = w.record.Token, created.Ticket
	if err := w.save(ctx); err != nil {
		return err
	}
	if created.Ticket == before && !r.ForceUpdate { // no job was needed
		w.record.State = Done
		return nil
	}
	return w.wait(ctx)
}

// post sends the request by the app's token, or by its store.
func (w *attempt) post(ctx context.Context, r adjust.App) (adjust.CreatedApp, error) {
	if w.app.Token != "" {
		return w.client.UpdateApp(ctx, w.app.Token, r)
	}
	return w.client.CreateApp(ctx, r)
}

// failed records that the app isn't as declared, and why.
func (w *attempt) failed(ctx context.Context, again bool, why error) error {
	w.record.State, w.record.Again, w.record.New = Failed, again, false
	return errors.Join(why, w.save(ctx))
}

// save writes the app's record.
func (w *attempt) save(ctx context.Context) error {
	w.record.Run, w.record.At = w.kind.o.Run, time.Now().UTC()
	return w.writer.writeApp(ctx, w.app.ID(), w.record)
}

// follow sends what a migration doesn't include, events and the signature, and records the app as
// it is then.
func (w *attempt) follow(ctx context.Context, s state) error {
	changes, _ := differences(w.app, s, w.record)
	again := false
	for _, step := range []struct {
		by   request
		send func(context.Context, state, []Change) error
	}{{byEvents, w.events}, {bySignature, w.signature}} {
		mine := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.sentBy != step.by })
		if len(mine) == 0 {
			continue
		}
		guarded, done, err := w.writer.guard(ctx)
		if err != nil {
			return err
		}
		err = step.send(guarded, s, mine)
		done()
		if err != nil {
			return err
		}
		again = true
	}
	if again {
		w.sent = true
		w.reportChange()
		var err error
		if s, err = w.read(ctx); err != nil {
			return err
		}
	}
	return w.conclude(ctx, s)
}

// conclude records what still differs although everything was sent. It writes nothing when nothing
// has changed.
func (w *attempt) conclude(ctx context.Context, s state) error {
	left, staying := differences(w.app, s, w.record)
	if !w.sent && len(left) == 0 && w.record.State == Done {
		w.report.Otherwise = visible(staying)
		return nil
	}
	all := append(left, staying...)
	w.report.Otherwise = visible(all)
	w.record.Settled = map[string]string{}
	for _, c := range all {
		w.record.Settled[c.Path] = c.sum
	}
	w.record.State, w.record.New, w.record.Again, w.record.Lost, w.record.Token = Done, false, false, 0,
		cmp.Or(s.details.AppToken, w.record.Token)
	w.report.Token = w.record.Token
	return w.save(ctx)
}

// events creates or updates the declared events that differ.
func (w *attempt) events(ctx context.Context, s state, changes []Change) error {
	var list []adjust.EventSpec
	for _, e := range w.app.Events {
		unique, there := s.events[e.Name]
		if !there || unique != e.Unique {
			list = append(list, adjust.EventSpec{Name: e.Name, Unique: e.Unique})
		}
	}
	done, err := w.client.SubmitEvents(ctx, []string{s.details.AppToken}, list)
	if err != nil {
		return err
	}
	section := Section{Name: "declared events"}
	for _, e := range done.Successes {
		section.Successes = append(section.Successes, w.app.scrub(e.Event.Name))
	}
	for _, f := range done.Failures {
		section.Failures = append(section.Failures, w.app.scrub(f.Name+": "+string(f.Details)))
	}
	w.report.Sections = append(w.report.Sections, section)
	if why := failures([]Section{section}); why != "" {
		return w.failed(ctx, false, fmt.Errorf("%w: %s", ErrMigration, why))
	}
	return nil
}

// signature updates the declared signature settings.
func (w *attempt) signature(ctx context.Context, s state, changes []Change) error {
	_, err := w.client.UpdateSignature(ctx, s.details.AppToken, adjust.SignatureSettings{
		EnforceInstallSigning: w.app.Signature.Enforce, AndroidFingerprints: w.app.Signature.Fingerprints,
	})
	if err == nil {
		w.report.Sections = append(w.report.Sections, Section{Name: "declared signature", Successes: fieldsOf(changes)})
	}
	return err
}

// fieldsOf returns the names of the signature settings that changes are about.
func fieldsOf(changes []Change) (names []string) {
	for _, c := range changes {
		names = append(names, strings.TrimPrefix(c.Path, "signature."))
	}
	return names
}
