package apps

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// progress is the document of a job: how far its apps have come.
type progress struct {
	Lease   *lease            `json:"lease,omitempty"` // of the run that applies the apps now, or was killed
	Checked lastCheck         `json:"checked,omitzero"`
	Apps    map[string]record `json:"apps,omitempty"` // by their IDs
}

// A lease says which run may apply the apps, and until when, by the store's clock.
type lease struct {
	Token string    `json:"token"`
	Run   string    `json:"run"`
	Task  string    `json:"task,omitempty"` // a later run of the same task takes the lease over at once
	Until time.Time `json:"until"`
}

// A record says how far one app has come.
type record struct {
	State   State             `json:"state"`
	Token   string            `json:"token,omitempty"`
	Ticket  string            `json:"ticket,omitempty"`  // of the current or the last migration
	Salt    string            `json:"salt"`              // of the sums
	New     bool              `json:"new,omitempty"`     // the app didn't exist when it was sent
	Again   bool              `json:"again,omitempty"`   // the last migration failed or was lost: ask for another
	Lost    int               `json:"lost,omitempty"`    // consecutive jobs for this declaration with unknown ends
	Sent    string            `json:"sent,omitempty"`    // sum of the declaration that was sent last
	Settled map[string]string `json:"settled,omitempty"` // differences that stay: path -> sum of both values
	Run     string            `json:"run"`
	At      time.Time         `json:"at"`
}

// A State is how far an app has come.
type State string

// The states of an app.
const (
	Sending State = "sending" // a request was about to be sent, and may have been
	Waiting State = "waiting" // for the migration of a ticket
	Done    State = "done"    // as declared
	Failed  State = "failed"  // the migration, or what follows it, failed
)

// A lastCheck says when all apps were last as declared, with a sum of the declarations.
type lastCheck struct {
	At   time.Time `json:"at"`
	Salt string    `json:"salt"`
	Sum  string    `json:"sum"`
}

// A writer writes to the document for one run, under the run's lease.
type writer struct {
	*ledger.Renewal
	ledger   *ledger.Ledger
	document *ledger.Document[progress]
	own      lease
}

// open leases the document. When another run has leased it, the error is a *ledger.HeldError.
func (k *Kind) open(ctx context.Context) (progress, *writer, error) {
	w := &writer{ledger: k.o.Ledger, document: k.document, own: lease{Token: rand.Text(), Run: k.o.Run,
		Task: k.o.Ledger.Task()}}
	w.Renewal = k.o.Ledger.NewRenewal(ctx, k.o.Table, func(ctx context.Context) error {
		return w.write(ctx,
			func(*progress) {})
	})
	err := w.change(ctx, func(p *progress, now time.Time) error {
		if l := p.Lease; l != nil && l.Token != w.own.Token && now.Before(l.Until) &&
			(l.Task == "" || l.Task != w.own.Task) {
			return &ledger.HeldError{Unit: unit, Run: l.Run, Until: l.Until, Free: l.Until.Sub(now)}
		}
		return w.renew(p, now)
	})
	if err != nil {
		return progress{}, nil, err
	}
	w.Start()
	return k.document.Last(), w, nil
}

// renew sets the lease to its full length from now on.
func (w *writer) renew(p *progress, now time.Time) error {
	own := w.own
	own.Until = now.Add(w.ledger.Lease())
	p.Lease = &own
	return nil
}

// change changes the document. It passes the time of the store's clock.
func (w *writer) change(ctx context.Context, change func(*progress, time.Time) error) error {
	return w.document.Change(ctx, ledger.Change[progress]{Apply: func(p *progress) error {
		now, _, err := w.ledger.Store().Now(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrBucket, err)
		}
		return change(p, now)
	}})
}

// write changes the document, unless another run has leased it, and renews the lease.
func (w *writer) write(ctx context.Context, edit func(*progress)) error {
	return w.change(ctx, func(p *progress, now time.Time) error {
		if p.Lease == nil || p.Lease.Token != w.own.Token {
			return fmt.Errorf("another run makes the apps by now: %w", ledger.ErrLost)
		}
		edit(p)
		return w.renew(p, now)
	})
}

// guard returns a context for one request, after it has renewed the lease: no other run applies the
// apps then.
func (w *writer) guard(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := w.write(ctx, func(*progress) {}); err != nil {
		return nil, nil, err
	}
	return w.Within(ctx)
}

// end gives the lease back.
func (w *writer) end(ctx context.Context) error {
	w.Stop()
	defer w.Lose(nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return w.change(ctx, func(p *progress, _ time.Time) error {
		if p.Lease == nil || p.Lease.Token != w.own.Token {
			return ledger.ErrNothing
		}
		p.Lease = nil
		return nil
	})
}

// writeApp records how far an app has come.
func (w *writer) writeApp(ctx context.Context, id string, r record) error {
	return w.write(ctx, func(p *progress) {
		if p.Apps == nil {
			p.Apps = map[string]record{}
		}
		p.Apps[id] = r
	})
}

// recordOf returns the record of an app, or a new one when there is none.
func (p progress) recordOf(a App) record {
	r, known := p.Apps[a.ID()]
	if !known {
		r.Salt = rand.Text()
	}
	return r
}

// A Known is what the ledger says about an app.
type Known struct {
	App    string    `json:"app"`
	State  State     `json:"state"`
	Token  string    `json:"token,omitempty"`
	Ticket string    `json:"ticket,omitempty"`
	Run    string    `json:"run"`
	At     time.Time `json:"at"`

	Otherwise []string `json:"otherwise,omitempty"` // fields that the service shows otherwise than sent, sorted
}

// Known returns what the ledger says about the job's apps, in order of their IDs. It asks the
// service nothing.
func (k *Kind) Known(ctx context.Context) ([]Known, error) {
	p, _, err := k.document.Load(ctx)
	var list []Known
	for id, r := range p.Apps {
		list = append(list, Known{App: id, State: r.State, Token: r.Token, Ticket: r.Ticket, Run: r.Run, At: r.At,
			Otherwise: slices.Sorted(maps.Keys(r.Settled))})
	}
	slices.SortFunc(list, func(a, b Known) int { return strings.Compare(a.App, b.App) })
	return list, err
}
