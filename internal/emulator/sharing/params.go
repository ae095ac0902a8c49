package sharing

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// The indexes in plainNames of the parameters of /third_party_sharing that are plain texts.
const (
	paramS2S = iota
	paramApp
	paramIDFA
	paramGPSADID
	paramSharing
)

var plainNames = [...]string{"s2s", "app_token", "idfa", "gps_adid", "sharing"}

// The two parameters that are objects, and the limit of a request.
const (
	settingsName = "partner_sharing_settings"
	optionsName  = "granular_third_party_sharing_options"

	tooLarge = "Request size too large"

	bodyLimit = 1 << 20 // bytes. Source: the service's page on server-to-server calls
)

// params are parameters as they were sent in one place. If a plain one is repeated, the first one
// counts.
type params struct {
	plain             [len(plainNames)]string
	settings, options objectParam
}

// objectParam is an object that came as JSON texts, or piece by piece as name[a][b]=value, or both.
type objectParam struct {
	texts  []json.RawMessage // not yet checked
	pieces []piece
	inJSON bool // the texts came in a body of JSON
}

// requireJSONBody makes an object invalid if it didn't come in a JSON body.
func (p *objectParam) requireJSONBody() {
	if !p.inJSON && !p.empty() {
		p.texts, p.pieces = []json.RawMessage{json.RawMessage("(not in a JSON body)")}, nil
	}
}

// piece is one name[a][b]=value of a form.
type piece struct {
	path  []string // a, b; nil when the brackets make no sense
	value string
}

// empty reports whether the object wasn't sent at all.
func (p objectParam) empty() bool { return len(p.texts) == 0 && len(p.pieces) == 0 }

// readParams reads the query and the body. Where both have a parameter, that of the body counts.
// refused is the service's word for what can't be read at all.
func readParams(r *http.Request) (p params, refused string) {
	if r.Method != http.MethodPost {
		return p, "Method not allowed"
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	if len(body) > bodyLimit || len(r.URL.RawQuery) > bodyLimit {
		return p, tooLarge
	}
	if err != nil {
		return p, "Malformed request body"
	}
	var query params
	if refused = query.readForm(r.URL.RawQuery); refused != "" {
		return p, refused
	}
	switch contentType := r.Header.Get("Content-Type"); {
	case wire.IsForm(contentType):
		refused = p.readForm(string(body))
	case isJSON(contentType) && len(body) > 0:
		refused = p.readJSON(body)
	}
	for i, value := range query.plain {
		if p.plain[i] == "" {
			p.plain[i] = value
		}
	}
	if p.settings.empty() {
		p.settings = query.settings
	}
	if p.options.empty() {
		p.options = query.options
	}
	return p, refused
}

// isJSON tells whether a Content-Type is that of JSON.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// readForm reads a query or a form.
func (p *params) readForm(encoded string) (refused string) {
	for encoded != "" {
		var pair string
		pair, encoded, _ = strings.Cut(encoded, "&")
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return "Malformed request (bad escape)"
		}
		if value != "" { // an empty parameter is a missing one
			p.put(name, value)
		}
	}
	return ""
}

// put takes one parameter of a form; unknown ones are ignored.
func (p *params) put(name, value string) {
	if i := slices.Index(plainNames[:], name); i >= 0 {
		if p.plain[i] == "" {
			p.plain[i] = value
		}
		return
	}
	base, brackets, pieced := strings.Cut(name, "[")
	object := p.object(base)
	switch {
	case object == nil:
	case pieced:
		object.pieces = append(object.pieces, piece{bracketPath(brackets), value})
	default:
		object.texts = append(object.texts, json.RawMessage(value))
	}
}

// object returns the object parameter of that name; nil when none has it.
func (p *params) object(name string) *objectParam {
	switch name {
	case settingsName:
		return &p.settings
	case optionsName:
		return &p.options
	default:
		return nil
	}
}

// bracketPath splits "a][b]", the rest of a name after its first bracket, into a and b.
func bracketPath(s string) []string {
	s, ok := strings.CutSuffix(s, "]")
	if !ok {
		return nil
	}
	path := strings.Split(s, "][")
	if slices.ContainsFunc(path, func(s string) bool { return strings.ContainsAny(s, "[]") }) {
		return nil
	}
	return path
}

// readJSON reads a body of JSON, whose objects may be texts of JSON themselves.
func (p *params) readJSON(body []byte) (refused string) {
	const malformed = "Malformed request body"
	members, ok := jsonParts(body, '{')
	if !ok {
		return malformed
	}
	for _, m := range members {
		text, isText := textOf(m.value)
		if object := p.object(m.name); object != nil {
			object.inJSON = true
			switch {
			case !isText:
				object.texts = append(object.texts, m.value)
			case text != "":
				object.texts = append(object.texts, json.RawMessage(text))
			}
			continue
		}
		i := slices.Index(plainNames[:], m.name)
		switch {
		case i < 0 || string(m.value) == "null" || p.plain[i] != "":
		case isText:
			p.plain[i] = text
		case m.value[0] == '{' || m.value[0] == '[':
			return malformed
		default:
			p.plain[i] = string(m.value)
		}
	}
	for _, object := range []*objectParam{&p.settings, &p.options} {
		object.texts = slices.DeleteFunc(object.texts, func(raw json.RawMessage) bool { return string(raw) == "null" })
	}
	return ""
}
