//go:build servers

package sinktest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"time"
)

// Behind returns the address of a proxy to the catalog. wrap gets a handler that forwards to the
// catalog. When the catalog is down the client's connection ends, as it would at the catalog's own
// address.
func (c *Catalog) Behind(t testing.TB, wrap func(http.Handler) http.Handler) (addr string) {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: c.Addr})
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	front := httptest.NewServer(wrap(proxy))
	t.Cleanup(front.Close)
	return front.Listener.Addr().String()
}

// A CatalogCall is a kind of request to a catalog.
type CatalogCall string

// The kinds of requests that a fault can happen at.
const (
	CatalogCommit CatalogCall = "commit" // of a table's new metadata, the creation of one that was staged too
	CatalogCreate CatalogCall = "create" // of a table, or its staging
	CatalogLoad   CatalogCall = "load"   // of a table
	CatalogConfig CatalogCall = "config" // the first request of each client
)

// catalogCalls are the methods and paths by which the kinds of requests are known.
var catalogCalls = []struct {
	method string
	path   *regexp.Regexp
	call   CatalogCall
}{
	{http.MethodPost, regexp.MustCompile(`/namespaces/[^/]+/tables/[^/]+$|/transactions/commit$`), CatalogCommit},
	{http.MethodPost, regexp.MustCompile(`/namespaces/[^/]+/tables$`), CatalogCreate},
	{http.MethodGet, regexp.MustCompile(`/namespaces/[^/]+/tables/[^/]+$`), CatalogLoad},
	{http.MethodGet, regexp.MustCompile(`/v1/config$`), CatalogConfig},
}

// A CatalogFault is what becomes of requests of one kind.
type CatalogFault struct {
	Kind   string
	Call   CatalogCall   // commits, when it is empty
	Nth    int           // which request it happens at first, from 1
	Times  int           // how many requests it happens at; 0 is one
	Status int           // of refused and masked; 0 is 503
	Delay  time.Duration // of late and held
	After  string        // the Retry-After of refused and masked, when it isn't empty
}

// The kinds of faults. The catalog gets what is lost, masked, late or held, and nothing of what is
// refused or cut.
const (
	CatalogRefused = "refused" // the client gets the status
	CatalogCut     = "cut"     // the connection ends
	CatalogLost    = "lost"    // it is done, and the connection ends in place of an answer
	CatalogMasked  = "masked"  // it is done, and the client gets the status
	CatalogLate    = "late"    // the connection ends at once, and the catalog gets it after the delay
	// The catalog gets it after the delay, though the client may have given up, and then it is
	// answered.
	CatalogHeld = "held"
)

// A Front is a proxy to a catalog, on which the faults happen that Break sets.
type Front struct {
	Addr, URI string

	mu      sync.Mutex
	fault   CatalogFault
	nth     int                 // requests of the fault's kind since it was set
	broke   int                 // requests that the fault has happened at
	calls   map[CatalogCall]int // requests since the beginning, by kind
	answers []int               // what Settle returns
	late    int                 // requests that the catalog hasn't got yet
	arrival *sync.Cond          // signalled when late falls
}

// NewFront makes a proxy to the catalog, which runs until the end of the test.
func (c *Catalog) NewFront(t testing.TB) *Front {
	t.Helper()
	f := &Front{calls: map[CatalogCall]int{}}
	f.arrival = sync.NewCond(&f.mu)
	f.Addr = c.Behind(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.carry(next, w, r) })
	})
	f.URI = "http://" + f.Addr
	t.Cleanup(func() { f.Settle() })
	return f
}

// Break sets the fault, and forgets the one before and what it counted.
func (f *Front) Break(fault CatalogFault) {
	if fault.Call == "" {
		fault.Call = CatalogCommit
	}
	fault.Times, fault.Nth = max(fault.Times, 1), max(fault.Nth, 1)
	if fault.Status == 0 {
		fault.Status = http.StatusServiceUnavailable
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.nth, f.broke, f.answers = fault, 0, 0, nil
}

// Broke tells how many requests the fault has happened at.
func (f *Front) Broke() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broke
}

// Seen tells how many requests of a kind have come since the beginning.
func (f *Front) Seen(call CatalogCall) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

// Settle waits until the catalog has got all late requests, and returns the statuses with which it
// answered requests that the fault has happened at. A 0 means that the catalog was down.
func (f *Front) Settle() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.late > 0 {
		f.arrival.Wait()
	}
	return append([]int(nil), f.answers...)
}

// due counts a request, and returns the fault that happens at it, or the zero value.
func (f *Front) due(r *http.Request) CatalogFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range catalogCalls {
		if r.Method != known.method || !known.path.MatchString(r.URL.EscapedPath()) {
			continue
		}
		f.calls[known.call]++
		if f.fault.Kind == "" || known.call != f.fault.Call {
			break
		}
		if f.nth++; f.nth < f.fault.Nth || f.broke == f.fault.Times {
			break
		}
		f.broke++
		if f.fault.Kind == CatalogLate || f.fault.Kind == CatalogHeld {
			f.late++
		}
		return f.fault
	}
	return CatalogFault{}
}

// carry forwards a request, or does to it what the fault says.
func (f *Front) carry(next http.Handler, w http.ResponseWriter, r *http.Request) {
	fault := f.due(r)
	if fault.Kind == "" {
		next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		body = nil // the client is gone, and the catalog gets what isn't JSON
	}
	again := r.Clone(context.WithoutCancel(r.Context())) // which outlives the client's request
	again.Body = io.NopCloser(bytes.NewReader(body))
	switch fault.Kind {
	case CatalogRefused:
		refuse(w, fault)
	case CatalogLost:
		f.forward(next, again)
		panic(http.ErrAbortHandler)
	case CatalogMasked:
		f.forward(next, again)
		refuse(w, fault)
	case CatalogLate:
		go func() {
			defer f.arrived()
			time.Sleep(fault.Delay)
			f.forward(next, again)
		}()
		panic(http.ErrAbortHandler)
	case CatalogHeld:
		defer f.arrived()
		time.Sleep(fault.Delay)
		answer := f.forward(next, again)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the client may be gone
	default: // cut
		panic(http.ErrAbortHandler)
	}
}

// arrived notes that the catalog has got a late request.
func (f *Front) arrived() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late--
	f.arrival.Broadcast()
}

// forward sends the request to the catalog, and returns its answer without showing it to the
// client.
func (f *Front) forward(next http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	answer.Code = 0
	func() {
		defer func() { _ = recover() }() // the catalog is down
		next.ServeHTTP(answer, r)
	}()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, answer.Code)
	return answer
}

// refuse answers with the fault's status, as a catalog does, or a proxy before it.
func refuse(w http.ResponseWriter, fault CatalogFault) {
	kind := "ServiceFailureException"
	if fault.Status == http.StatusConflict {
		kind = "CommitFailedException"
	}
	w.Header().Set("Content-Type", "application/json")
	if fault.After != "" {
		w.Header().Set("Retry-After", fault.After)
	}
	w.WriteHeader(fault.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{ // the client may be gone
		"message": "the test refuses this request", "type": kind, "code": fault.Status,
	}})
}
