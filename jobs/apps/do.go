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
	k      *Kind
	app    App
	mem    record // the app's record in the ledger
	to     *writer
	client *adjust.Client
	finder *finder
	rep    Report
	sent   bool // this run has sent something
	lost   bool // it isn't known how the last job ended
}

// do compares the app, sends what differs, waits for the migration, and sends what must follow it.
// Each step is recorded before it is taken, so that the next run continues after a crash. Therefore
// every request may be sent twice.
func (w *attempt) do(ctx context.Context) Report {
	w.rep = Report{ID: w.app.ID(), Name: w.app.Name, Result: Unchanged, Ticket: w.mem.Ticket, Token: w.mem.Token}
	if err := w.steps(ctx); err != nil {
		w.rep.Err = fmt.Errorf("apply app %s: %w", w.app.ID(), err)
	}
	return w.rep
}

// steps does the work of do, and leaves the result in w.rep.
func (w *attempt) steps(ctx context.Context) error {
	if w.mem.State == Waiting && w.mem.Sent == w.app.sum(w.mem.Salt) && !w.anew() {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	s, err := w.read(ctx)
	if err != nil {
		return err
	}
	w.rep.Changes = unsent(w.app, s, w.mem)
	enough := w.lost && w.mem.Lost >= mostLost && s.exists && !w.k.o.Migrate // no further job is asked for
	switch {
	case !w.needsApp(s) && s.barred != nil:
		return fmt.Errorf("whether it is as declared can't be read: %w", s.barred)
	case w.needsApp(s) && !enough:
		w.rep.Warning = s.warning(w.app)
		if err := w.send(ctx, s); err != nil {
			return err
		}
		if s, err = w.read(ctx); err != nil {
			return err
		}
		switch {
		case !s.exists && w.mem.Token == "":
			return w.failed(ctx, false, fmt.Errorf("%w: the service took the app, and shows none", ErrMigration))
		case !s.exists: // it has a token, and the service doesn't show it yet
			s.exists, s.blind, s.details.AppToken = true, true, w.mem.Token
		}
		if w.lost && w.mem.Lost < mostLost && slices.ContainsFunc(unsent(w.app, s, w.mem), ofApp) {
			return w.failed(ctx, true,
				fmt.Errorf("%w: nobody saw how it ended (%s), and the app still differs; the next run asks for "+
					"another, "+
					"apps apply --new-ticket %s at once", ErrMigration, strings.Join(w.rep.Seen, "; "), w.app.ID()))
		}
	}
	return w.follow(ctx, s)
}

// ofApp reports whether a change is sent with the app itself, and not by a request that follows it.
func ofApp(c Change) bool { return c.by == byApp }

// anew reports whether the run is to ask for a new job at once.
func (w *attempt) anew() bool { return slices.Contains(w.k.o.NewTicket, w.app.ID()) }

// read asks the service for the app. After this run has sent something, it doesn't use the list of
// apps that was read before.
func (w *attempt) read(ctx context.Context) (state, error) {
	f := w.finder
	if w.sent {
		f = &finder{client: w.client}
	}
	s, err := f.read(ctx, w.app, w.mem.Token)
	w.rep.saw(w.app.scrub(s.seen))
	w.rep.barred = s.barred != nil
	return s, err
}

// touched notes in the report that the app was created or changed.
func (w *attempt) touched() {
	if w.rep.Result == Unchanged {
		w.rep.Result = Changed
	}
	if w.mem.New {
		w.rep.Result = Created
	}
}

// needsApp reports whether the app must be sent: because a field of that request differs, because
// how the last request ended isn't known, or because it was asked for.
func (w *attempt) needsApp(s state) bool {
	return !s.exists || w.k.o.Migrate || w.anew() || w.mem.Again || w.mem.State == Sending || w.mem.State == Waiting ||
		slices.ContainsFunc(w.rep.Changes, ofApp)
}

// send creates or updates the app, and waits for the migration.
func (w *attempt) send(ctx context.Context, s state) error {
	r := w.app.request()
	if w.mem.Sent != w.app.sum(w.mem.Salt) {
		w.mem.Lost = 0
	}
	// If a killed run was creating this app, the migration of the creation is enough.
	making := w.mem.State == Sending && w.mem.New
	r.ForceUpdate = s.exists && (w.anew() || !making &&
		(w.k.o.Migrate || w.mem.Again || w.mem.Lost > 0 || slices.ContainsFunc(w.rep.Changes,
			func(c Change) bool { return c.migrates })))
	switch {
	case r.ChannelSetup == nil && s.blind && w.app.Token == "":
		return fmt.Errorf("%w: the service doesn't show the app's channel setup, which a request replaces; declare "+
			"channel_setup", ErrMigration)
	case r.ChannelSetup == nil && s.exists:
		r.ChannelSetup = s.details.ChannelSetup // what isn't sent is cleared
	}
	before := "" // the ticket of a job that is over
	if w.mem.State == Done || w.mem.State == Failed {
		before = w.mem.Ticket
	}
	w.mem.State, w.mem.Sent, w.mem.New = Sending, w.app.sum(w.mem.Salt), making || !s.exists
	w.touched()
	if err := w.save(ctx); err != nil {
		return err
	}
	guarded, done, err := w.to.guard(ctx)
	if err != nil {
		return err
	}
	defer done()
	created, err := w.post(guarded, r)
	if err != nil {
		return err
	}
	w.sent = true
	w.mem.State, w.mem.Token, w.mem.Ticket, w.mem.Again = Waiting, cmp.Or(created.AppToken, w.mem.Token),
		created.Ticket, false
	w.rep.Token, w.rep.Ticket = w.mem.Token, created.Ticket
	if err := w.save(ctx); err != nil {
		return err
	}
	if created.Ticket == before && !r.ForceUpdate { // no job was needed
		w.mem.State = Done
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
	w.mem.State, w.mem.Again, w.mem.New = Failed, again, false
	return errors.Join(why, w.save(ctx))
}

// save writes the app's record.
func (w *attempt) save(ctx context.Context) error {
	w.mem.Run, w.mem.At = w.k.o.Run, time.Now().UTC()
	return w.to.writeApp(ctx, w.app.ID(), w.mem)
}

// follow sends what a migration doesn't include, events and the signature, and records the app as
// it is then.
func (w *attempt) follow(ctx context.Context, s state) error {
	changes, _ := differences(w.app, s, w.mem)
	again := false
	for _, step := range []struct {
		by   request
		send func(context.Context, state, []Change) error
	}{{byEvents, w.events}, {bySignature, w.signature}} {
		mine := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.by != step.by })
		if len(mine) == 0 {
			continue
		}
		guarded, done, err := w.to.guard(ctx)
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
		w.touched()
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
	left, stood := differences(w.app, s, w.mem)
	if !w.sent && len(left) == 0 && w.mem.State == Done {
		w.rep.Otherwise = visible(stood)
		return nil
	}
	all := append(left, stood...)
	w.rep.Otherwise = visible(all)
	w.mem.Settled = map[string]string{}
	for _, c := range all {
		w.mem.Settled[c.Path] = c.sum
	}
	w.mem.State, w.mem.New, w.mem.Again, w.mem.Lost, w.mem.Token = Done, false, false, 0,
		cmp.Or(s.details.AppToken, w.mem.Token)
	w.rep.Token = w.mem.Token
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
	w.rep.Sections = append(w.rep.Sections, section)
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
		w.rep.Sections = append(w.rep.Sections, Section{Name: "declared signature", Successes: fieldsOf(changes)})
	}
	return err
}

func fieldsOf(changes []Change) (names []string) {
	for _, c := range changes {
		names = append(names, strings.TrimPrefix(c.Path, "signature."))
	}
	return names
}
