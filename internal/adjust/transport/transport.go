// Package transport sends requests to the service and repeats them. Without it, every endpoint
// would have to pace, repeat, time and check its requests by itself, and one broken answer would be
// taken for a whole one.
//
// It knows HTTP, and nothing about what the service's endpoints mean. An endpoint describes a
// [Request]; [Client.Do] sends it until one answer is accepted, the patience ends, or another
// attempt can't help:
//
//	Do ─ slot ─ limiter ─ credential ─ attempt ─┬─ accepted ─────────────────────────── Answer
//	       ▲                                    ├─ 401, and the credential has changed ─ attempt
//	       │                                    ├─ final ─────────────────────────────── *Error
//	       └──── full jitter, or Retry-After ───┴─ anything that another attempt may mend
//
// This is the only place that repeats requests: callers of Do never repeat a request that failed.
// [Repeat] says what an endpoint allows after an answer was lost, when nobody knows whether the
// request took effect.
//
// At first three reports may be in flight, and one more after each ten answers. A 504, a 500 that
// speaks of a time-out and a time-out of our own halve that number; it doesn't grow again to where
// the overload happened.
//
// The Retry-After of a 429 or a 503 holds back all requests of the process, but for one request's
// patience at most; the next answer may then begin another pause. A request ends only when all its
// attempts together can't wait out the pause. Where nothing listens, one request goes on trying,
// and the others wait for its outcome; see reach. An answer whose Date is more than an hour from
// this machine's clock is [ErrClock].
package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how much load the client may put on the service. Zero values stand for the defaults
// named below.
type Options struct {
	Rate     float64 // requests a second; default 10
	Burst    int     // size of the token bucket; with the default of 1, no second has more than Rate requests
	InFlight int     // requests between sending and the end of reading; default 8
	// How many of these may be reports at first. After answers without overload it grows up to
	// InFlight. Default 3.
	Reports  int
	Share    Share // this process's part of Rate and InFlight; default: all
	Attempts int   // attempts of one request, the first included; default 8
	Reach    int   // attempts of the request that tries alone while nothing listens; default Attempts
	// Time for one request's attempts and the waits between them, without waits for slots, the
	// limiter and pauses; default 15 minutes.
	Patience  time.Duration
	FirstByte time.Duration // from sending to the first byte of the answer; default 5 minutes
	Idle      time.Duration // between two pieces of the answer; default 2 minutes
	MaxAnswer int64         // bytes of a report's answer, unpacked; default 1 GiB
	// HTTP has the transport and time-out to use; the redirect policy is set on a copy. Default: a
	// client with its own connection pool.
	HTTP      *http.Client
	Rand      *rand.Rand   // source of the jitter, guarded by the client; default: a random seed
	Logger    *slog.Logger // gets every retry; default: discards
	UserAgent string       // default "reportferry"
}

// Client sends requests. All clients derived from one share its limiter; those derived by Metered,
// Watched and Asking also share its in-flight cap. It is safe for concurrent use. A Read function
// must not send requests through the same client, because it holds a slot.
type Client struct {
	http       *http.Client
	limiter    *limiter
	slots      chan struct{} // for all requests but reports
	reports    *reportCap
	secrets    *secrets
	draw       func(n int64) int64 // a uniform random number from [0, n)
	attempts   int
	reach      *reach
	patience   time.Duration
	firstByte  time.Duration
	idle       time.Duration
	maxAnswer  int64
	agent      string
	log        *slog.Logger
	lastWarned *atomic.Int64 // when a retry of a record was last logged, in nanoseconds since 1970
	meter      *Meter
	waits      *Waits // nil when waits aren't shown
	clock      *clock
	beforeSend func(context.Context) error // asked before an attempt is sent, see Asking; may be nil
	options    Options
}

// New checks the options and returns a client. It sends nothing.
func New(o Options) (*Client, error) {
	switch {
	case o.Rate < 0, math.IsNaN(o.Rate), math.IsInf(o.Rate, 0):
		return nil, fmt.Errorf("rate %v is not a number of requests a second", o.Rate)
	case o.Share != Share{} && (o.Share.Index < 0 || o.Share.Index >= o.Share.Count):
		return nil, fmt.Errorf("share %d of %d doesn't exist", o.Share.Index, o.Share.Count)
	case o.Burst < 0, o.InFlight < 0, o.Reports < 0, o.Attempts < 0, o.Reach < 0, o.Patience < 0, o.MaxAnswer < 0,
		o.FirstByte < 0, o.Idle < 0:
		return nil, errors.New("burst, in-flight cap, attempts and times must not be negative")
	}
	o = withDefaults(o).withShare()
	c := &Client{
		options: o, limiter: newLimiter(o.Rate, o.Burst, newTurns(o.Share, o.Rate)),
		secrets: &secrets{}, draw: guarded(o.Rand),
		attempts: o.Attempts, reach: &reach{attempts: o.Reach}, patience: o.Patience, firstByte: o.FirstByte,
		idle: o.Idle, maxAnswer: o.MaxAnswer, agent: o.UserAgent,
		log: o.Logger, lastWarned: &atomic.Int64{}, meter: &Meter{}, clock: &clock{},
	}
	hc := *o.HTTP
	hc.CheckRedirect = c.checkRedirect
	c.http = &hc
	return c.Apart(0), nil
}

