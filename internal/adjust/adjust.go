// Package adjust is the typed client of the measurement service; without it every caller would
// spell the service's paths, parameters and answers by itself, and each would read what the
// documents leave open in its own way.
//
// It holds all four areas of the service, an endpoint a file, and nothing of jobs:
//
//	reports      events, csv_report, filters_data          base_url    Events, CSVReport, FiltersData
//	automation   apps, events, secrets, vault, tickets     base_url    App, CreateApp, SubmitEvents, Vault, Ticket, ...
//	sharing      a device's choice on third-party sharing  s2s_url     ShareThirdParty
//	ad spend     what an engagement has cost               cost_url    SubmitSpend
//
// Each method makes one [transport.Request] and hands it to the one attempt loop, in package
// transport, which paces and repeats requests, keeps tokens out of errors, and checks that an
// answer is whole. These are sent again after a lost answer, and each method says why:
//
//   - reads
//   - every write of app automation, because it sets what it names and finds what an earlier
//     attempt made
//   - records of third-party sharing, because the same choice twice is the same
//   - records of ad spend, only when the caller says so
//
// Shapes come from the interface document kept with the emulator, and where that shows none from
// the pages of dev.adjust.com named beside each type. A value that may come under another name is
// looked for in Unknown, which holds the fields that a type doesn't have.
//
// The documents leave the following open, and it is guessed here. Of ad spend:
//
//   - The key is a Bearer token unless SpendAuth names another header or a parameter. Without a key
//     no credential is sent.
//   - 429 and 503, which aren't among the documented answers, mean that nothing was taken.
//   - Any 200, 201, 202 or 204, except a page of HTML, means that the record was taken.
//   - 409, and a 400 that says so, mean that a record with its Cost ID was taken already.
//
// Of app automation:
//
//   - X-Account-ID chooses the account there too.
//   - Further Android stores are sent as additional_stores, by store type.
//   - AppByStore's filter is store; SettingsCSV's parameters are app_tokens and sections.
//   - A signature's settings are enforce_install_signing and android_fingerprints, and the answer
//     has all of them.
//   - RevokeSecret sends an empty object, ReactivateSecret a scope; the service answers both as it
//     answers RevokeOutdatedSecrets.
//   - A failure in a ticket is a text, or has a name and a detail.
//   - 404, and a 400 that says "not found", are ErrNotFound. Another 4xx about one thing, and an
//     answer of another shape, are Unclear.
//   - 408, 429, 503 and 504 are temporary, although the documents have none of them.
//   - An answer begins within a minute.
//
// Of third-party sharing:
//
//   - The credential is optional, and a Bearer token unless SharingAuth names another header.
//   - Everything is sent in a form; settings and options are JSON text in it.
//   - A 202 about the authentication token, and a 400 that says "failed to authorize request", are
//     ErrAuth.
//   - More than 1 MiB is refused.
//   - 408, 429 and 5xx are temporary.
package adjust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

type (
	// Answer tells how a request went; see package transport.
	Answer = transport.Answer
	// Error is every error of a Client; see package transport.
	Error = transport.Error
	// Meter counts what requests cost; see package transport.
	Meter = transport.Meter
	// Waits are what requests wait for at the moment; see package transport.
	Waits = transport.Waits
	// Text is a string of an answer, or what else came in its place; see package transport.
	Text = transport.Text
)

// The errors that any endpoint's error may be.
var (
	ErrAuth        = transport.ErrAuth
	ErrUnreachable = transport.ErrUnreachable
	ErrClock       = transport.ErrClock
	ErrTooSlow     = transport.ErrTooSlow
	ErrUnknown     = transport.ErrUnknown
)

// Options say how to reach the service, and how much load to put on it. In a client without BaseURL
// the default of FirstByte is 30 seconds: such a client sends records only, and one record is no
// report.
type Options struct {
	transport.Options
	// Reports and app automation, such as https://automate.adjust.com. It may be empty if S2SURL or
	// CostURL isn't.
	BaseURL     string
	S2SURL      string                // third-party sharing, such as https://s2s.adjust.com
	CostURL     string                // ad spend, such as https://app.adjust.com
	MaxURL      int                   // most bytes of a report's address; default UsualMaxURL
	AccountID   string                // sent as X-Account-ID to BaseURL when not empty
	Token       transport.TokenSource // required with BaseURL
	SpendAuth   RecordAuth            // for CostURL; without a key no credential is sent there
	SharingAuth RecordAuth            // for S2SURL; without a key no credential is sent there
}

// RecordAuth says how the caller authenticates at cost_url or s2s_url. The service's documents
// leave the form open.
type RecordAuth struct {
	// The header that carries the key. In Authorization, the default, the key is a Bearer token; in
	// any other header it is the whole value.
	Header    string
	Parameter string                // the name of the parameter that carries the key instead of a header
	Key       transport.TokenSource // the reports' token is never sent there unless it is given here
}

// check returns an error for a name that no header, or no parameter, can have.
func (a RecordAuth) check() error {
	switch {
	case a.Header != "" && !transport.ValidHeader(a.Header):
		return fmt.Errorf("%q can't be the name of a header", a.Header)
	case a.Parameter != "" && !transport.ValidParameter(a.Parameter):
		return fmt.Errorf("%q can't be the name of a parameter", a.Parameter)
	}
	return nil
}

