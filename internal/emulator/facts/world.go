// Package facts makes up the account that the emulated service reports about: its apps, events,
// traffic and engagements, and on first touch the facts of each app's days. Without it there would
// be no numbers that come out the same on every machine, in whatever order they are asked for, and
// so nothing to compare a pipeline's result with.
//
// A fact is what one slice of an app's users did in one hour; every metric is a sum over facts. All
// of it comes from (seed, app, day) alone, through splitmix64 streams, and is kept in SQLite: see
// schema for the tables.
//
//	seed ── apps ── slices (who the users are) ──┐
//	           └─── events                       ├── a day's facts ── SQLite ── reports
//	app, day ────────────────────────────────────┘
//	declared apps, events, names ── another Account, with slices of its own
//	engagements (Cost IDs) ── name the fact that posted spend belongs to
package facts

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/store"
)

// MaxApps bounds the apps of a world: a fact's row number keeps three digits for its app.
const MaxApps = 1000

// daysPerCommit bounds how many day-app pairs one transaction writes, so that others get theirs in
// between.
const daysPerCommit = 64

// World is all that the account's numbers are made from, and the database that keeps those which
// were made. Facts are made on first touch, an app's day at a time, from (seed, app, day) alone: in
// whatever order days are asked for, their facts are the same. What is declared later is in the
// database before Account shows it.
type World struct {
	Seed     int64
	FirstDay int // days since 1970-01-01: the first day with data, that of the database file if one existed
	Store    *store.DB

	account atomic.Pointer[Account]

	mu   sync.Mutex
	made map[appDay]*generation // the pairs that were made, or are being made

	paid paidDays
}

// appDay is a pair of an app's index and a day since 1970-01-01.
type appDay struct{ app, day int }

// generation is the making of the facts of one app's day.
type generation struct {
	done chan struct{} // closed once the facts are committed, or err is set
	err  error
}

// New makes the apps and events of a seed, under these names. Its data begins on firstDay.
func New(seed int64, apps, firstDay int, names *Names) *World {
	w := &World{Seed: seed, FirstDay: firstDay, made: map[appDay]*generation{}}
	w.populate(apps, names, Catalog{})
	return w
}

// NameSlugs makes the events anew, with their names in small letters as their slugs. It is for a
// world that isn't open yet.
func (w *World) NameSlugs() {
	w.populate(w.Account().MadeUp, w.Account().names, Catalog{nameSlugs: true})
}

// populate makes the account of the seed. events is a catalog without events, to be filled.
func (w *World) populate(apps int, names *Names, events Catalog) {
	a := &Account{Apps: names.makeApps(w.Seed, apps), MadeUp: apps, Catalog: events, names: names}
	a.Catalog.fill(w.Seed, names.events, a.Apps)
	w.account.Store(a)
}

// Account returns the current apps and events.
func (w *World) Account() *Account { return w.account.Load() }

// keepSchema has the tables that a database file needs to be used again: which pairs of day and app
// have their facts, and in one row what the facts were made from.
const keepSchema = `
CREATE TABLE made (day INT, app INT, PRIMARY KEY (day, app)) WITHOUT ROWID;
CREATE TABLE made_from (seed INT, apps INT, first_day INT, version TEXT);`

// Open opens the world's database: see store.Open. more is the schema of other packages' tables. A
// file that was made from something else is refused. An existing file keeps its own first day.
func (w *World) Open(file, more string) (err error) {
	version := w.version(more)
	w.Store, err = store.Open(file, func(ctx context.Context, tx *sql.Tx) error {
		var tables, known int
		err := tx.QueryRowContext(ctx,
			"SELECT count(*), count(*) FILTER (WHERE name='made_from') FROM sqlite_schema").Scan(&tables, &known)
		switch {
		case err != nil:
			return err
		case known > 0:
			return w.recognise(ctx, tx, version)
		case tables > 0:
			return errors.New("it holds other tables than an emulator's: choose another file")
		}
		if _, err := tx.ExecContext(ctx, schema+keepSchema+more); err != nil {
			return err
		}
		if err := insertAccount(ctx, tx, w.Account()); err != nil {
			return err
		}
		return store.Insert(ctx, tx, "made_from", 4, []any{w.Seed, w.Account().MadeUp, w.FirstDay, version})
	})
	return err
}