// Apart returns a client with the same limiter and transport, but its own in-flight cap: inFlight,
// or the options' when that is 0. The limiter stays shared because rate limits by address count the
// requests of all accounts, while each account has its own load.
func (c *Client) Apart(inFlight int) *Client {
	d, o := *c, c.options
	most := cmp.Or(inFlight, o.InFlight)
	d.slots, d.reports = make(chan struct{}, max(1, o.Share.part(most))),
		newReportCap(min(o.Reports, most), most, o.Share)
	return &d
}

// InFlight returns how many requests may be in flight at once.
func (c *Client) InFlight() int { return cap(c.slots) }

// After makes the client share the limiter of a client that was there before it in this process, if
// both have the same rate, and then its in-flight cap as well, if both have the same. It must be
// called before anything is sent.
func (c *Client) After(before *Client) {
	if c.limiter.configuredRate != before.limiter.configuredRate {
		return
	}
	c.limiter = before.limiter
	if cap(c.slots) == cap(before.slots) {
		c.slots, c.reports = before.slots, before.reports
	}
}

// CloseIdle closes the connections that no request uses.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Metered returns a client with the same limiter and transport that counts into m.
func (c *Client) Metered(m *Meter) *Client {
	d := *c
	d.meter = m
	return &d
}

// Watched returns a client with the same limiter and transport that shows in w what it waits for.
func (c *Client) Watched(w *Waits) *Client {
	d := *c
	d.waits = w
	return &d
}

// Asking returns a client with the same limiter and transport that calls may before each attempt
// leaves the process, after all waiting. An error of may ends the request, and that attempt isn't
// sent.
func (c *Client) Asking(may func(context.Context) error) *Client {
	d := *c
	d.beforeSend = may
	return &d
}

// Draw returns a uniform random duration from [0, n), from the source of the client's jitter.
func (c *Client) Draw(n time.Duration) time.Duration { return time.Duration(c.draw(int64(n))) }

// UsualInFlight is the default of Options.InFlight. It is more than the six reports at a time that
// worked, and less than the twelve that didn't.
const UsualInFlight = 8

// withDefaults returns the options with each default in place of a zero value.
func withDefaults(o Options) Options {
	if o.Rate == 0 {
		// A fifth of the documented 50 requests a second per address
		// (dev.adjust.com/en/api/rs-api/rate-limits), which others behind the same address share.
		o.Rate = 10
	}
	o.Burst = cmp.Or(o.Burst, 1)
	o.InFlight = cmp.Or(o.InFlight, UsualInFlight)
	o.Reports = min(cmp.Or(o.Reports, fewReports), o.InFlight)
	o.Attempts = cmp.Or(o.Attempts, 8)
	o.Reach = min(cmp.Or(o.Reach, o.Attempts), o.Attempts)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 1<<30)
	o.Patience = cmp.Or(o.Patience, 15*time.Minute)
	o.FirstByte = cmp.Or(o.FirstByte, 5*time.Minute)
	o.Idle = cmp.Or(o.Idle, 2*time.Minute)
	o.UserAgent = cmp.Or(o.UserAgent, "reportferry")
	if o.HTTP == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns = 0 // no limit in total, because the limit per host is enough
		t.MaxIdleConnsPerHost = o.InFlight
		t.OnProxyConnectResponse = onProxyConnect
		if o.Reach < o.Attempts { // a person waits, and a connection to an address behind a firewall may hang
			t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
		}
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

// guarded returns a function for uniform random numbers from [0, n) that is safe for concurrent
// use.
func guarded(r *rand.Rand) func(int64) int64 {
	var mu sync.Mutex
	return func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Int64N(n)
	}
}

// Meter counts what one job costs the service and what it waits for. It may be read while requests
// run.
type Meter struct {
	Requests atomic.Int64 // attempts sent
	Retries  atomic.Int64 // attempts after the first one of their request
	Bytes    atomic.Int64 // bytes of counted answers received, after decompression, those of broken answers included
	Limiter  atomic.Int64 // nanoseconds waited for the token bucket, pauses asked for by Retry-After included
	Backoff  atomic.Int64 // nanoseconds slept between two attempts
}

// Totals returns what m has counted so far.
func (m *Meter) Totals() (requests, retries, bytes int64, limiter, backoff time.Duration) {
	return m.Requests.Load(), m.Retries.Load(), m.Bytes.Load(), time.Duration(m.Limiter.Load()),
		time.Duration(m.Backoff.Load())
}
