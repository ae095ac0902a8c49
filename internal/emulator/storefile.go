package emulator

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// readers is how many reports are read at once; a further one waits for a connection.
const readers = 12

// store keeps the facts in a SQLite database in WAL mode, because there readers and the writer don't wait for each
// other. Without Options.DB the file is private and unlinked while open, so that a killed process leaves nothing behind.
type store struct {
	seed     int64
	apps     []app
	firstDay int // days since 1970-01-01: the first day with data; a kept file's own
	db       *sql.DB
	dir      string // of a private file
	read     chan *sql.Conn
	edit     chan *sql.Conn // holds one connection: the writer's turn. A channel, so that waiting stops no fake clock

	mu   sync.Mutex
	made map[appDay]*making
}

// keepSchema are the tables of what a kept file remembers: which pairs of day and app have their facts, and in one row
// what the facts were made from.
const keepSchema = `
CREATE TABLE made (day INT, app INT, PRIMARY KEY (day, app)) WITHOUT ROWID;
CREATE TABLE made_from (seed INT, apps INT, first_day INT, version TEXT);` + spendSchema + automationSchema + sharingSchema

func openStore(o Options, apps []app, catalog eventCatalog) (_ *store, err error) {
	s := &store{seed: o.Seed, apps: apps, firstDay: dayOf(o.Now()) - o.Days + 1, made: map[appDay]*making{},
		read: make(chan *sql.Conn, readers), edit: make(chan *sql.Conn, 1)}
	file, flush, what := o.DB, "normal", "open emulator database "+o.DB
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", what, err), s.close())
		}
	}()
	if file == "" {
		what, flush = "new emulator", "off" // what isn't kept needn't survive a power failure
		if s.dir, err = os.MkdirTemp("", "reportferry-emulator-"); err != nil {
			return nil, err
		}
		file = filepath.Join(s.dir, "facts.db")
	}
	if s.db, err = sql.Open("sqlite", dataSource(file, flush)); err != nil {
		return nil, err
	}
	ctx := context.Background()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s.edit <- conn
	if err = inTx(ctx, conn, func(tx *sql.Tx) error { return s.setUp(ctx, tx, catalog) }); err != nil {
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
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // where an open file can't be removed, close does it
	}
	return s, nil
}

// dataSource names the file as a URI, so that no character of its path is taken for a parameter. Transactions take the
// write lock at once and wait for it: a second process on a kept file would else be refused in the middle of one.
func dataSource(file, flush string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()}
	return u.String() + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(" + flush +
		")&_pragma=temp_store(memory)&_pragma=cache_size(-4000)"
}

// setUp fills an empty database, or makes sure that this is the right one. It is one transaction: a process killed in
// its middle leaves an empty database.
func (s *store) setUp(ctx context.Context, tx *sql.Tx, catalog eventCatalog) error {
	var tables, known int
	err := tx.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name='made_from') FROM sqlite_schema").Scan(&tables, &known)
	switch {
	case err != nil:
		return err
	case known > 0:
		return s.recognise(ctx, tx, catalog)
	case tables > 0:
		return errors.New("it holds other tables than an emulator's: choose another file")
	}
	if _, err := tx.ExecContext(ctx, schema+keepSchema); err != nil {
		return err
	}
	if err := insertSlices(ctx, tx, s.apps, catalog); err != nil {
		return err
	}
	return insert(ctx, tx, "made_from", 4, []any{s.seed, len(s.apps), s.firstDay, s.version(catalog)})
}

// recognise refuses a file whose facts were made from something else: old and new ones would not fit together.
func (s *store) recognise(ctx context.Context, tx *sql.Tx, catalog eventCatalog) error {
	var seed int64
	var apps int
	var version string
	err := tx.QueryRowContext(ctx, "SELECT seed, apps, first_day, version FROM made_from").Scan(&seed, &apps, &s.firstDay, &version)
	switch {
	case err != nil:
		return err
	case seed != s.seed || apps != len(s.apps):
		return fmt.Errorf("it was made with seed %d and %d apps, not with seed %d and %d apps: use those, or another file",
			seed, apps, s.seed, len(s.apps))
	case version != s.version(catalog):
		return errors.New("it was made by another version of this emulator, which makes other data: use that version, or another file")
	}
	return nil
}

// version changes whenever this package would lay out its tables or make its facts in another way.
func (s *store) version(catalog eventCatalog) string {
	const someDay = 20_000
	a := &s.apps[0]
	sum := sha256.Sum256(fmt.Append(nil, schema, keepSchema, a.Token, a.slices, catalog.rates, makeDay(s.seed, 0, a, someDay)))
	return fmt.Sprintf("%x", sum[:8])
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
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
