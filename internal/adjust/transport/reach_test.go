package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// An address is one where something listens in some of the time since the beginning.
type address struct {
	began       time.Time
	from, until time.Duration // when something listens
	mu          sync.Mutex
	tried       []time.Duration
}

func (a *address) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Since(a.began)
	a.tried = append(a.tried, at)
	if at < a.from || at >= a.until {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return &http.Response{StatusCode: 200, Request: r, ProtoMajor: 2, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("a"))}, nil
}

// ask sends n requests side by side, and gives their errors and when the last was over.
func (a *address) ask(t *testing.T, c *Client, n int) (errs []error, took time.Duration) {
	var wg sync.WaitGroup
	errs = make([]error, n)
	began := time.Now()
	for i := range n {
		wg.Go(func() {
			_, errs[i] = c.Do(t.Context(), Request{Op: "ask", URL: "http://service.test/", Types: []string{"text/csv"},
				Report: i%2 == 0,
				Read:   func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }})
		})
	}
	wg.Wait()
	return errs, time.Since(began)
}

func (a *address) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.tried)
	a.tried = nil
	return n
}

func asking(t *testing.T, a *address, o Options) *Client {
	t.Helper()
	o.HTTP, o.Rate, o.Burst = &http.Client{Transport: a}, 1000, 1000
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.draw = func(n int64) int64 { return n }
	return c
}

// Where nothing listens one request is tried as often as it may be, and each of the others once: a
// person learns it after seconds.
func TestNothingListens(t *testing.T) {
	for name, c := range map[string]struct {
		reach, tries int
		took         time.Duration
	}{
		"a schedule": {0, 8 + 5, 123 * time.Second},
		"a person":   {3, 3 + 5, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &address{began: time.Now()}
				client := asking(t, a, Options{Reach: c.reach})
				errs, took := a.ask(t, client, 6)
				for _, err := range errs {
					if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(),
						"connection refused; check the network") {
						t.Errorf("error %v", err)
					}
				}
				if n := a.count(); n != c.tries || took.Round(time.Second) != c.took {
					t.Errorf("%d attempts in %v, want %d in %v", n, took, c.tries, c.took)
				}
				if _, took := a.ask(t, client, 1); a.count() != 1 || took > time.Second {
					t.Errorf("a request right after that took %v, want one attempt", took)
				}
				time.Sleep(time.Hour)
				if _, took := a.ask(t, client, 1); a.count() != c.tries-5 || took.Round(time.Second) != c.took {
					t.Errorf("an hour later it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// What begins to listen a minute later is found by the request that tries, and by the others at
// once after it.
func TestListensLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &address{began: time.Now(), from: 20 * time.Second, until: time.Hour}
		errs, took := a.ask(t, asking(t, a, Options{}), 6)
		// Which one tries is chance.
		if err := errors.Join(errs...); err != nil || took < 31*time.Second || took > 33*time.Second {
			t.Errorf("it took %v: %v", took, err)
		}
	})
}

// A service that has answered just now is there: a connection that fails then is tried again as any
// other failure is, by each request.
func TestAShortGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &address{began: time.Now(), until: time.Second}
		c := asking(t, a, Options{Attempts: 4, Reach: 1})
		if errs, _ := a.ask(t, c, 1); errs[0] != nil {
			t.Fatal(errs[0])
		}
		time.Sleep(time.Minute)
		a.count()
		errs, _ := a.ask(t, c, 2)
		if n := a.count(); n != 8 || errors.Is(errs[0], ErrUnreachable) || errs[1] == nil {
			t.Errorf("%d attempts, want 4 of each: %v", n, errs)
		}
	})
}

// A proxy that makes no connection is named, with its own status: it isn't the service that denies
// anything.
func TestAProxyThatRefuses(t *testing.T) {
	for status, tries := range map[string]int{"403 Forbidden": 1, "407 Proxy Authentication Required": 1,
		"502 Bad Gateway": 3} {
		synctest.Test(t, func(t *testing.T) {
			c, err := New(Options{Attempts: 3})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			tr := c.http.Transport.(*http.Transport)
			tr.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://me:secret@proxy.test:3128") }
			tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
				n++
				here, proxy := net.Pipe()
				go func() {
					_, _ = http.ReadRequest(bufio.NewReader(proxy))
					_, _ = io.WriteString(proxy, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n")
				}()
				return here, nil
			}
			_, err = c.Do(t.Context(), Request{Op: "ask", URL: "https://service.test/", Types: []string{"text/csv"},
				Read: func(io.Reader) error { return nil }})
			want := "the proxy proxy.test:3128 makes no connection to service.test:443: " + status +
				"; check HTTPS_PROXY"
			if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrAuth) ||
				!errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "secret") || n != tries {
				t.Errorf("%d attempts, want %d: %v", n, tries, err)
			}
		})
	}
}