// recognise refuses a file whose facts were made from something else: old and new ones would not
// fit together.
func (w *World) recognise(ctx context.Context, tx *sql.Tx, want string) error {
	var seed int64
	var apps int
	var version string
	err := tx.QueryRowContext(ctx, "SELECT seed, apps, first_day, version FROM made_from").Scan(&seed, &apps,
		&w.FirstDay, &version)
	switch {
	case err != nil:
		return err
	case seed != w.Seed || apps != w.Account().MadeUp:
		return fmt.Errorf("it was made with seed %d and %d apps, not with seed %d and %d apps: use those, or "+
			"another file",
			seed, apps, w.Seed, w.Account().MadeUp)
	case version != want:
		return errors.New("it was made by another version of this emulator, or with other names (--hostile-names), " +
			"and holds other data: use that one, or another file")
	}
	return w.loadDeclared(ctx, tx)
}

// Close closes the world's database.
func (w *World) Close() error { return w.Store.Close() }

// version returns a text that changes whenever the tables would be laid out or the facts be made in
// another way.
func (w *World) version(more string) string {
	const someDay = 20_000
	account := w.Account()
	a := &account.Apps[0]
	sum := sha256.Sum256(fmt.Append(nil, schema, keepSchema, more, a.Token, a.Slices, account.Catalog.rates,
		makeDay(w.Seed, 0, a, someDay)))
	return fmt.Sprintf("%x", sum[:8])
}

// Ensure makes the facts of the apps on the days from..to, each pair once, and waits for those that
// others are making. It isn't cut short by a request's end: others may be waiting for the same
// days.
func (w *World) Ensure(apps []int, from, to int) error {
	// Take the pairs that nobody has taken, and note those that others make.
	var mine []appDay
	var others []*generation
	account := w.Account()
	w.mu.Lock()
	for day := from; day <= to; day++ {
		for _, a := range apps {
			k := appDay{a, day}
			if day < account.Apps[a].FirstDay {
				continue
			}
			if m, ok := w.made[k]; ok {
				others = append(others, m)
				continue
			}
			w.made[k] = &generation{done: make(chan struct{})}
			mine = append(mine, k)
		}
	}
	w.mu.Unlock()
	// Make the taken pairs, then wait for the others.
	for len(mine) > 0 {
		n := min(len(mine), daysPerCommit)
		if err := w.make(mine[:n]); err != nil {
			w.release(mine, err)
			return err
		}
		w.release(mine[:n], nil)
		mine = mine[n:]
	}
	for _, m := range others {
		if <-m.done; m.err != nil {
			return m.err
		}
	}
	return nil
}

// release wakes the calls that wait for these pairs. Pairs that failed may be tried again.
func (w *World) release(pairs []appDay, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range pairs {
		w.made[k].err = err
		close(w.made[k].done)
		if err != nil {
			delete(w.made, k)
		}
	}
}

// make writes the facts of those pairs that the database doesn't have yet: another process or an
// earlier run may have made some.
func (w *World) make(pairs []appDay) error {
	ctx := context.Background()
	return w.Store.Change(ctx, func(tx *sql.Tx) error {
		missing, err := markMade(ctx, tx, pairs)
		if err != nil {
			return err
		}
		account := w.Account()
		var facts []Fact
		for _, k := range missing {
			facts = append(facts, makeDay(w.Seed, k.app, &account.Apps[k.app], k.day)...)
		}
		return Insert(ctx, tx, facts)
	})
}

// markMade notes the pairs as made and returns those that weren't.
func markMade(ctx context.Context, tx *sql.Tx, pairs []appDay) (missing []appDay, err error) {
	stmt, err := tx.PrepareContext(ctx, "INSERT OR IGNORE INTO made VALUES (?,?)")
	if err != nil {
		return nil, fmt.Errorf("write made: %w", err)
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for _, k := range pairs {
		result, err := stmt.ExecContext(ctx, k.day, k.app)
		if err != nil {
			return nil, fmt.Errorf("write made: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil {
			return nil, fmt.Errorf("write made: %w", err)
		} else if n > 0 {
			missing = append(missing, k)
		}
	}
	return missing, nil
}

// DaySeconds is the length of a day of UTC, and Million the whole that shares and micros are parts
// of.
const (
	DaySeconds = 24 * 60 * 60
	Million    = 1_000_000
)

// DayOf returns the number of days from 1970-01-01 to t's UTC date.
func DayOf(t time.Time) int { return FloorDiv(int(t.Unix()), DaySeconds) }

// DayTime returns the beginning of a day by UTC.
func DayTime(day int) time.Time { return time.Unix(int64(day)*DaySeconds, 0).UTC() }

// FloorDiv divides and rounds down, below zero too.
func FloorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
