package apps

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
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

// scan reads a row of vaultColumns.
func (r *vaultRecord) scan(row interface{ Scan(...any) error }) error {
	return row.Scan(&r.id, &r.section, &r.store, &r.sealed, &r.created, &r.updated)
}

// findRecord returns the first record that meets a condition, or nil when there is none.
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

// firstRecord returns the oldest record, or nil when the vault is empty.
func firstRecord(tx *sql.Tx) (*vaultRecord, error) {
	return findRecord(tx, "ORDER BY position LIMIT 1")
}

// putVault answers POST /vault: it encrypts the data, which replaces that of a record of the same
// section and store.
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
	if err := c.service.vault.seal(r, data); err != nil {
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

// readCloud reads the account's access to its cloud storage, and returns the part that isn't
// secret, which goes into apps' settings. It notes what is wrong without a word of the data.
// Source: the service's page about the vault.
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

// listVault answers GET /vault: every record, with its data encrypted.
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

// vaultKey encrypts the vault's data, by AES-256 in GCM. With Options.DB of package emulator the
// key is in a file beside the database that only its owner may read, made when something is first
// encrypted; without it the key is gone with the process.
type vaultKey struct {
	file string // "": the key isn't written to a file

	mu   sync.Mutex
	aead cipher.AEAD
}

// openVault returns an error if the key in the vault's file can't decrypt the database's records.
func (s *Service) openVault() error {
	if s.vault.file == "" {
		return nil
	}
	return s.store.Change(context.Background(), func(tx *sql.Tx) error {
		r, err := firstRecord(tx)
		if err != nil || r == nil {
			return err
		}
		if _, err = os.Stat(s.vault.file); err == nil {
			_, err = s.vault.open(r)
		}
		if err != nil {
			return fmt.Errorf("its vault was sealed with the key in %s, which must stay beside it: %w", s.vault.file,
				err)
		}
		return nil
	})
}

// cipher returns the cipher, after reading or making the key.
func (k *vaultKey) cipher() (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.aead != nil {
		return k.aead, nil
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	if k.file != "" {
		var err error
		if key, err = keyIn(k.file, key); err != nil {
			return nil, err
		}
	}
	block, err := aes.NewCipher(key)
	if err == nil {
		k.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		return nil, fmt.Errorf("read the vault's key: %w", err)
	}
	return k.aead, nil
}

// keyIn returns the key in a file. If the file doesn't exist, it is made with the fresh key.
func keyIn(file string, fresh []byte) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(base64.StdEncoding.EncodeToString(fresh) + "\n")
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return nil, fmt.Errorf("keep the vault's key: %w", err)
		}
		return fresh, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("keep the vault's key: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the vault's key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != len(fresh) {
		return nil, fmt.Errorf("read the vault's key: %s holds none", file) // its bytes aren't shown
	}
	return key, nil
}

// about returns the additional data that binds encrypted data to its section and store, so that it
// can't be moved to another record.
func (r *vaultRecord) about() []byte { return fmt.Appendf(nil, "%q %q", r.section, r.store) }

// seal encrypts a text into the record, behind a fresh nonce.
func (k *vaultKey) seal(r *vaultRecord, plain string) error {
	aead, err := k.cipher()
	if err != nil {
		return err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	r.sealed = aead.Seal(nonce, nonce, []byte(plain), r.about())
	return nil
}

// open decrypts a record; an error says nothing of what is in it.
func (k *vaultKey) open(r *vaultRecord) (string, error) {
	aead, err := k.cipher()
	if err != nil {
		return "", err
	}
	if len(r.sealed) < aead.NonceSize() {
		return "", errors.New("the vault's record is too short")
	}
	plain, err := aead.Open(nil, r.sealed[:aead.NonceSize()], r.sealed[aead.NonceSize():], r.about())
	if err != nil {
		return "", errors.New("the vault's record doesn't fit its key")
	}
	return string(plain), nil
}
