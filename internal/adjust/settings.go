package adjust

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Settings reads an app's settings by section, all sections when none is named: GET
// /app/{token}/settings. Any app of the account has them. The content of a section is returned as
// it is: see dev.adjust.com/en/api/app-automation-api/app-settings-endpoint for those whose shape
// is known. Sections such as sdk_secrets hold secrets. The answer may wrap the sections in an
// object, and may have the content of a single section that was asked for without its name. An
// empty answer (204) is Unclear. Any other list is returned under the name "settings".
func (c *Client) Settings(ctx context.Context, token string, sections ...string) (map[string]json.RawMessage, error) {
	q := call{
		op: "read settings of app " + opPart(token), path: []string{"app", token, "settings"},
		query: url.Values{"sections": sections}, what: "an object of sections",
	}
	raw, err := sendCall(ctx, c, q)
	switch {
	case err != nil:
		return nil, err
	case len(raw) == 0:
		return nil, q.unclear(raw)
	}
	for range 2 {
		if o := asObject(raw); len(o) == 1 {
			for _, around := range []string{"settings", "sections", "data", "result"} {
				if v := bytes.TrimSpace(field(o, around)); len(v) > 0 && (v[0] == '{' || v[0] == '[') {
					raw = v
				}
			}
		}
	}
	all := map[string]json.RawMessage{}
	for name, section := range asObject(raw) {
		all[strings.ToLower(name)] = section
	}
	switch {
	case len(all) > 0 || len(asList(raw)) == 0:
	case len(sections) == 1:
		all[sections[0]] = raw
	default:
		all["settings"] = raw
	}
	return all, nil
}

// SettingsCSV writes the settings of apps to w, as CSV in UTF-8: GET /settings/csv. Without tokens
// it writes all apps of the account, without sections all sections. The names of both parameters
// are guesses, and so are the columns. w gets the whole answer or nothing; an answer of more than
// answerLimit bytes is an error. Nothing matching (204) writes nothing.
func (c *Client) SettingsCSV(ctx context.Context, w io.Writer, tokens, sections []string) error {
	r, err := c.automationRequest(call{
		op: "export settings", path: []string{"settings", "csv"}, query: url.Values{"app_tokens": tokens,
			"sections": sections},
	})
	if err != nil {
		return err
	}
	r.Types, r.Never = csvTypes, "<{"
	var whole []byte
	r.Read = func(from io.Reader) error {
		var err error
		whole, err = io.ReadAll(&limitedReader{from, answerLimit})
		return err
	}
	if _, err := c.ask(ctx, r); err != nil {
		return err
	}
	if _, err := w.Write(whole); err != nil {
		return &Error{Op: r.Op, Err: fmt.Errorf("write what came: %w", err)}
	}
	return nil
}

// SignatureSettings are an Android app's settings of SDK signatures. The service's documents show
// no payload; the names are those of its answers elsewhere, or guesses.
type SignatureSettings struct {
	EnforceInstallSigning *bool `json:"enforce_install_signing,omitempty"` // nil leaves the setting as it is
	// AndroidFingerprints are SHA-1 digests of certificates, 20 bytes such as C4:BD:07:.... nil
	// leaves them as they are.
	AndroidFingerprints []string `json:"android_fingerprints,omitzero"`
	// Unknown holds the fields of an answer that this version doesn't know.
	Unknown map[string]json.RawMessage `json:"-"`
}

// Empty tells whether the answer had no settings.
func (s SignatureSettings) Empty() bool {
	return s.EnforceInstallSigning == nil && s.AndroidFingerprints == nil && len(s.Unknown) == 0
}

// UpdateSignature changes those settings of one app that aren't nil, and returns all, or none if
// the answer has none: PATCH /app/{token}/signature. It is sent again after a lost answer: it sets
// values, and the same values twice are the same.
func (c *Client) UpdateSignature(ctx context.Context, token string, s SignatureSettings) (now SignatureSettings,
	err error) {
	raw, err := sendCall(ctx, c, call{
		op: "update signature of app " + opPart(token), method: http.MethodPatch,
		path: []string{"app", token, "signature"}, body: s, what: "signature settings",
	})
	if err != nil {
		return now, err
	}
	raw = unwrap(raw, []string{"enforce_install_signing", "android_fingerprints"}, "signature", "settings", "app")
	if Unmarshal(raw, &now) != nil {
		return SignatureSettings{}, nil
	}
	return now, nil
}
