package emulator

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// vaultRecord is what the vault holds for a section and a store ("" for none).
type vaultRecord struct {
	id               int
	section, store   string
	sealed           []byte
	created, updated string
}

// MarshalJSON shows the record with its data sealed.
func (r *vaultRecord) MarshalJSON() ([]byte, error) {
	var store *string
	if r.store != "" {
		store = &r.store
	}
	return json.Marshal(struct {
		ID      int     `json:"id"`
		Section string  `json:"section"`
		Store   *string `json:"store"`
		Data    []byte  `json:"data"` // base64
		Created string  `json:"created_at"`
		Updated string  `json:"updated_at"`
	}{r.id, r.section, store, r.sealed, r.created, r.updated})
}

const vaultColumns = "SELECT position, section, store, data, created, updated FROM vault "

func (r *vaultRecord) scan(row interface{ Scan(...any) error }) error {
	return row.Scan(&r.id, &r.section, &r.store, &r.sealed, &r.created, &r.updated)
}

// findRecord returns nil when there is none.
func findRecord(tx *sql.Tx, where string, args ...any) (*vaultRecord, error) {
	r := &vaultRecord{}
	err := r.scan(tx.QueryRow(vaultColumns+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the vault: %w", err)
	}
	return r, nil
}

func firstRecord(tx *sql.Tx) (*vaultRecord, error) {
	return findRecord(tx, "ORDER BY position LIMIT 1")
}

// putVault seals the data; a record of the same section and store gets it instead of what it had.
func (c *call) putVault() (any, error) {
	f := c.body
	r := &vaultRecord{section: f.text("section"), store: f.optionalText("store"), created: stamp(c.now)}
	data, _ := f.values["data"].(string)
	switch {
	case f.need("data") && data == "":
		f.wrong("data", "Input should be a valid string that isn't empty")
	case r.section == "":
	case r.section == appInfo || r.section == "signature":
		f.wrong("section", "The vault takes nothing for this section")
	case r.section == "csv_upload_settings":
		if f.has("store") {
			f.wrong("store", "The account has one record for this section: leave the store out")
		}
		if data != "" {
			readCloud(data, f)
		}
	default:
		if _, ok := findSection(r.section); !ok {
			f.wrong("section", "Unknown section")
		}
	}
	if err := f.errs.err(); err != nil {
		return nil, err
	}
	old, err := findRecord(c.tx, "WHERE section=? AND store=?", r.section, r.store)
	if err != nil {
		return nil, err
	}
	if old != nil {
		r = old
	}
	r.updated = stamp(c.now)
	if err := c.s.vault.seal(r, data); err != nil {
		return nil, err
	}
	err = c.tx.QueryRow(`INSERT INTO vault (section, store, data, created, updated) VALUES (?,?,?,?,?)
		ON CONFLICT (section, store) DO UPDATE SET data=excluded.data, updated=excluded.updated RETURNING position`,
		r.section, r.store, r.sealed, r.created, r.updated).Scan(&r.id)
	if err != nil {
		return nil, fmt.Errorf("keep a vault record: %w", err)
	}
	return r, nil
}

// readCloud reads the account's access to its cloud storage: what of it isn't secret goes into apps' settings. What is
// wrong is told without a word of the data. Source: the service's page about the vault.
func readCloud(data string, body fields) map[string]any {
	var value any
	if json.Unmarshal([]byte(data), &value) != nil {
		body.wrong("data", "Input should be JSON")
		return nil
	}
	f := objectAt(value, body.errs, body.loc("data"))
	if f.values == nil {
		if value == nil {
			body.wrong("data", "Input should be a valid dictionary")
		}
		return nil
	}
	out := map[string]any{"type": f.text("type"), "bucket": f.text("bucket")}
	switch out["type"] {
	case "S3":
		f.text("key")
		f.text("secret")
		if region := f.optionalText("region"); region != "" {
			out["region"] = region
		}
	case "GCS":
		if f.need("secret") {
			f.object("secret")
		}
	case "":
	default:
		f.wrong("type", "Input should be 'S3' or 'GCS'")
	}
	return out
}

func (c *call) listVault() (_ any, err error) {
	rows, err := c.tx.Query(vaultColumns + "ORDER BY position")
	if err != nil {
		return nil, fmt.Errorf("read the vault: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []*vaultRecord{}
	for rows.Next() {
		r := &vaultRecord{}
		if err := r.scan(rows); err != nil {
			return nil, fmt.Errorf("read the vault: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
