package emulator

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxApps bounds the apps of a world: a fact's row number keeps three digits for its app.
const maxApps = 1000

// daysPerCommit bounds how many day-app pairs one transaction writes, so that others get theirs in between.
const daysPerCommit = 64

// world is all that the account's numbers are made from, and the database that keeps those which were made. Facts are
// made on first touch, an app's day at a time, from (seed, app, day) alone: in whatever order days are asked for, their
// facts are the same.
type world struct {
	seed     int64
	apps     []App
	catalog  eventCatalog
	firstDay int // days since 1970-01-01: the first day with data; a kept file's own
	store    *store

	mu   sync.Mutex
	made map[appDay]*making

	paid paidDays
}

// appDay is a pair of an app's index and a day since 1970-01-01.
type appDay struct{ app, day int }

// making is the generation of one app's day.
type making struct {
	done chan struct{} // closed once the facts are committed, or err is set
	err  error
}

// newWorld makes the apps and events of a seed. Its data begins on firstDay.
func newWorld(seed int64, apps, firstDay int) *world {
	w := &world{seed: seed, apps: makeApps(seed, apps), firstDay: firstDay, made: map[appDay]*making{}}
	w.catalog = makeEventCatalog(seed, w.apps)
	return w
}

// keepSchema are the tables of what a kept file remembers: which pairs of day and app have their facts, and in one row
// what the facts were made from.
const keepSchema = `
CREATE TABLE made (day INT, app INT, PRIMARY KEY (day, app)) WITHOUT ROWID;
CREATE TABLE made_from (seed INT, apps INT, first_day INT, version TEXT);`

// open opens the world's database: see openStore. more are the tables of others. A file that was made from something
// else is refused; one that was made before goes on with its own first day.
func (w *world) open(file, more string) (err error) {
	version := w.version(more)
	w.store, err = openStore(file, func(ctx context.Context, tx *sql.Tx) error {
		var tables, known int
		err := tx.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name='made_from') FROM sqlite_schema").Scan(&tables, &known)
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
		if err := insertSlices(ctx, tx, w.apps, w.catalog); err != nil {
			return err
		}
		return insert(ctx, tx, "made_from", 4, []any{w.seed, len(w.apps), w.firstDay, version})
	})
	return err
}

// recognise refuses a file whose facts were made from something else: old and new ones would not fit together.
func (w *world) recognise(ctx context.Context, tx *sql.Tx, want string) error {
	var seed int64
	var apps int
	var version string
	err := tx.QueryRowContext(ctx, "SELECT seed, apps, first_day, version FROM made_from").Scan(&seed, &apps, &w.firstDay, &version)
	switch {
	case err != nil:
		return err
	case seed != w.seed || apps != len(w.apps):
		return fmt.Errorf("it was made with seed %d and %d apps, not with seed %d and %d apps: use those, or another file",
			seed, apps, w.seed, len(w.apps))
	case version != want:
		return errors.New("it was made by another version of this emulator, which makes other data: use that version, or another file")
	}
	return nil
}

// close closes the world's database.
func (w *world) close() error { return w.store.close() }

// version changes whenever the tables would be laid out or the facts be made in another way.
func (w *world) version(more string) string {
	const someDay = 20_000
	a := &w.apps[0]
	sum := sha256.Sum256(fmt.Append(nil, schema, keepSchema, more, a.Token, a.slices, w.catalog.rates, makeDay(w.seed, 0, a, someDay)))
	return fmt.Sprintf("%x", sum[:8])
}

// ensure makes the facts of the apps on the days from..to, each pair once, and waits for those that others are making.
// It isn't cut short by a request's end: others may be waiting for the same days.
func (w *world) ensure(apps []int, from, to int) error {
	var mine []appDay
	var others []*making
	w.mu.Lock()
	for day := from; day <= to; day++ {
		for _, a := range apps {
			k := appDay{a, day}
			if m, ok := w.made[k]; ok {
				others = append(others, m)
				continue
			}
			w.made[k] = &making{done: make(chan struct{})}
			mine = append(mine, k)
		}
	}
	w.mu.Unlock()
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

// release lets those go on who wait for these pairs; pairs that failed may be tried again.
func (w *world) release(pairs []appDay, err error) {
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

// make writes the facts of those pairs that the database hasn't got yet: another process or an earlier run may have made
// them.
func (w *world) make(pairs []appDay) error {
	ctx := context.Background()
	return w.store.change(ctx, func(tx *sql.Tx) error {
		missing, err := markMade(ctx, tx, pairs)
		if err != nil {
			return err
		}
		var facts []fact
		for _, k := range missing {
			facts = append(facts, makeDay(w.seed, k.app, &w.apps[k.app], k.day)...)
		}
		return insertFacts(ctx, tx, facts)
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

const (
	daySeconds = 24 * 60 * 60
	million    = 1_000_000
)

// dayOf is the number of days from 1970-01-01 to t's UTC date.
func dayOf(t time.Time) int { return floorDiv(int(t.Unix()), daySeconds) }

// dayTime is the beginning of a day by UTC.
func dayTime(day int) time.Time { return time.Unix(int64(day)*daySeconds, 0).UTC() }

// floorDiv divides and rounds down, below zero too.
func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
