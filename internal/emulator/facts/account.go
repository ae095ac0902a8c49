package facts

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/store"
)

// Account is the apps and events of one moment. It doesn't change: a declaration makes another
// Account, and an answer is made from the one with which it began. Apps keep their indexes, and
// none is removed.
type Account struct {
	Apps    []App
	MadeUp  int // so many of Apps come from the seed; those behind them were declared
	Catalog Catalog

	names *Names
}

// Find returns the index of an app, or -1.
func (a *Account) Find(token string) int {
	return slices.IndexFunc(a.Apps, func(app App) bool { return app.Token == token })
}

// Declared is an app as app automation has it.
type Declared struct {
	Token, Name, Platform, StoreID string
	Events                         []AppEvent // their slugs don't matter
}

// Edit is a transaction that may declare things. Once it is committed, its account is the world's.
type Edit struct {
	*sql.Tx
	world   *World
	account *Account
	copied  bool // account is a copy that nobody else has, and may be changed
}

// Change runs do in a transaction of the world's database, which an error of do undoes: nobody else
// writes meanwhile.
func (w *World) Change(ctx context.Context, do func(*Edit) error) error {
	var e *Edit
	return w.Store.Change(ctx, func(tx *sql.Tx) error {
		e = &Edit{Tx: tx, world: w, account: w.Account()}
		return do(e)
	}, func() { w.account.Store(e.account) })
}

// Declare adds an app of app automation to the account, or updates it. A new app has traffic from
// yesterday on, so that reports of whole days show it at once. A known one gets the name and the
// events that it lacks. No event is removed.
func (e *Edit) Declare(ctx context.Context, d Declared, today int) error {
	i := e.account.Find(d.Token)
	if i < 0 {
		if i = len(e.account.Apps); i == MaxApps {
			return fmt.Errorf("declare an app: the account holds at most %d apps", MaxApps)
		}
		e.copy().addApp(e.world.Seed, d, today-1)
		if err := insertSlices(ctx, e.Tx, i, e.account.Apps[i].Slices); err != nil {
			return err
		}
		if err := store.Insert(ctx, e.Tx, "declared_apps", 6, []any{i, d.Token, d.Name, d.Platform, d.StoreID,
			today - 1}); err != nil {
			return err
		}
	}
	if e.account.Apps[i].Name != d.Name {
		e.copy().rename(i, d.Name)
		_, err := e.ExecContext(ctx, "INSERT INTO declared_apps (app, name) VALUES (?,?) ON CONFLICT (app) DO "+
			"UPDATE SET name=excluded.name", i, d.Name)
		if err == nil {
			_, err = e.ExecContext(ctx, "UPDATE slices SET app_name=? WHERE app=?", d.Name, i)
		}
		if err != nil {
			return fmt.Errorf("rename an app: %w", err)
		}
	}
	for _, event := range d.Events {
		known := func(own AppEvent) bool { return own.Token == event.Token }
		if slices.ContainsFunc(e.account.Apps[i].Events, known) {
			continue
		}
		rate := e.copy().addEvent(e.world.Seed, i, event)
		_, err := e.ExecContext(ctx, "INSERT OR IGNORE INTO app_events VALUES (?,?,?,?)", rate.event, rate.app,
			rate.rate, rate.price)
		if err == nil {
			err = store.Insert(ctx, e.Tx, "declared_events", 5, []any{nil, i, rate.event, event.Name, event.Token})
		}
		if err != nil {
			return fmt.Errorf("declare an event: %w", err)
		}
	}
	return nil
}

// copy returns the edit's account as a copy that may be changed.
func (e *Edit) copy() *Account {
	if !e.copied {
		e.account, e.copied = e.account.clone(), true
	}
	return e.account
}

// clone copies what addApp, rename, addEvent and RenameEvent change.
func (a *Account) clone() *Account {
	out := &Account{Apps: slices.Clone(a.Apps), MadeUp: a.MadeUp, Catalog: Catalog{slices.Clone(a.Catalog.Records),
		maps.Clone(a.Catalog.Index), a.Catalog.nameSlugs, a.Catalog.rates}, names: a.names}
	for i := range out.Apps {
		out.Apps[i].Events = slices.Clip(out.Apps[i].Events)
	}
	for i := range out.Catalog.Records {
		r := &out.Catalog.Records[i]
		r.Mapping, r.AppToken = maps.Clone(r.Mapping), slices.Clip(r.AppToken)
	}
	return out
}

// addApp adds an app whose traffic begins on a day. Everything in it except the IDs of its facts
// comes from its token, so that it doesn't matter what was declared before.
func (a *Account) addApp(seed int64, d Declared, firstDay int) {
	origin := MaxApps + streamOf(seed, 11, d.Token).Below(1_000_000_000)
	app := App{Token: d.Token, Name: d.Name, OSNames: []string{d.Platform}, StoreID: d.StoreID, FirstDay: firstDay,
		origin: origin}
	app.volume = volumeOf(NewRandom(seed, 1, origin))
	app.Slices = a.names.makeSlices(seed, origin, origin*100, app.OSNames)
	a.names.describe(seed, &app)
	a.Apps = append(a.Apps, app)
}

