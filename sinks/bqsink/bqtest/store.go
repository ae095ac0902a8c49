package bqtest

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// store keeps documents (datasets, tables, jobs) and rows in SQLite, over one connection: the server's lock orders its
// use, and a memory database lives as long as its connection.
type store struct {
	db *sql.DB
	tx *sql.Tx // the open transaction, if any
}

const storeSchema = `
CREATE TABLE IF NOT EXISTS docs (kind TEXT, key TEXT, doc TEXT NOT NULL, PRIMARY KEY (kind, key));
CREATE TABLE IF NOT EXISTS media (job TEXT PRIMARY KEY, file BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS modified (name TEXT, part TEXT, at INTEGER NOT NULL, PRIMARY KEY (name, part)); -- in microseconds`

func openStore(path string) (*store, error) {
	dsn := ":memory:"
	if path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		// A killed process loses nothing that it wrote: only a killed machine would.
		dsn = (&url.URL{Scheme: "file", Path: abs, RawQuery: "_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"}).String()
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(0)
	if _, err := db.Exec(storeSchema); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &store{db: db}, nil
}

func (st *store) close() error { return st.db.Close() }

// within does all of f or nothing of it.
func (st *store) within(f func() error) error {
	if st.tx != nil {
		return f()
	}
	tx, err := st.db.Begin()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	st.tx = tx
	defer func() { st.tx = nil }()
	if err := f(); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (st *store) exec(query string, args ...any) (int64, error) {
	var r sql.Result
	var err error
	if st.tx != nil {
		r, err = st.tx.Exec(query, args...)
	} else {
		r, err = st.db.Exec(query, args...)
	}
	if err != nil {
		return 0, fmt.Errorf("%w in %s", err, query)
	}
	return r.RowsAffected()
}

// rows reads all rows of a query: the only connection must be free before the next one.
func (st *store) rows(query string, args ...any) ([][]any, error) {
	var rows *sql.Rows
	var err error
	if st.tx != nil {
		rows, err = st.tx.Query(query, args...)
	} else {
		rows, err = st.db.Query(query, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, query)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]any
	for rows.Next() {
		row := make([]any, len(names))
		into := make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

func (st *store) keep(kind, key string, doc any) error {
	b, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("keep %s %s: %w", kind, key, err)
	}
	_, err = st.exec("INSERT OR REPLACE INTO docs VALUES (?, ?, ?)", kind, key, string(b))
	return err
}

func (st *store) forget(kind, key string) error {
	_, err := st.exec("DELETE FROM docs WHERE kind = ? AND key = ?", kind, key)
	return err
}

func restoreDocs[T any](st *store, kind string, into map[string]*T) error {
	rows, err := st.rows("SELECT key, doc FROM docs WHERE kind = ?", kind)
	if err != nil {
		return fmt.Errorf("restore each %s: %w", kind, err)
	}
	for _, r := range rows {
		doc := new(T)
		if err := json.Unmarshal([]byte(r[1].(string)), doc); err != nil {
			return fmt.Errorf("restore %s %s: %w", kind, r[0], err)
		}
		into[r[0].(string)] = doc
	}
	return nil
}

// broken is for errors of the database under the server: no answer of BigQuery, and a test must not take it for one.
func broken(err error) {
	if err != nil {
		panic(fmt.Sprintf("bqtest's database: %v", err))
	}
}
