package config

import (
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// The addresses have no defaults: the interface document leaves the hosts open, and a wrong one would be sent a token.
func (d *decoder) service(n ast.Node) Service {
	s := Service{Rate: 10, InFlight: 4, Attempts: 8, Patience: 15 * time.Minute}
	if v, ok := d.resolve(n).(*ast.StringNode); ok {
		if v.Value != "embedded" {
			d.fail(n, "service: want the word embedded, or a mapping with base_url and token")
		}
		s.Embedded = true
		return s
	}
	d.mapping(n, "service", []field{
		{"base_url", true, func(n ast.Node) { s.BaseURL = d.address(n, "base_url") }},
		{"s2s_url", false, func(n ast.Node) { s.S2SURL = d.address(n, "s2s_url") }},
		{"cost_url", false, func(n ast.Node) { s.CostURL = d.address(n, "cost_url") }},
		{"account_id", false, func(n ast.Node) { s.AccountID, _ = d.word(n, "account_id") }},
		{"token", true, func(n ast.Node) { s.Token = d.token(n) }},
		{"rate", false, func(n ast.Node) {
			if v, ok := d.number(n, "rate"); ok {
				if v <= 0 {
					d.fail(n, "rate: want more than 0 requests a second, got %v", v)
				}
				s.Rate = v
			}
		}},
		{"in_flight", false, func(n ast.Node) { s.InFlight, _ = d.whole(n, "in_flight", 1, 1000) }},
		{"attempts", false, func(n ast.Node) { s.Attempts, _ = d.whole(n, "attempts", 1, 1000) }},
		{"patience", false, func(n ast.Node) { s.Patience, _ = d.duration(n, "patience", time.Second) }},
	}, nil)
	return s
}

// address reads a host's URL. Messages don't repeat it: people paste credentials into URLs.
func (d *decoder) address(n ast.Node, key string) string {
	s, ok := d.text(n, key)
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		d.fail(n, "%s: want an address like https://host", key)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.fail(n, "%s: want scheme, host and path only; a credential belongs under token", key)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		d.fail(n, "%s: http would send the token in clear to %s; use https", key, u.Hostname())
	}
	return strings.TrimSuffix(s, "/")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// tokenReference is what may stand for a token: an environment variable, a file, or a runtimevar URL of a store that
// is not the config itself (constant:// would be).
var tokenReference = regexp.MustCompile(`^(\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$\{file:[^}]+\}|(gcpsecretmanager|file)://\S+)$`)

func (d *decoder) token(n ast.Node) string {
	v, ok := d.resolve(n).(*ast.StringNode)
	if !ok || !tokenReference.MatchString(v.Value) {
		d.fail(n, "token: want a reference, never the token itself: ${NAME} of an environment variable, "+
			"${file:/path}, or a gcpsecretmanager:// or file:// URL")
		return ""
	}
	return v.Value
}
