// Package store is the emulated service's SQLite database: one writer, many readers, private or a
// file that is kept. Without it every part of the service would have to know how connections are
// shared so that neither a report nor a fake clock waits for a writer.
//
//	DB.Change ── the single writer ── one transaction ──┐
//	                                                    ├── the file, in WAL mode
//	DB.Query ─── one of 12 readers ── rows ─────────────┘
//
// A Log keeps lines in the order of their arrival, and writes many of them in one transaction;
// Batch.Wait returns once they are in the file. What the tables mean is up to their owners.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite" // and the driver "sqlite"
)

// readers is how many queries run at once; a further one waits for a connection.
const readers = 12

// DB is a SQLite database in WAL mode, where readers and the writer don't wait for each other. One
// writer changes it at a time.
type DB struct {
	db        *sql.DB
	dir       string         // of a private file; "" when the file is kept
	readConns chan *sql.Conn // the readers' idle connections
	writeConn chan *sql.Conn // the writer's one connection. A channel, so that waiting stops no fake clock
}

// Open opens the database of a file, which is made when it is missing, and lets setUp fill or check
// it in one transaction: a process that is killed in its middle leaves an empty database. Without a
// file the database is private: its file is unlinked while it is open, so that a killed process
// leaves nothing behind.
func Open(file string, setUp func(context.Context, *sql.Tx) error) (_ *DB, err error) {
	s := &DB{readConns: make(chan *sql.Conn, readers), writeConn: make(chan *sql.Conn, 1)}
	flush, what := "normal", "open emulator database "+file
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", what, err), s.Close())
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
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.writeConn <- conn
	if err = s.Change(ctx, func(tx *sql.Tx) error { return setUp(ctx, tx) }); err != nil {
		return nil, err
	}
	for range readers {
		if conn, err = s.connect(ctx); err != nil {
			return nil, err
		}
		s.readConns <- conn
		if _, err = conn.ExecContext(ctx, "SELECT count(*) FROM sqlite_schema"); err != nil { // opens the files
			return nil, err
		}
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // where an open file can't be removed, close does it
	}
	return s, nil
}

// lockTimeout is how long a connection waits for others' locks.
const lockTimeout = 10 * time.Second

// connect opens a connection. SQLite's own waiting doesn't cover the moment in which another
// connection puts the file into WAL mode, or takes it out at its end: the one that comes second is
// told at once that the file is locked.
func (s *DB) connect(ctx context.Context) (*sql.Conn, error) {
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		conn, err := s.db.Conn(ctx)
		var refused *sqlite.Error
		if !errors.As(err, &refused) || refused.Code()&0xff != codeBusy || time.Since(start) > lockTimeout {
			return conn, err
		}
	}
}

// codeBusy is SQLITE_BUSY, the low byte of all codes that say so. Source: sqlite.org/rescode.html.
const codeBusy = 5

// dataSource names the file as a URI, so that no character of its path is taken for a parameter.
// Transactions take the write lock at once and wait for it, because a second process on a kept file
// would else be refused in the middle of one.
func dataSource(file, flush string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()}
	return u.String() + "?_txlock=immediate&_pragma=busy_timeout(" +
		strconv.FormatInt(lockTimeout.Milliseconds(), 10) + ")&_pragma=journal_mode(wal)&_pragma=synchronous(" + flush +
		")&_pragma=temp_store(memory)&_pragma=cache_size(-4000)"
}

// Close closes the database and removes a private file. Nobody may use the database any more.
func (s *DB) Close() error {
	var errs []error
	for _, pool := range []chan *sql.Conn{s.readConns, s.writeConn} {
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

// Change runs do in a transaction of its own, and rolls it back if do returns an error. Nobody else
// writes meanwhile. The functions in committed run after the commit, before anybody else writes.
func (s *DB) Change(ctx context.Context, do func(*sql.Tx) error, committed ...func()) error {
	conn := <-s.writeConn
	defer func() { s.writeConn <- conn }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // also when do panics; after a commit it does nothing
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, follow := range committed {
		follow()
	}
	return nil
}

// Query runs a SELECT on one of the readers' connections. It sees what was committed before it
// began.
func (s *DB) Query(ctx context.Context, text string, args []any, use func(*sql.Rows) error) error {
	var conn *sql.Conn
	select {
	case conn = <-s.readConns:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.readConns <- conn }()
	rows, err := conn.QueryContext(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer func() { _ = rows.Close() }()
	return use(rows)
}

// Insert writes rows of width values each, one a statement: the driver finds each parameter by
// walking through all of them, so that many rows in one statement would be slower.
func Insert(ctx context.Context, tx *sql.Tx, table string, width int, values []any) (err error) {
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
