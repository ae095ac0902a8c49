package adjust

import (
	"context"
	"encoding/json"
	"net/http"
)

// A VaultRecord is what the service tells of a stored credential. Its shape is that of
// dev.adjust.com/en/api/app-automation-api/vault-endpoint, but for ID and the times.
type VaultRecord struct {
	ID        Text   `json:"id"`
	Section   string `json:"section"`
	Store     Text   `json:"store"`      // empty: none
	Data      Hidden `json:"data"`       // encrypted, and hidden however it is printed
	CreatedAt string `json:"created_at"` // RFC 3339
	UpdatedAt string `json:"updated_at"`
	// Unknown holds the fields that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads a record and keeps its unknown fields.
func (v *VaultRecord) UnmarshalJSON(b []byte) (err error) {
	type fields VaultRecord
	v.Unknown, err = unmarshalRecord(b, (*fields)(v))
	return err
}

// PutVault stores a credential for later jobs, in place of the one for the same section and store: POST /vault. store may
// be empty. data is in no error and no log. It is sent again after a lost answer: the same data replaces itself.
func (c *Client) PutVault(ctx context.Context, section, store, data string) (VaultRecord, error) {
	return automate[VaultRecord](ctx, c, call{
		op: "put into vault", method: http.MethodPost, path: []string{"vault"}, hidden: secretsOfText(data), what: "a record of the vault",
		body: struct {
			Section string `json:"section"`
			Store   string `json:"store,omitempty"`
			Data    string `json:"data"`
		}{section, store, data},
	})
}

// Vault lists the account's records: GET /vault.
func (c *Client) Vault(ctx context.Context) ([]VaultRecord, error) {
	return automate[[]VaultRecord](ctx, c, call{op: "list vault", path: []string{"vault"}, what: "a list of records", mayBeEmpty: true})
}
