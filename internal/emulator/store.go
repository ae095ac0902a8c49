package emulator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// readers is how many reports are read at once; a further one waits for a connection.
const readers = 12

// daysPerCommit bounds how many day-app pairs one transaction writes, so that others get theirs in between.
const daysPerCommit = 64

// store keeps the facts in a private SQLite database. It is a file in WAL mode, because there readers and the writer
// don't wait for each other, and it is unlinked while open, so that a killed process leaves nothing behind.
type store struct {
	seed int64
	apps []app
	db   *sql.DB
	dir  string
	read chan *sql.Conn
	edit chan *sql.Conn // holds one connection: the writer's turn. A channel, so that waiting stops no fake clock

	mu   sync.Mutex
	made map[appDay]*making
}

// making is the generation of one app's day.
type making struct {
	done chan struct{} // closed once the facts are committed, or err is set
	err  error
}

type appDay struct{ app, day int }

const schema = `
CREATE TABLE facts (id INTEGER PRIMARY KEY, day INT, slice INT, ts INT, salt INT, installs INT, clicks INT, impressions INT,
	sessions INT, dau INT, spend INT, net_spend INT, net_drift INT, revenue INT, ad_revenue INT);
CREATE TABLE slices (id INTEGER PRIMARY KEY, app INT, organic INT, pricing INT, arpu INT, adpu INT, retention INT, has_network INT,
	app_token TEXT, app_name TEXT, os_name TEXT, country_code TEXT, network TEXT, campaign TEXT, campaign_network TEXT, partner_name TEXT,
	app_token_l TEXT, app_name_l TEXT, os_name_l TEXT, country_code_l TEXT, network_l TEXT, campaign_l TEXT, campaign_network_l TEXT, partner_name_l TEXT);
CREATE TABLE app_events (event INT, app INT, rate INT, price INT, PRIMARY KEY (event, app)) WITHOUT ROWID;`

func openStore(seed int64, apps []app, catalog eventCatalog) (_ *store, err error) {
	dir, err := os.MkdirTemp("", "reportferry-emulator-")
	if err != nil {
		return nil, fmt.Errorf("new emulator: %w", err)
	}
	s := &store{seed: seed, apps: apps, dir: dir, made: map[appDay]*making{},
		read: make(chan *sql.Conn, readers), edit: make(chan *sql.Conn, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("new emulator: %w", err), s.close())
		}
	}()
	s.db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "facts.db")+
		"?_pragma=journal_mode(wal)&_pragma=synchronous(off)&_pragma=temp_store(memory)&_pragma=cache_size(-4000)")
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s.edit <- conn
	if _, err = conn.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	if err = insertSlices(ctx, conn, apps, catalog); err != nil {
		return nil, err
	}
	for range readers {
		if conn, err = s.db.Conn(ctx); err != nil {
			return nil, err
		}
		s.read <- conn
		if _, err = conn.ExecContext(ctx, "SELECT count(*) FROM app_events"); err != nil { // opens the files
			return nil, err
		}
	}
	_ = os.RemoveAll(dir) // where an open file can't be removed, close does it
	return s, nil
}

func (s *store) close() error {
	var errs []error
	for _, pool := range []chan *sql.Conn{s.read, s.edit} {
		for len(pool) > 0 {
			errs = append(errs, (<-pool).Close())
		}
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	errs = append(errs, os.RemoveAll(s.dir))
	return errors.Join(errs...)
}

// insert writes rows of width values each, one a statement: the driver finds each parameter by walking through all of
// them, so that many rows in one statement would be slower.
func insert(ctx context.Context, tx *sql.Tx, table string, width int, values []any) (err error) {
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO "+table+" VALUES (?"+strings.Repeat(",?", width-1)+")")
	if err != nil {
		return fmt.Errorf("write %s: %w", table, err)
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for ; len(values) > 0; values = values[width:] {
		if _, err := stmt.ExecContext(ctx, values[:width]...); err != nil {
			return fmt.Errorf("write %s: %w", table, err)
		}
	}
	return nil
}

func insertSlices(ctx context.Context, conn *sql.Conn, apps []app, catalog eventCatalog) error {
	var slices, rates []any
	for i, a := range apps {
		for _, s := range a.slices {
			texts := []string{a.Token, a.Name, s.osName, s.country, s.network, s.campaign, s.campaignNet, s.partner}
			slices = append(slices, s.id, i, s.network == "Organic", s.pricing, s.arpu, s.adpu, s.retention, s.networkData)
			for _, t := range texts {
				slices = append(slices, t)
			}
			for _, t := range texts {
				slices = append(slices, strings.ToLower(t)) // SQLite's lower() knows ASCII only
			}
		}
	}
	for _, r := range catalog.rates {
		rates = append(rates, r.event, r.app, r.rate, r.price)
	}
	return inTx(ctx, conn, func(tx *sql.Tx) error {
		if err := insert(ctx, tx, "slices", 24, slices); err != nil {
			return err
		}
		return insert(ctx, tx, "app_events", 4, rates)
	})
}

func inTx(ctx context.Context, conn *sql.Conn, do func(*sql.Tx) error) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// ensure makes the facts of the apps on the days from..to, each pair once, and waits for those that others are making.
// It isn't cut short by a request's end: others may be waiting for the same days.
func (s *store) ensure(apps []int, from, to int) error {
	var mine []appDay
	var others []*making
	s.mu.Lock()
	for day := from; day <= to; day++ {
		for _, a := range apps {
			k := appDay{a, day}
			if m, ok := s.made[k]; ok {
				others = append(others, m)
				continue
			}
			s.made[k] = &making{done: make(chan struct{})}
			mine = append(mine, k)
		}
	}
	s.mu.Unlock()
	for len(mine) > 0 {
		n := min(len(mine), daysPerCommit)
		if err := s.make(mine[:n]); err != nil {
			s.release(mine, err)
			return err
		}
		s.release(mine[:n], nil)
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
func (s *store) release(pairs []appDay, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range pairs {
		s.made[k].err = err
		close(s.made[k].done)
		if err != nil {
			delete(s.made, k)
		}
	}
}

func (s *store) make(pairs []appDay) error {
	values := make([]any, 0, len(pairs)*45*15)
	for _, k := range pairs {
		for _, f := range makeDay(s.seed, k.app, &s.apps[k.app], k.day) {
			values = append(values, f.id, f.day, f.slice, f.ts, f.salt, f.installs, f.clicks, f.impressions,
				f.sessions, f.dau, f.spend, f.netSpend, f.netDrift, f.revenue, f.adRevenue)
		}
	}
	conn := <-s.edit
	defer func() { s.edit <- conn }()
	ctx := context.Background()
	return inTx(ctx, conn, func(tx *sql.Tx) error { return insert(ctx, tx, "facts", 15, values) })
}
