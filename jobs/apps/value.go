package apps

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/lazy"
)

// canonical returns a value in the types that JSON decodes to, with numbers as json.Number.
func canonical(v any) any {
	data, err := json.Marshal(plain(v))
	if err != nil {
		panic("apps: a declared value is plain data: " + err.Error())
	}
	var out any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		panic("apps: what was just encoded: " + err.Error())
	}
	return out
}

// equal reports whether canonical values are equal. 1 and 1.0 are.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, there := b[k]; !there || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, errX := strconv.ParseFloat(a.String(), 64)
		y, errY := strconv.ParseFloat(b.String(), 64)
		return a == b || errX == nil && errY == nil && x == y && strings.ContainsAny(a.String()+b.String(), ".eE")
	}
	return a == b
}

var (
	// secretName finds a key that names a credential.
	secretName = lazy.Regexp(`(?i)secret|password|passwd|private|credential|api_?key|access_?key|auth|bearer|sdk_?key`)
	// secretQuery finds a query's parameter that is likely a credential. Placeholders such as
	// {gps_adid} aren't.
	secretQuery = lazy.Regexp(`(?i)([?&][^=&{}]*(?:token|key|secret|pass|sig|auth)[^=&{}]*=)[^&{}]+`)
	// userInfo finds the user and the password in an address.
	userInfo = lazy.Regexp(`([a-z][a-z0-9+.-]*://)[^/@\s]+@`)
)

// hides reports whether the value at a path is a credential or may be one. The path ends with the
// value's key.
func hides(path []string) bool {
	key := path[len(path)-1]
	i := slices.Index(path, "channel_setup")
	switch {
	case i == 0 && len(path) >= 3:
		return hiddenSetup(path[1], path[2])
	case i > 0 && len(path) >= i+2: // among the settings of one partner
		return hiddenSetup(path[i-1], path[i+1])
	case slices.Contains(path, "sdk_secrets") && key == "value", slices.Contains(path, "csv_upload_settings") &&
		key == "key":
		return true
	}
	return secretName().MatchString(key) && !slices.Contains([]string{"sdk_secrets", "secrets", "combined_secrets"},
		key)
}

// hiddenSetup reports whether a parameter of channel setup is a credential. A parameter that the
// interface document doesn't list may be anything, and is hidden.
func hiddenSetup(partner, parameter string) bool {
	for _, p := range catalog.Partners() {
		for _, s := range p.Setup {
			if p.Slug == partner && s.Name == parameter {
				return s.Secret
			}
		}
	}
	return true
}

// Mask returns a value, as JSON decodes it, without what may be a credential. path says where the
// value is, such as channel_setup; items of lists are addressed by their names.
func Mask(v any, path ...string) any {
	path = slices.Clip(path)
	switch v := v.(type) {
	case Secret:
		return notShown
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if at := append(path, k); hides(at) {
				out[k] = notShown
			} else {
				out[k] = Mask(e, at...)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			at := path
			if name := idOf(e); name != "" && len(path) > 0 { // without a path, the items are apps
				at = append(path, name)
			}
			out[i] = Mask(e, at...)
		}
		return out
	case string:
		return maskText(v)
	}
	return v
}

// idOf returns the name or ID that tells an item of a list from the others, or "" if it has none.
func idOf(item any) string {
	m, _ := item.(map[string]any)
	for _, key := range []string{"name", "id"} {
		if id, ok := m[key].(string); ok {
			return id
		}
	}
	return ""
}

// maskText hides credentials in the addresses in a text.
func maskText(s string) string {
	return secretQuery().ReplaceAllString(userInfo().ReplaceAllString(s, "${1}***@"), "${1}***")
}

// shown returns a value as JSON in one line, without credentials.
func shown(v any, path ...string) string {
	if v == nil {
		return "(none)"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Mask(v, path...)); err != nil {
		return notShown
	}
	return strings.TrimSpace(b.String())
}
