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

// progress is the document of a job: how far its apps are.
type progress struct {
	Writer  string            `json:"writer,omitempty"` // a token of the run that wrote last; what another run has planned on before is refused
	Checked checked           `json:"checked,omitzero"`
	Apps    map[string]record `json:"apps,omitempty"` // by their IDs
}

// A record is how far one app is.
type record struct {
	State   State             `json:"state"`
	Token   string            `json:"token,omitempty"`
	Ticket  string            `json:"ticket,omitempty"`  // of the migration that is under way, or was the last
	Salt    string            `json:"salt"`              // of the sums
	New     bool              `json:"new,omitempty"`     // there was no such app when it was sent
	Again   bool              `json:"again,omitempty"`   // the last migration failed, or is forgotten: ask for another
	Lost    int               `json:"lost,omitempty"`    // jobs for this declaration in a row whose end nobody saw
	Sent    string            `json:"sent,omitempty"`    // sum of the declaration that was sent last
	Settled map[string]string `json:"settled,omitempty"` // changes that stand: path -> sum of both values
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

// checked is when all apps were last as declared, and a sum of the declarations.
type checked struct {
	At   time.Time `json:"at"`
	Salt string    `json:"salt"`
	Sum  string    `json:"sum"`
}

// A writer is what one run writes to the document.
type writer struct {
	document      *ledger.Document[progress]
	before, token string // whose the document was when this run read it, and this run's own
}

// open reads the document, and gives what writes to it. The first write of a run makes the document its own.
func (k *Kind) open(ctx context.Context) (progress, *writer, error) {
	p, _, err := k.document.Load(ctx)
	return p, &writer{k.document, p.Writer, rand.Text()}, err
}

// write changes the document, unless another run has since it was read.
func (w *writer) write(ctx context.Context, edit func(*progress)) error {
	return w.document.Change(ctx, ledger.Change[progress]{Apply: func(p *progress) error {
		if p.Writer != w.before && p.Writer != w.token {
			return fmt.Errorf("how far the apps are was written by another run: %w", ledger.ErrLost)
		}
		p.Writer = w.token
		edit(p)
		return nil
	}})
}

// writeApp records how far an app is.
func (w *writer) writeApp(ctx context.Context, id string, r record) error {
	return w.write(ctx, func(p *progress) {
		if p.Apps == nil {
			p.Apps = map[string]record{}
		}
		p.Apps[id] = r
	})
}

// of is the record of an app; a new one when there is none.
func (p progress) recordOf(a App) record {
	r, known := p.Apps[a.ID()]
	if !known {
		r.Salt = rand.Text()
	}
	return r
}

// A Known app is what the ledger says of one.
type Known struct {
	App    string    `json:"app"`
	State  State     `json:"state"`
	Token  string    `json:"token,omitempty"`
	Ticket string    `json:"ticket,omitempty"`
	Run    string    `json:"run"`
	At     time.Time `json:"at"`

	Otherwise []string `json:"otherwise,omitempty"` // fields that the service took and shows otherwise, ascending
}

// Known is what the ledger says of the job's apps, in order of their IDs. Nothing is asked of the service.
func (k *Kind) Known(ctx context.Context) ([]Known, error) {
	p, _, err := k.document.Load(ctx)
	var list []Known
	for id, r := range p.Apps {
		list = append(list, Known{App: id, State: r.State, Token: r.Token, Ticket: r.Ticket, Run: r.Run, At: r.At, Otherwise: slices.Sorted(maps.Keys(r.Settled))})
	}
	slices.SortFunc(list, func(a, b Known) int { return strings.Compare(a.App, b.App) })
	return list, err
}
