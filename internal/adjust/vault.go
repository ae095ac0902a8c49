package adjust

import (
	"context"
	"encoding/json"
	"net/http"
)

// A VaultRecord is what the service shows of a stored credential. Its shape is that of
// dev.adjust.com/en/api/app-automation-api/vault-endpoint, but for ID and the times.
type VaultRecord struct {
	ID        Text   `json:"id"`
	Section   string `json:"section"`
	Store     Text   `json:"store"`      // empty if the record has none
	Data      Hidden `json:"data"`       // encrypted, and hidden however it is printed
	CreatedAt string `json:"created_at"` // RFC 3339
	UpdatedAt string `json:"updated_at"`
}

// vaultFields are fields that only a record itself has.
var vaultFields = []string{"section", "store"}

// PutVault stores a credential for later jobs, in place of the one for the same section and store:
// POST /vault. store may be empty. data is in no error and no log. An answer that tells nothing of
// the record means that it was taken; the result has no section then. It is sent again after a lost
// answer: the same data replaces itself.
func (c *Client) PutVault(ctx context.Context, section, store, data string) (VaultRecord, error) {
	raw, err := sendCall(ctx, c, call{
		op: "put into vault", method: http.MethodPost, path: []string{"vault"}, hidden: withoutShort(textsOf(data)),
		what: "a record of the vault",
		body: struct {
			Section string `json:"section"`
			Store   string `json:"store,omitempty"`
			Data    string `json:"data"`
		}{section, store, data},
	})
	list, ok := recordsIn(raw)
	if err != nil || !ok || len(list) != 1 {
		return VaultRecord{}, err
	}
	return list[0], nil
}

// Vault lists the account's records: GET /vault. The list may come in an object.
func (c *Client) Vault(ctx context.Context) ([]VaultRecord, error) {
	q := call{op: "list vault", path: []string{"vault"}, what: "a list of records"}
	raw, err := sendCall(ctx, c, q)
	if err != nil {
		return nil, err
	}
	list, ok := recordsIn(raw)
	if !ok {
		return nil, q.unclear(raw)
	}
	return list, nil
}

// recordsIn reads the records of an answer: one, or a list, or either of them wrapped in an object.
// An empty answer, null and {} have no records; ok is false for anything else.
func recordsIn(raw json.RawMessage) (list []VaultRecord, ok bool) {
	raw = unwrap(raw, vaultFields, "record", "records", "vault", "vault_record", "vault_records")
	o := asObject(raw)
	switch {
	case asList(raw) != nil:
	case hasAny(o, vaultFields):
		raw = append(append([]byte{'['}, raw...), ']')
	default:
		return nil, len(o) == 0 && (len(raw) == 0 || raw[0] == '{' || string(raw) == "null" || string(raw) == "[]")
	}
	err := Unmarshal(raw, &list)
	return list, err == nil
}