// rename gives an app another name on all of its days.
func (a *Account) rename(i int, name string) {
	app := &a.Apps[i]
	app.Name, app.Slices, app.renamed = name, slices.Clone(app.Slices), slices.Clone(app.renamed)
	column := slices.Index(TextColumns, "app_name")
	for _, list := range [][]Slice{app.Slices, app.renamed} {
		for j := range list {
			list[j].Texts = slices.Clone(list[j].Texts)
			list[j].Texts[column] = name
		}
	}
}

// addEvent adds an app's event to the event of the same slug, or as a new event, and returns how
// often it occurs. What a new event is like comes from its slug, or from the seed's event of the
// same name if there is one.
func (a *Account) addEvent(seed int64, i int, event AppEvent) eventRate {
	c, app := &a.Catalog, &a.Apps[i]
	event.Slug = c.slugFor(event)
	n, known := c.Index[event.Slug]
	if !known {
		if n = slices.IndexFunc(a.names.events, func(d eventDef) bool { return d.name == event.Name }); n < 0 {
			n = 1000 + streamOf(seed, 12, event.Slug).Below(1_000_000_000_000)
		}
		c.Index[event.Slug] = n
		at, _ := slices.BinarySearchFunc(c.Records, event.Slug, compareID)
		c.Records = slices.Insert(c.Records, at, newEvent(a.definition(seed, n, event), event.Slug))
	}
	rec := c.BySlug(event.Slug)
	if rec.Mapping[app.Token] == nil {
		rec.AppToken = append(rec.AppToken, app.Token)
	}
	rec.Mapping[app.Token] = append(slices.Clip(rec.Mapping[app.Token]), event.Token)
	rec.Tokens = nil
	for _, owner := range rec.AppToken {
		rec.Tokens = append(rec.Tokens, rec.Mapping[owner]...)
	}
	app.Events = append(app.Events, event)
	def := a.definition(seed, n, event)
	r := NewRandom(seed, 5, app.origin, n)
	return eventRate{app: i, event: n, rate: def.rate * r.Between(60, 140) * 10, price: def.price}
}

// RenameEvent gives an event another name, and so another slug, in all of its apps, as somebody
// does in the dashboard. Its tokens and numbers stay. With an empty name the event is archived: it
// is listed no more. The database file doesn't keep either, so both are undone by a restart.
func (e *Edit) RenameEvent(slug, name string) error {
	old, known := e.account.Catalog.Index[slug]
	next := e.account.Catalog.slugOf(name, "")
	if _, taken := e.account.Catalog.Index[next]; !known || taken {
		return fmt.Errorf("rename event %s to %q: no such event, or %s is there already", slug, name, next)
	}
	a := e.copy()
	c := &a.Catalog
	event := *c.BySlug(slug)
	c.Records = slices.DeleteFunc(c.Records, func(r Event) bool { return r.ID == slug })
	delete(c.Index, slug)
	for i := range a.Apps {
		a.Apps[i].Events = slices.DeleteFunc(slices.Clone(a.Apps[i].Events),
			func(e AppEvent) bool { return e.Slug == slug && name == "" })
		for j, own := range a.Apps[i].Events {
			if own.Slug == slug {
				a.Apps[i].Events[j] = AppEvent{Name: name, Slug: next, Token: own.Token}
			}
		}
	}
	if name != "" {
		event.ID, event.Name = next, name
		at, _ := slices.BinarySearchFunc(c.Records, next, compareID)
		c.Records, c.Index[next] = slices.Insert(c.Records, at, event), old
	}
	return nil
}

// slugFor returns the slug of an event that is to be added. If its name makes no slug, the slug is
// the one that was made of the first token under that name.
func (c *Catalog) slugFor(event AppEvent) string {
	slug := c.slugOf(event.Name, event.Token)
	if strings.HasPrefix(slug, "event_") {
		for _, r := range c.Records {
			if r.Name == event.Name {
				return r.ID
			}
		}
	}
	return slug
}

// definition returns what an event of this number is like: the seed's definition, or one made up
// from the event's slug.
func (a *Account) definition(seed int64, number int, event AppEvent) eventDef {
	if number < len(a.names.events) {
		return a.names.events[number]
	}
	r := streamOf(seed, 13, event.Slug)
	return eventDef{name: event.Name, section: "events", formatting: "integer", rate: r.Between(20, 200),
		price: r.Between(1, 20) * 490_000}
}

// loadDeclared adds to the account what the database file says was declared in earlier runs.
func (w *World) loadDeclared(ctx context.Context, tx *sql.Tx) error {
	a := w.Account().clone()
	rows, err := tx.QueryContext(ctx,
		`SELECT app, coalesce(token,''), name, coalesce(platform,''), coalesce(store_id,''), coalesce(first_day,0) FROM declared_apps ORDER BY app`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var i, day int
		var d Declared
		if err := rows.Scan(&i, &d.Token, &d.Name, &d.Platform, &d.StoreID, &day); err != nil {
			return err
		}
		if i < a.MadeUp {
			a.rename(i, d.Name)
		} else {
			a.addApp(w.Seed, d, day)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	events, err := tx.QueryContext(ctx, "SELECT app, name, token FROM declared_events ORDER BY position")
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }()
	for events.Next() {
		var i int
		var event AppEvent
		if err := events.Scan(&i, &event.Name, &event.Token); err != nil {
			return err
		}
		a.addEvent(w.Seed, i, event)
	}
	if err := events.Err(); err != nil {
		return err
	}
	w.account.Store(a)
	return a.loadRenamed(ctx, tx)
}
