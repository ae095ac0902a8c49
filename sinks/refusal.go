package sinks

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
)

// A Refusal is what a store has answered, in one line: the text of a store's own client is often long and repeats itself.
type Refusal struct {
	Text   string
	Cause  error // nil: the sink has refused by itself
	Denied bool  // a permission is missing, so that a retry can't help
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Unwrap() error { return r.Cause }

// Is lets callers who know nothing of the store recognise a missing permission as fs.ErrPermission.
func (r *Refusal) Is(target error) bool { return r.Denied && target == fs.ErrPermission }

// InsecureKey is the parameter of a URL that allows plain HTTP to another machine.
const InsecureKey = "insecure"

// Insecure reports whether a URL allows that what goes there can be read, and changed, on the way.
func Insecure(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && u.Query().Get(InsecureKey) == "true"
}

// Encrypted refuses an address of plain HTTP on another machine.
func Encrypted(address *url.URL) error {
	if address.Scheme != "http" || Loopback(address.Hostname()) {
		return nil
	}
	return errors.New("http:// would send rows or secrets unencrypted; want https://, or a server on this machine; insecure=true in the URL allows it all the same")
}

// Loopback reports whether a host is this machine, which a secret in clear text doesn't leave.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
