package adjust

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
)

// Secrets are an app's SDK secrets. Their shape is that of
// dev.adjust.com/en/api/app-automation-api/sdk-secrets-endpoint.
type Secrets struct {
	Combined CombinedSecrets `json:"combined_secrets"`
	// How many secrets RevokeOutdatedSecrets revoked: 0 if an earlier attempt did it already; empty
	// if the answer doesn't say.
	Revoked Text `json:"revoked"`
}

// CombinedSecrets are the secrets of all versions.
type CombinedSecrets struct {
	EnforceInstallSigning bool     `json:"enforce_install_signing"`
	Secrets               []Secret `json:"secrets"`
}

// A Secret is one SDK secret. Its value is hidden however it is printed.
type Secret struct {
	ID              Text   `json:"id"` // a number
	Version         int    `json:"version"`
	Active          bool   `json:"active"`
	Name            string `json:"name"`             // versions 1 and 2
	Value           Hidden `json:"value"`            // versions 1 and 2: a list of four strings, as JSON
	InternalVersion Text   `json:"internal_version"` // a number; of version 3 a text such as 3.47.0
	Platform        string `json:"platform"`         // version 3, as are the next three
	Label           string `json:"label"`
	Scope           string `json:"scope"` // such as all-traffic
	Algorithm       string `json:"algorithm"`
	CreatedAt       string `json:"created_at"` // RFC 3339
	UpdatedAt       string `json:"updated_at"`
}

// Hidden is a secret value of an answer, which isn't printed. Text returns it, as JSON.
type Hidden struct{ json string }

// Text returns the value itself.
func (h Hidden) Text() string { return h.json }

// String hides the value.
func (h Hidden) String() string { return "[secret]" }

// GoString hides the value.
func (h Hidden) GoString() string { return h.String() }

// MarshalJSON hides the value.
func (h Hidden) MarshalJSON() ([]byte, error) { return json.Marshal(h.String()) }

// UnmarshalJSON takes any value.
func (h *Hidden) UnmarshalJSON(b []byte) error {
	h.json = string(b)
	return nil
}

// Outdated says which SDK secrets RevokeOutdatedSecrets revokes.
type Outdated struct {
	// MinActiveVersion is the lowest version whose secrets aren't revoked. 0 leaves it to the
	// service, whose default is 3.
	MinActiveVersion int `json:"min_active_version,omitempty"`
	// Force revokes them even if no active secret is left, which the service refuses otherwise.
	Force bool `json:"force,omitempty"`
}

// RevokeOutdatedSecrets revokes an app's SDK secrets of old versions: POST
// /app/{token}/secrets/revoke_outdated. It is sent again after a lost answer: what is revoked stays
// so.
func (c *Client) RevokeOutdatedSecrets(ctx context.Context, token string, o Outdated) (Secrets, error) {
	return c.secretsCall(ctx, call{op: "revoke outdated secrets of app " + opPart(token),
		path: []string{"app", token, "secrets", "revoke_outdated"}, body: o})
}

// RevokeSecret revokes one SDK secret: POST /app/{token}/secrets/{id}/revoke. The documents show
// neither payload nor answer; nothing is sent, and the answer is taken for that of
// RevokeOutdatedSecrets. It is sent again after a lost answer: what is revoked stays so.
func (c *Client) RevokeSecret(ctx context.Context, token, id string) (Secrets, error) {
	return c.secretsCall(ctx, call{op: "revoke secret " + opPart(id) + " of app " + opPart(token),
		path: []string{"app", token, "secrets", id, "revoke"}, body: struct{}{}})
}

// ReactivateSecret makes sure that an SDK secret is active and, when scope isn't empty, has that
// scope, which only version 3 knows: POST /app/{token}/secrets/{id}/reactivate. Payload and answer
// are guesses. It is sent again after a lost answer: it sets values, and the same values twice are
// the same.
func (c *Client) ReactivateSecret(ctx context.Context, token, id, scope string) (Secrets, error) {
	return c.secretsCall(ctx, call{
		op:   "reactivate secret " + opPart(id) + " of app " + opPart(token),
		path: []string{"app", token, "secrets", id, "reactivate"},
		body: struct {
			Scope string `json:"scope,omitempty"`
		}{scope},
	})
}

// secretsCall sends q and returns the secrets of its answer, which may be an object with those of
// all versions, a bare list, or have none at all.
func (c *Client) secretsCall(ctx context.Context, q call) (s Secrets, err error) {
	q.method, q.what = http.MethodPost, "an object of secrets"
	raw, err := sendCall(ctx, c, q)
	if err != nil {
		return s, err
	}
	raw = unwrap(raw, []string{"combined_secrets", "secrets", "revoked"})
	switch o := asObject(raw); {
	case o == nil:
		err = Unmarshal([]byte(cmp.Or(string(raw), "[]")), &s.Combined.Secrets)
	case !hasAny(o, []string{"combined_secrets"}) && hasAny(o, []string{"secrets"}):
		err = Unmarshal(raw, &s.Combined)
	default:
		err = Unmarshal(raw, &s)
		if list := asList(field(o, "combined_secrets")); list != nil {
			err = Unmarshal(field(o, "combined_secrets"), &s.Combined.Secrets)
		}
	}
	if err != nil {
		return Secrets{}, nil
	}
	return s, nil
}
