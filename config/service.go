package config

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
)

// serviceObject has no defaults of the addresses: the interface document leaves the hosts open, and a wrong one would
// be sent a token.
func serviceObject(s *Service) object {
	*s = Service{Rate: 10, Attempts: 8, Patience: 15 * time.Minute}
	return object{what: "service", fields: []field{
		required("base_url", address, &s.BaseURL, "Host of automation and reports, such as https://automate.adjust.com."),
		optional("s2s_url", address, &s.S2SURL, "Host of third-party sharing."),
		optional("cost_url", address, &s.CostURL, "Host of ad spend."),
		optional("spend", login("spend"), &s.Spend, "The partner's credential at cost_url. The API token is never sent there."),
		optional("sharing", login("sharing"), &s.Sharing, "The credential at s2s_url, where apps ask for one. The API token is never sent there."),
		optional("account_id", word, &s.AccountID, "The account to ask for, when the token's user has several."),
		required("token", tokenReference, &s.Token, "Where the API token is, never the token itself: ${NAME} of an environment variable, "+
			"${file:/path}, or a gcpsecretmanager:// or file:// URL."),
		optional("rate", rate, &s.Rate, "Requests a second. The service takes 50 from one address."),
		optional("in_flight", whole(1, 1000), &s.InFlight, "Requests at a time, and windows under way. Default: what the rate needs while answers take two seconds, at most 50."),
		optional("attempts", whole(1, 1000), &s.Attempts, "Tries of one request."),
		optional("patience", duration(time.Second), &s.Patience, "Time for all tries of one request, such as 90s or 15m."),
	}}
}

// login is the block of a host's credential.
func login(what string) shape[Login] {
	object := func(l *Login) object {
		*l = Login{Header: "Authorization"}
		return object{what: what, fields: []field{
			required("token", tokenReference, &l.Token, "Where the credential is, never the credential itself; as token of the service."),
			optional("header", headerName, &l.Header, "HTTP header that carries it: Authorization as a Bearer token, any other alone."),
		}}
	}
	return shape[Login]{
		func(d *decoder, n ast.Node, _ string) (l Login, ok bool) { return l, d.object(n, object(&l)) != nil },
		func() *jsonschema.Schema { return object(new(Login)).schema() },
	}
}

var headerName = matching(expr(`^[A-Za-z][A-Za-z0-9-]{0,63}$`), "is no name of an HTTP header")

const embedded = "embedded"

// service is the word embedded, or a mapping.
var service = shape[Service]{
	func(d *decoder, n ast.Node, key string) (Service, bool) {
		var s Service
		if word, ok := d.textOf(n); ok {
			if word != embedded {
				d.fail(n, "%s: want the word embedded, or a mapping with base_url and token", key)
			}
			serviceObject(&s)
			s.Embedded = true
			return s, true
		}
		return s, d.object(n, serviceObject(&s)) != nil
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Const: embedded, Description: "The emulator in this process: no account, made-up numbers."},
			serviceObject(new(Service)).schema(),
		}}
	},
}

var rate = shape[float64]{
	func(d *decoder, n ast.Node, key string) (float64, bool) {
		v, ok := d.number(n, key)
		if ok && v <= 0 {
			d.fail(n, "%s: want more than 0 requests a second, got %v", key, v)
			return 0, false
		}
		return v, ok
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "number", ExclusiveMinimum: json.Number("0")}
	},
}

// address is a host's URL; the host of a plain http one can only be this machine. Messages don't repeat it: people
// paste credentials into URLs.
var address = shape[string]{
	func(d *decoder, n ast.Node, key string) (string, bool) {
		s, ok := d.text(n, key)
		if !ok {
			return "", false
		}
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Host == "" || (!strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://")):
			d.fail(n, "%s: want an address like https://host", key)
		case u.User != nil || strings.ContainsAny(s, "?#"):
			d.fail(n, "%s: want scheme, host and path only; a credential belongs under token", key)
		case u.Scheme == "http" && !loopback(u.Hostname()):
			d.fail(n, "%s: http would send the token in clear to %s; use https", key, u.Hostname())
		default:
			return strings.TrimSuffix(s, "/"), true
		}
		return "", false
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{
			Type: "string", Pattern: `^(https://[^/?#@]+|http://(localhost|127(\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?)(/[^?#]*)?$`,
		}
	},
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// tokenPattern is what may stand for a token: an environment variable, a file, or a runtimevar URL of a store that is
// not the config itself (constant:// would be).
var tokenPattern = expr(`^(\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$\{file:[^}]+\}|(gcpsecretmanager|file)://\S+)$`)

// tokenReference is not of matching, whose message repeats the text.
var tokenReference = shape[string]{
	func(d *decoder, n ast.Node, key string) (string, bool) {
		s, _ := d.rawText(n)
		if !tokenPattern.MatchString(s) {
			d.fail(n, "%s: want a reference, never the token itself: ${NAME} of an environment variable, "+
				"${file:/path}, or a gcpsecretmanager:// or file:// URL", key)
			return "", false
		}
		return s, true
	},
	func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: tokenPattern.String()} },
}
