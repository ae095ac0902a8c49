package adjust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/civil"
)

// pipes is a listener over net.Pipe: a real socket would hang a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve runs h as an HTTP server until the test ends and returns a client of it, of whatever host
// it asks.
func serve(t *testing.T, h http.HandlerFunc) *http.Client {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h}
	done := make(chan error, 1)
	go func() { done <- s.Serve(p) }()
	tr := &http.Transport{DialContext: p.dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return &http.Client{Transport: tr}
}

// A reply answers one request.
type reply func(w http.ResponseWriter, r *http.Request)

// script answers the n-th request with the n-th reply, all further ones with the last, and notes
// when they came.
type script struct {
	mu      sync.Mutex
	start   time.Time
	replies []reply
	came    []time.Duration
	heads   []http.Header
	urls    []string
}

func play(replies ...reply) *script { return &script{start: time.Now(), replies: replies} }

// when tells when each request came, also those whose answer nobody waited for.
func (s *script) when() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.came)
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.came = append(s.came, time.Since(s.start))
	s.heads = append(s.heads, r.Header.Clone())
	s.urls = append(s.urls, r.Host+r.URL.RequestURI())
	do := s.replies[min(len(s.came), len(s.replies))-1]
	s.mu.Unlock()
	do(w, r)
}

const truth = "day,installs\n2026-01-01,12\n2026-01-02,7\n"

func csv(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	_, _ = io.WriteString(w, truth)
}

func status(code int, headers ...string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"error_code":"request_error","error_desc":"words of the service on %d"}`, code)
	}
}

// cut sends the first n bytes of the truth as CSV and breaks the connection.
func cut(n int) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		_, _ = io.WriteString(w, truth[:n])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const secretToken = "s3cr3t-T0ken/with+signs=="

// fixed is a token that may change when it is read again.
type fixed struct {
	mu        sync.Mutex
	tokens    []string
	refreshes int
}

func (f *fixed) Token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens[0], nil
}

func (f *fixed) Refresh(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshes++
	if len(f.tokens) > 1 {
		f.tokens = f.tokens[1:]
	}
	return f.tokens[0], nil
}

const seed1, seed2 = 7, 11

// open makes a client of s with a known jitter.
func open(t *testing.T, h http.Handler, edit func(*Options)) (*Client, *Meter) {
	t.Helper()
	o := Options{BaseURL: "http://service.test", Token: &fixed{tokens: []string{secretToken}}}
	o.HTTP, o.Rand = serve(t, h.ServeHTTP), rand.New(rand.NewPCG(seed1, seed2))
	if edit != nil {
		edit(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m := &Meter{}
	return c.Metered(m), m
}

// jitter is the first n waits that open's client will draw.
func jitter(n int) []time.Duration {
	r, base := rand.New(rand.NewPCG(seed1, seed2)), time.Second
	var waits []time.Duration
	for range n {
		waits = append(waits, time.Duration(r.Int64N(int64(base))))
		base = min(2*base, time.Minute)
	}
	return waits
}

// sums are the moments after each of the waits, beginning at 0.
func sums(waits []time.Duration) []time.Duration {
	at := []time.Duration{0}
	for _, w := range waits {
		at = append(at, at[len(at)-1]+w)
	}
	return at
}

func query() ReportQuery {
	return ReportQuery{
		Dimensions: []string{"day"}, Metrics: []string{"installs"},
		From: civil.Date{Year: 2026, Month: 1, Day: 1}, Until: civil.Date{Year: 2026, Month: 1, Day: 8},
		UTCOffset: "+00:00", Currency: "EUR", Parameters: map[string][]string{
			"cohort_maturity": {"immature"}, "attribution_types": {"click", "impression"},
			"attribution_source": {"dynamic"},
			"reattributed":       {"all"}, "iap_revenue_mode": {"GROSS_100"}, "ad_spend_mode": {"network"},
			"sandbox": {"false"},
		},
	}
}

// fetch asks for query and returns what was accepted.
func fetch(ctx context.Context, c *Client, q ReportQuery) (string, Answer, error) {
	var got strings.Builder
	a, err := c.CSVReport(ctx, q, func(r io.Reader) error {
		got.Reset()
		_, err := io.Copy(&got, r)
		return err
	})
	return got.String(), a, err
}

// submit sends a record of ad spend, and nothing of it again after a lost answer.
func submit(ctx context.Context, c *Client, s Spend) error {
	_, err := c.SubmitSpend(ctx, s, false)
	return err
}

func share(ctx context.Context, c *Client, s Sharing) error {
	_, err := c.ShareThirdParty(ctx, s)
	return err
}

// slots counts the requests that c lets out at once.
func slots(ctx context.Context, c *Client) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out atomic.Int64
	waiting := c.Asking(func(ctx context.Context) error {
		out.Add(1)
		<-ctx.Done()
		return ctx.Err()
	})
	var wg sync.WaitGroup
	for range c.InFlight() + 1 {
		wg.Go(func() { _, _ = waiting.Events(ctx, EventsQuery{}) })
	}
	time.Sleep(time.Hour) // of the bubble's clock
	n := int(out.Load())
	cancel()
	wg.Wait()
	return n
}

// What package transport keeps of an answer in an error, and lets an error be long.
const (
	errorBodyLimit = 64 << 10
	errorLimit     = 2000
)
