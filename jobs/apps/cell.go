package apps

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/lazy"
)

// maskCell hides what looks like a credential in a value: the whole value, or parts of it when it
// is JSON or a text with names and values.
func maskCell(cell string) string {
	text := strings.TrimSpace(cell)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		var v any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if dec.Decode(&v) == nil && !dec.More() {
			return shownJSON(v)
		}
	}
	if strings.HasPrefix(text, `"`) && json.Valid([]byte(text)) { // JSON in JSON
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil {
			if masked := maskCell(inner); masked != inner {
				return masked
			}
			return cell
		}
	}
	return maskWords(cell)
}

// shownJSON returns v as JSON without its credentials.
func shownJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(maskJSON(v, nil)) != nil {
		return notShown
	}
	return strings.TrimSpace(b.String())
}

// maskJSON hides values by the keys that lead to them, and by what they look like. In an object
// that has a setting's name as a value, such as {"name": "password", "value": "..."}, it hides the
// other values if the name is a credential's.
func maskJSON(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		about := false // the object names a credential, so its other values may be the credential
		for k, e := range v {
			name, _ := e.(string)
			about = about || (pathColumn().MatchString(snake(k)) || snake(k) == "name") && nameLike(name) &&
				secretPath(steps(name))
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			at := append(slices.Clip(path), steps(k)...)
			_, isText := e.(string)
			named := pathColumn().MatchString(snake(k)) || plainColumn().MatchString(snake(k))
			switch {
			case secretPath(at) && e != nil, about && (!named || !isText):
				out[k] = notShown
			default:
				out[k] = maskJSON(e, at)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = maskJSON(e, path)
		}
		return out
	case string:
		return maskCell(v)
	}
	return v
}

var (
	// secretPair is a name and its value in a text: password=..., "api_key": "...", Authorization:
	// Bearer ...
	secretPair = lazy.Regexp(
		`(?i)([\w.-]*(?:secret|passw|pwd|private|credential|auth|bearer|api[_-]?key|access[_-]?key|sdk[_-]?key|signing[_-]?key|(?:api|access|auth|refresh)[_-]?token)[\w.-]*['"]?\s*(?:=>|[:=])\s*)("[^"]*"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s,;&'"{}]+)`)
	// secretForm finds credentials that can be recognised by their form, such as PEM and JWT, or by
	// their first characters.
	secretForm = lazy.Regexp(
		`-----BEGIN [A-Z ]*PRIVATE|\beyJ[\w-]{8,}\.|\b(AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\bgh[pousr]_\w{20,}|\bxox[abprs]-[\w-]{8,}|\b[sr]k_(live|test)_\w{8,}|\bya29\.[\w-]{8,}|\bSG\.[\w-]{8,}|(?i:\b(bearer|basic)\s+[\w.~+/=-]{6,})`)
)

// maskWords hides the credentials in a text that has no structure.
func maskWords(text string) string {
	if secretForm().MatchString(text) {
		return notShown
	}
	text = secretPair().ReplaceAllString(maskText(text), "${1}***")
	return keyText().ReplaceAllStringFunc(text, func(s string) string {
		if secretValue(s) {
			return "***"
		}
		return s
	})
}