// credential returns a as the transport takes it, with the header's name in its canonical form.
// denied is the endpoint's own text of ErrAuth.
func (a RecordAuth) credential(denied error) *transport.Credential {
	return &transport.Credential{Header: http.CanonicalHeaderKey(cmp.Or(a.Header, "Authorization")),
		Parameter: a.Parameter, Source: a.Key, Denied: denied}
}

// Client sends requests to the service. It is safe for concurrent use. A read function given to it
// must not send requests through the same client, because it runs while its own request holds a
// slot.
type Client struct {
	transport     *transport.Client
	base          *url.URL // nil for a client that isn't for reports and app automation
	maxURL        int      // most bytes of a report's address
	mostHeldBytes int      // the constant of this name, unless a test lowers it
	account       string
	token         transport.TokenSource
	spend         *recordHost // nil for a client that isn't for ad spend
	sharing       *recordHost // nil for a client that isn't for third-party sharing
}

// New checks the options and makes a client. It sends nothing.
func New(o Options) (*Client, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, fmt.Errorf("open service: %w", err)
	}
	return c, nil
}

func newClient(o Options) (*Client, error) {
	base, cost, s2s, err := o.addresses()
	if err = errors.Join(err, o.SpendAuth.check(), o.SharingAuth.check()); err != nil {
		return nil, err
	}
	switch {
	case base != nil && o.Token == nil:
		return nil, errors.New("no token source")
	case base == nil && o.FirstByte == 0:
		o.FirstByte = 30 * time.Second
	}
	c := &Client{base: base, maxURL: cmp.Or(o.MaxURL, UsualMaxURL), mostHeldBytes: mostHeldBytes, account: o.AccountID,
		token: o.Token}
	if cost != nil {
		denied := errSpendAuth
		if o.SpendAuth.Key == nil {
			denied = errSpendKey
		}
		c.spend = &recordHost{url: cost.String(), credential: o.SpendAuth.credential(denied)}
	}
	if s2s != nil {
		c.sharing = &recordHost{url: s2s.String(), credential: o.SharingAuth.credential(errSharingAuth)}
	}
	c.transport, err = transport.New(o.Options)
	return c, err
}

// InFlight returns how many attempts may be under way at once.
func (c *Client) InFlight() int { return c.transport.InFlight() }

// Account returns the client of another account at the same address. Both share the limiter, and
// each has a cap of its own on requests in flight: inFlight, or that of the options when it is 0. A
// token that one has sent is in no error of the other.
func (c *Client) Account(id string, token transport.TokenSource, inFlight int) *Client {
	d := c.withTransport(c.transport.Apart(inFlight))
	d.account, d.token = id, token
	return d
}

// After limits the load of c and an earlier client, of the same service and with the same rate, to
// that of one of them alone. It is called before the first request.
func (c *Client) After(before *Client) {
	if c.base != nil && before.base != nil && *c.base == *before.base {
		c.transport.After(before.transport)
	}
}

// CloseIdle closes the connections that no request uses. A client that is no longer used needs no
// other cleanup.
func (c *Client) CloseIdle() { c.transport.CloseIdle() }

// ClockWarning returns a warning if, by the last answer, this machine's clock is somewhat off, or
// else "".
func (c *Client) ClockWarning() string { return c.transport.ClockWarning() }

// Metered returns the same client, with the same limiter and transport, that counts into m.
func (c *Client) Metered(m *Meter) *Client { return c.withTransport(c.transport.Metered(m)) }

// Watched returns the same client, with the same limiter and transport, that shows in w what it
// waits for.
func (c *Client) Watched(w *Waits) *Client { return c.withTransport(c.transport.Watched(w)) }

// Asking returns the same client, with the same limiter and transport, that calls may before each
// attempt leaves the process, after all waiting. An error of may ends the request, and nothing of
// that attempt is sent.
func (c *Client) Asking(may func(context.Context) error) *Client {
	return c.withTransport(c.transport.Asking(may))
}

// withTransport returns a copy of c that sends through t.
func (c *Client) withTransport(t *transport.Client) *Client {
	d := *c
	d.transport = t
	return &d
}

// addresses parses the addresses that are given. It parses BaseURL also when no address is given,
// which is an error.
func (o Options) addresses() (base, cost, s2s *url.URL, err error) {
	if o.CostURL != "" {
		if cost, err = parseBase("cost_url", o.CostURL, "https://app.adjust.com", "/cost"); err != nil {
			return nil, nil, nil, err
		}
		cost.Path += "/cost" // JoinPath leaves out the slash where there is no path
	}
	if o.S2SURL != "" {
		if s2s, err = parseBase("s2s_url", o.S2SURL, "https://s2s.adjust.com", "/third_party_sharing"); err != nil {
			return nil, nil, nil, err
		}
		s2s.Path += "/third_party_sharing"
	}
	if o.BaseURL != "" || cost == nil && s2s == nil {
		base, err = parseBase("base_url", o.BaseURL, "https://automate.adjust.com", "/reports-service",
			"/app-automation")
	}
	return base, cost, s2s, err
}

// parseBase parses an address. If the address was copied with one of the service's own paths, it
// cuts the path off.
func parseBase(name, s, example string, own ...string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(s, "/"))
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return nil, fmt.Errorf("%s must look like %s", name, example)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s must be a bare address, without user, query or fragment", name)
	}
	for _, path := range own {
		if before, _, has := strings.Cut(u.Path+"/", path+"/"); has {
			u.Path, u.RawPath = before, ""
		}
	}
	return u, nil
}
