package adjust

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Options say how to reach the service and how hard to press it. Zero values stand for the defaults named below.
type Options struct {
	BaseURL     string        // reporting and automation, such as https://automate.adjust.com; may be empty beside another
	S2SURL      string        // third-party sharing, such as https://s2s.adjust.com
	CostURL     string        // ad spend, such as https://app.adjust.com
	AccountID   string        // sent as X-Account-ID when not empty
	Token       TokenSource   // required with BaseURL
	SpendAuth   SpendAuth     // required with CostURL when there is nothing else
	SharingAuth SpendAuth     // for S2SURL; without a key nothing is proved there
	Rate        float64       // requests a second; default 10
	Burst       int           // size of the token bucket; default twice the rate rounded up, at least 1
	InFlight    int           // attempts between sending and the end of reading; default: as many as Rate needs
	Share       Share         // this process's part of Rate and InFlight; default: all
	Attempts    int           // tries of one request, the first included; default 8
	Patience    time.Duration // time of one request with all its tries, from its first slot on; default 15 minutes
	FirstByte   time.Duration // from sending to the first byte of the body; default 5 minutes, or 30 seconds without BaseURL
	Idle        time.Duration // between two pieces of the body; default 2 minutes
	HTTP        *http.Client  // transport and time-out to use; the redirect policy is set on a copy. Default: a pool of its own
	Rand        *rand.Rand    // source of the jitter, guarded by the client; default: a random seed
	Logger      *slog.Logger  // hears of every retry; default: discards
	UserAgent   string        // default "reportferry"
}

// Client asks the service. Its limiter and its in-flight cap belong to all clients derived from it by Metered and Asking.
// It is safe for concurrent use. A read function given to it must not ask through the same client: it holds a slot.
type Client struct {
	base      *url.URL // nil: not for reports and app automation
	spend     *outlet  // nil: not for ad spend
	sharing   *outlet  // nil: not for third-party sharing
	account   string
	agent     string
	token     TokenSource
	http      *http.Client
	limiter   *limiter
	slots     chan struct{}
	secrets   *secrets
	draw      func(n int64) int64 // an even draw from [0, n)
	attempts  int
	patience  time.Duration
	firstByte time.Duration
	idle      time.Duration
	log       *slog.Logger
	meter     *Meter
	clock     *clock
	may       func(context.Context) error // nil: anything may be sent
}

// New checks the options and makes a client. It sends nothing.
func New(o Options) (*Client, error) {
	base, cost, s2s, err := o.addresses()
	if err != nil {
		return nil, err
	}
	switch {
	case base != nil && o.Token == nil:
		return nil, errors.New("open service: no token source")
	case base == nil && s2s == nil && o.SpendAuth.Key == nil:
		return nil, errors.New("open service: no key for ad spend")
	case !o.SpendAuth.valid():
		return nil, fmt.Errorf("open service: %q can't be the name of a header", o.SpendAuth.Header)
	case !o.SharingAuth.valid():
		return nil, fmt.Errorf("open service: %q can't be the name of a header", o.SharingAuth.Header)
	case o.Rate < 0, math.IsNaN(o.Rate), math.IsInf(o.Rate, 0):
		return nil, fmt.Errorf("open service: rate %v is not a number of requests a second", o.Rate)
	case o.Share != Share{} && (o.Share.Index < 0 || o.Share.Index >= o.Share.Count):
		return nil, fmt.Errorf("open service: share %d of %d doesn't exist", o.Share.Index, o.Share.Count)
	case o.Burst < 0, o.InFlight < 0, o.Attempts < 0, o.Patience < 0, o.FirstByte < 0, o.Idle < 0:
		return nil, errors.New("open service: burst, in-flight cap, attempts and times must not be negative")
	}
	o = withDefaults(o).divided()
	c := &Client{
		base: base, spend: newSpendOutlet(o, cost), sharing: newSharingOutlet(o, s2s), account: o.AccountID, agent: o.UserAgent, token: o.Token,
		limiter: newLimiter(o.Rate, o.Burst, newTurns(o.Share, o.Rate)), slots: make(chan struct{}, o.InFlight),
		secrets: &secrets{}, draw: guarded(o.Rand),
		attempts: o.Attempts, patience: o.Patience, firstByte: o.FirstByte, idle: o.Idle,
		log: o.Logger, meter: &Meter{}, clock: &clock{},
	}
	hc := *o.HTTP
	hc.CheckRedirect = c.checkRedirect
	c.http = &hc
	return c, nil
}

