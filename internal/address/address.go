// Package address has the rules for every URL to which rows, reports or secrets are sent. Without
// it, sinks, buckets and senders of notices would each have their own rules for what may be shown
// of a URL, and for when plain HTTP is safe.
package address

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/reportferry/reportferry/internal/rooted"
)

// Redact removes from a URL what may be secret: user name, password, query and fragment. For a
// folder that a config names by a relative path, it returns that path.
func Redact(rawURL string) string {
	u, err := url.Parse(rooted.Written(rawURL))
	if err != nil {
		scheme, _, _ := strings.Cut(rawURL, ":")
		return scheme + ":..."
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// InsecureKey is the parameter of a URL that allows plain HTTP to another machine.
const InsecureKey = "insecure"

// Insecure reports whether a URL allows that what goes there can be read, and changed, on the way.
func Insecure(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && u.Query().Get(InsecureKey) == "true"
}

// Encrypted returns an error for a plain HTTP address on another machine.
func Encrypted(address *url.URL) error {
	if address.Scheme != "http" || Loopback(address.Hostname()) {
		return nil
	}
	return errors.New("http:// would send rows or secrets unencrypted; want https://, or a server on this machine; " +
		"insecure=true in the URL allows it all the same")
}

// Loopback reports whether a host is this machine, which a secret in clear text doesn't leave.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
