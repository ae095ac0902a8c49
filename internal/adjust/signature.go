package adjust

import (
	"context"
	"encoding/json"
	"net/http"
)

// SignatureSettings are an Android app's settings of SDK signatures. The service's documents show no payload; the names
// are those of its answers elsewhere, or guesses.
type SignatureSettings struct {
	EnforceInstallSigning *bool    `json:"enforce_install_signing,omitempty"` // nil: as it is
	AndroidFingerprints   []string `json:"android_fingerprints,omitzero"`     // SHA-1 of certificates, 20 bytes such as C4:BD:07:...; nil: as they are
	// Unknown holds the fields of an answer that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads an answer and keeps its unknown fields.
func (s *SignatureSettings) UnmarshalJSON(b []byte) (err error) {
	type fields SignatureSettings
	s.Unknown, err = unmarshalRecord(b, (*fields)(s))
	return err
}

// UpdateSignature changes those settings of one app that aren't nil, and returns all: PATCH /app/{token}/signature. It is
// sent again after a lost answer: it sets values, and the same values twice are the same.
func (c *Client) UpdateSignature(ctx context.Context, token string, s SignatureSettings) (SignatureSettings, error) {
	return automate[SignatureSettings](ctx, c, call{
		op: "update signature of app " + opPart(token), method: http.MethodPatch, path: []string{"app", token, "signature"}, body: s, what: "signature settings",
	})
}
