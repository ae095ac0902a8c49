package apps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// Schema has the tables of what app automation made. record is the thing itself, as JSON, and
// position its place in the order of making. account_apps has the apps that requests made, and
// those apps of the seed whose settings were changed. In vault, data is encrypted and store may be
// empty.
const Schema = `
CREATE TABLE account_apps (position INTEGER PRIMARY KEY, token TEXT UNIQUE, store_id TEXT, platform TEXT, record TEXT,
	UNIQUE (store_id, platform));
CREATE TABLE tickets (position INTEGER PRIMARY KEY, token TEXT UNIQUE, app TEXT, open INT, record TEXT);
CREATE INDEX tickets_of_app ON tickets (app);
CREATE INDEX open_tickets ON tickets (open) WHERE open;
CREATE TABLE vault (position INTEGER PRIMARY KEY, section TEXT, store TEXT, data BLOB, created TEXT, updated TEXT, UNIQUE (section, store));`

// The platforms of apps.
const (
	android = "android"
	ios     = "ios"
)

// accountApp is an app of the account as app automation sees it.
type accountApp struct {
	ID       int
	Token    string
	Name     string
	BundleID string
	StoreID  string // in the platform's default store
	Platform string
	Managed  bool // made or updated through app automation

	Stores     map[string]otherStore `json:",omitempty"` // additional ones, by store type
	Channels   map[string]any        `json:",omitempty"` // channel_setup as it came
	Overrides  map[string]any        `json:",omitempty"`
	Editors    []string              `json:",omitempty"`
	SecretHash string                `json:",omitempty"` // of ios_pv_shared_secret, which nobody needs here

	Settings map[string]any // by section: a list of objects or an object; those of the other platform too
	Secrets  []sdkSecret
}

// otherStore is an app's ID in an additional store.
type otherStore struct {
	StoreID string `json:"store_id"`
}

// decodeKept reads JSON from the database; numbers keep every digit.
func decodeKept(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	return d.Decode(into)
}

// madeUp returns the apps that come from the seed.
func (s *Service) madeUp() []facts.App {
	account := s.world.Account()
	return account.Apps[:account.MadeUp]
}

// app finds any app of the account.
func (c *call) app(token string) (*accountApp, error) {
	a, err := c.service.keptApp(c.tx, "token=?", token)
	if a != nil || err != nil {
		return a, err
	}
	for i, a := range c.service.madeUp() {
		if a.Token == token {
			return c.service.madeUpApp(i), nil
		}
	}
	return nil, errNoApp
}

// errNoApp is the answer about an app that isn't there.
var errNoApp = wire.BadRequest("App not found")

// appByStore finds any app of the account by its default store; nil if there is none.
func (c *call) appByStore(storeID, platform string) (*accountApp, error) {
	a, err := c.service.keptApp(c.tx, "store_id=? AND platform=?", storeID, platform)
	if a != nil || err != nil {
		return a, err
	}
	for i, a := range c.service.madeUp() {
		if defaultPlatform(&a) == platform && defaultStore(&a, c.service.world.Seed, i) == storeID {
			return c.service.madeUpApp(i), nil
		}
	}
	return nil, nil
}

// keptApp reads from the database the app that meets a condition; nil when there is none.
func (s *Service) keptApp(tx *sql.Tx, where string, args ...any) (*accountApp, error) {
	var text string
	err := tx.QueryRow("SELECT record FROM account_apps WHERE "+where, args...).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	a := &accountApp{}
	if err == nil {
		err = decodeKept(text, a)
	}
	if err != nil {
		return nil, fmt.Errorf("read app: %w", err)
	}
	return a, nil
}

// apps lists all apps of the account, first those of the seed and then those that requests made, or
// only the managed ones, in order of making.
func (c *call) apps(managed bool) (out []*accountApp, err error) {
	if !managed {
		for i := range c.service.madeUp() {
			out = append(out, c.service.madeUpApp(i))
		}
	}
	rows, err := c.tx.Query("SELECT record FROM account_apps ORDER BY position")
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		a := &accountApp{}
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("read apps: %w", err)
		}
		if err := decodeKept(text, a); err != nil {
			return nil, fmt.Errorf("read apps: %w", err)
		}
		if i := slices.IndexFunc(out, func(b *accountApp) bool { return b.Token == a.Token }); i >= 0 {
			out[i] = a
		} else if a.Managed || !managed {
			out = append(out, a)
		}
	}
	return out, rows.Err()
}

// save writes an app to the database, and declares it to the account that reports show.
func (c *call) save(a *accountApp) error {
	text, err := json.Marshal(a)
	if err == nil {
		_, err = c.tx.Exec(`INSERT INTO account_apps (token, store_id, platform, record) VALUES (?,?,?,?)
			ON CONFLICT (token) DO UPDATE SET record=excluded.record`, a.Token, a.StoreID, a.Platform, string(text))
	}
	if err != nil {
		return fmt.Errorf("keep app: %w", err)
	}
	d := facts.Declared{Token: a.Token, Name: a.Name, Platform: a.Platform, StoreID: a.StoreID}
	for _, e := range objectsOf(a.Settings["events"]) {
		name, _ := e["name"].(string)
		token, _ := e["token"].(string)
		d.Events = append(d.Events, facts.AppEvent{Name: name, Token: token})
	}
	return c.account.Declare(context.Background(), d, facts.DayOf(c.service.opts.Now()))
}

// streamOf returns a random stream that depends on the seed and the parts alone, so that the same
// calls make the same tokens.
func (s *Service) streamOf(parts ...string) *facts.Random {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q", s.world.Seed, parts))
	r := facts.Random(binary.LittleEndian.Uint64(sum[:]))
	return &r
}

// newAppToken makes a token that no app of the account has.
func (c *call) newAppToken(platform, storeID string) (string, error) {
	for r := c.service.streamOf("app", platform, storeID); ; {
		token := r.Token(12)
		if _, err := c.app(token); err != nil {
			var e *wire.Error
			if errors.As(err, &e) {
				return token, nil
			}
			return "", err
		}
	}
}

// stamp writes a time as the service does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