// InFlight is how many attempts may be under way at once.
func (c *Client) InFlight() int { return cap(c.slots) }

// Metered is the same client, with the same limiter and transport, that counts into m.
func (c *Client) Metered(m *Meter) *Client {
	d := *c
	d.meter = m
	return &d
}

// Asking is the same client, with the same limiter and transport, that asks may before each record leaves the process, after
// all waiting. What may answers ends the request, and nothing of it is sent.
func (c *Client) Asking(may func(context.Context) error) *Client {
	d := *c
	d.may = may
	return &d
}

// addresses reads those that are given, BaseURL also when none is.
func (o Options) addresses() (base, cost, s2s *url.URL, err error) {
	if o.CostURL != "" {
		if cost, err = parseBase("cost_url", o.CostURL, "https://app.adjust.com"); err != nil {
			return nil, nil, nil, err
		}
		cost.Path += "/cost" // JoinPath leaves out the slash where there is no path
	}
	if o.S2SURL != "" {
		if s2s, err = parseBase("s2s_url", o.S2SURL, "https://s2s.adjust.com"); err != nil {
			return nil, nil, nil, err
		}
		s2s.Path += "/third_party_sharing"
	}
	if o.BaseURL != "" || cost == nil && s2s == nil {
		base, err = parseBase("base_url", o.BaseURL, "https://automate.adjust.com")
	}
	return base, cost, s2s, err
}

func parseBase(name, s, example string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(s, "/"))
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return nil, fmt.Errorf("open service: %s must look like %s", name, example)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("open service: %s must be a bare address, without user, query or fragment", name)
	}
	return u, nil
}

const (
	// usualLatency is the seconds of an answer for which the default of InFlight keeps the limiter busy: a burst is then
	// on its way, and what follows it at the rate.
	usualLatency = 2

	// mostInFlight is what older pages of the service's help take at a time from one address.
	mostInFlight = 50
)

func withDefaults(o Options) Options {
	if o.Rate == 0 {
		// A fifth of the documented 50 requests a second per address
		// (dev.adjust.com/en/api/rs-api/rate-limits), which others behind the same address share.
		o.Rate = 10
	}
	o.Burst = orElse(o.Burst, max(1, int(math.Ceil(2*o.Rate))))
	o.InFlight = orElse(o.InFlight, min(o.Burst+int(math.Ceil(usualLatency*o.Rate))+1, mostInFlight))
	o.Attempts = orElse(o.Attempts, 8)
	o.Patience = orElse(o.Patience, 15*time.Minute)
	if o.BaseURL == "" && (o.CostURL != "" || o.S2SURL != "") {
		o.FirstByte = orElse(o.FirstByte, 30*time.Second) // one record is no report
	}
	o.FirstByte = orElse(o.FirstByte, 5*time.Minute)
	o.Idle = orElse(o.Idle, 2*time.Minute)
	o.UserAgent = orElse(o.UserAgent, "reportferry")
	if o.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns = 0 // what follows is all that is needed
		t.MaxIdleConnsPerHost = o.InFlight
		o.HTTP = &http.Client{Transport: t}
	}
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func guarded(r *rand.Rand) func(int64) int64 {
	var mu sync.Mutex
	return func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Int64N(n)
	}
}
