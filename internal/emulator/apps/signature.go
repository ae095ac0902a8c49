package apps

import (
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/wire"
	"github.com/reportferry/reportferry/internal/lazy"
)

// fingerprint is a SHA-1 of a certificate, 20 bytes. Source: the service's SDK documentation.
var fingerprint = lazy.Regexp(`^[0-9A-F]{2}(:[0-9A-F]{2}){19}$`)

// signature returns the app's signature settings, with the defaults in place.
func (a *accountApp) signature() map[string]any {
	object, _ := a.Settings["signature"].(map[string]any)
	return merged(map[string]any{"enforce_install_signing": false, "android_fingerprints": []any{}}, object)
}

// enforcesSigning reports whether installs that aren't signed are rejected.
func (a *accountApp) enforcesSigning() bool {
	b, _ := a.signature()["enforce_install_signing"].(bool)
	return b
}

// readSignature reads the two settings; the result lacks a setting that the request lacks.
func readSignature(f fields) map[string]any {
	out := map[string]any{}
	if f.has("enforce_install_signing") {
		out["enforce_install_signing"] = f.boolean("enforce_install_signing", false)
	}
	if !f.has("android_fingerprints") {
		return out
	}
	prints := []any{}
	for i, text := range f.texts("android_fingerprints") {
		text = strings.ToUpper(text)
		if text != "" && !fingerprint().MatchString(text) {
			f.errs.add(f.loc("android_fingerprints", i),
				"Input should be 20 bytes in hexadecimal, with colons between them")
		}
		prints = append(prints, text)
	}
	out["android_fingerprints"] = prints
	return out
}

// patchSignature answers PATCH /app/{app_token}/signature.
func (c *call) patchSignature() (any, error) {
	own := readSignature(c.body)
	if err := c.body.errs.err(); err != nil {
		return nil, err
	}
	a, err := c.app(c.path[0])
	if err != nil {
		return nil, err
	}
	if a.Platform != android {
		return nil, wire.BadRequest("Signature settings are for Android apps")
	}
	a.Settings["signature"] = merged(a.signature(), own)
	return a.Settings["signature"], c.save(a)
}
