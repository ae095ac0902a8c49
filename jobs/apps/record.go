package apps

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A record is what the ledger keeps of one app:
//
//	tables/{table}/apps/app/{key}/{n}.json   the highest n holds; the others are dropped
//	tables/{table}/apps/checked/{n}.json     when all apps were last as declared, and a sum of the declarations
type record struct {
	signature
	App     string            `json:"app"` // its ID
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

type checked struct {
	signature
	At   time.Time `json:"at"`
	Salt string    `json:"salt"`
	Sum  string    `json:"sum"`
}

// A signature tells one object from every other, so that its writer knows it again when the answer to its creation was
// lost.
type signature struct {
	Writer string `json:"writer,omitempty"`
}

func (s *signature) sign() *signature {
	s.Writer = rand.Text()
	return s
}

// A place is where a record is, and its number.
type place struct {
	folder *ledger.Folder
	under  string // ends in a slash
	n      int
}

// write makes content the newest record. Only the holder of the claim writes, so a number that another writer has, or a
// higher one, means that the claim was lost.
func (p *place) write(ctx context.Context, content interface{ sign() *signature }) error {
	content.sign()
	holds, err := p.folder.Create(ctx, fmt.Sprintf("%s%06d.json", p.under, p.n+1), content)
	if err == nil && holds {
		holds, err = p.folder.Holds(ctx, nil, p.under, p.n+1)
	}
	if err != nil {
		return err
	}
	if !holds {
		return fmt.Errorf("%s was written by another run: %w", p.folder.Location(p.under), ledger.ErrLost)
	}
	p.n++
	if p.n > 1 {
		_ = p.folder.Drop(ctx, fmt.Sprintf("%s%06d.json", p.under, p.n-1)) // if it stays it does no harm: its number is lower
	}
	return nil
}

// find gives the newest number under each folder of the prefix.
func find(ctx context.Context, folder *ledger.Folder, prefix string) (map[string]int, error) {
	keys, err := folder.Keys(ctx, prefix)
	newest := map[string]int{}
	for _, key := range keys {
		if n := ledger.NumberOf(key); n > 0 {
			newest[path.Dir(key)] = max(newest[path.Dir(key)], n)
		}
	}
	return newest, err
}

// A remembered app is its record, and where that stands.
type remembered struct {
	record
	place place
}

// again repeats read as long as an object that it lists is gone when it is read: another run may be writing.
func again(read func() error) (err error) {
	for range 5 {
		if err = read(); gcerrors.Code(err) != gcerrors.NotFound {
			return err
		}
	}
	return err
}

// records reads what is known of apps, by their keys.
func (k *Kind) records(ctx context.Context) (all map[string]*remembered, err error) {
	err = again(func() error {
		all, err = k.readRecords(ctx)
		return err
	})
	return all, err
}

func (k *Kind) readRecords(ctx context.Context) (map[string]*remembered, error) {
	newest, err := find(ctx, k.folder, "app/")
	if err != nil {
		return nil, err
	}
	all := map[string]*remembered{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for under, n := range newest {
		r := &remembered{place: place{k.folder, under + "/", n}}
		all[strings.TrimPrefix(under, "app/")] = r
		g.Go(func() error { return k.folder.Read(ctx, fmt.Sprintf("%s/%06d.json", under, n), &r.record) })
	}
	return all, g.Wait()
}

// of is the record of an app; a new one when there is none.
func (k *Kind) of(a App, all map[string]*remembered) *remembered {
	if r := all[a.key()]; r != nil {
		return r
	}
	return &remembered{record: record{App: a.ID(), Salt: rand.Text()}, place: place{folder: k.folder, under: "app/" + a.key() + "/"}}
}

// lastCheck is when all apps were last as declared.
func (k *Kind) lastCheck(ctx context.Context) (c checked, p place, err error) {
	err = again(func() error {
		newest, err := find(ctx, k.folder, "checked/")
		p = place{k.folder, "checked/", newest["checked"]}
		if err == nil && p.n > 0 {
			err = k.folder.Read(ctx, fmt.Sprintf("checked/%06d.json", p.n), &c)
		}
		return err
	})
	return c, p, err
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
	all, err := k.records(ctx)
	var list []Known
	for _, r := range all {
		list = append(list, Known{App: r.App, State: r.State, Token: r.Token, Ticket: r.Ticket, Run: r.Run, At: r.At, Otherwise: slices.Sorted(maps.Keys(r.Settled))})
	}
	slices.SortFunc(list, func(a, b Known) int { return strings.Compare(a.App, b.App) })
	return list, err
}
