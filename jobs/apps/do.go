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

// ErrMigration says that the service accepted an app and didn't make it as it is declared.
var ErrMigration = errors.New("the migration failed")

// An attempt makes one app as it is declared.
type attempt struct {
	k      *Kind
	app    App
	mem    record
	to     *writer
	client *adjust.Client
	finder *finder
	rep    Report
	sent   bool // something was, by this run
	lost   bool // nobody saw how the last job ended
}

// do compares the app, sends what differs, waits for the migration, and sends what follows it. Each
// step is recorded before it is taken, so that the next run continues after a crash; therefore
// every request may be sent twice.
func (w *attempt) do(ctx context.Context) Report {
	w.rep = Report{ID: w.app.ID(), Name: w.app.Name, Result: Unchanged, Ticket: w.mem.Ticket, Token: w.mem.Token}
	if err := w.steps(ctx); err != nil {
		w.rep.Err = fmt.Errorf("apply app %s: %w", w.app.ID(), err)
	}
	return w.rep
}

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
	enough := w.lost && w.mem.Lost >= mostLost && s.exists && !w.k.o.Migrate // what still differs stands
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
		case !s.exists: // not yet
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

func ofApp(c Change) bool { return c.by == byApp }

// anew tells whether a new job is asked for at once.
func (w *attempt) anew() bool { return slices.Contains(w.k.o.NewTicket, w.app.ID()) }

// read asks the service for the app. After this run has sent something, what was listed before it
// doesn't count.
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

// touched notes that the app wasn't as declared.
func (w *attempt) touched() {
	if w.rep.Result == Unchanged {
		w.rep.Result = Changed
	}
	if w.mem.New {
		w.rep.Result = Created
	}
}

// needsApp tells whether the app must be sent: for a field that the request carries, or because
// nobody knows how the last one ended.
func (w *attempt) needsApp(s state) bool {
	return !s.exists || w.k.o.Migrate || w.anew() || w.mem.Again || w.mem.State == Sending || w.mem.State == Waiting ||
		slices.ContainsFunc(w.rep.Changes, ofApp)
}

// send makes or updates the app, and waits for the migration.
func (w *attempt) send(ctx context.Context, s state) error {
	r := w.app.request()
	if w.mem.Sent != w.app.sum(w.mem.Salt) {
		w.mem.Lost = 0
	}
	// A killed run was making this app. The migration of its creation is enough.
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

// post makes the request by the app's token, or by its store.
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

func (w *attempt) save(ctx context.Context) error {
	w.mem.Run, w.mem.At = w.k.o.Run, time.Now().UTC()
	return w.to.writeApp(ctx, w.app.ID(), w.mem)
}

// follow sends what a migration doesn't carry, and records the app as it then is.
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

// conclude records what differs though everything was sent. It writes nothing when nothing is new.
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
