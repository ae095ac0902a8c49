package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// A cloud is Cloud Storage on the loopback with a bucket bkt, whose nth call breaks when told so.
type cloud struct {
	addr  string
	store *fakestorage.Server

	mu    sync.Mutex
	calls int
	fault cloudFault
}

// A cloudFault is what becomes of the nth call.
type cloudFault struct {
	nth  int
	kind string // "503", or the connection is "reset" before the call or its answer "lost" after it
}

func (f cloudFault) String() string { return fmt.Sprintf("bucket %s %d", f.kind, f.nth) }

func startCloud(t *testing.T) *cloud {
	t.Helper()
	listener := httptest.NewUnstartedServer(nil)
	c := &cloud{addr: listener.Listener.Addr().String()}
	var err error
	c.store, err = fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, Scheme: "http", PublicHost: c.addr, ExternalURL: "http://" + c.addr, Writer: io.Discard,
	})
	check(t, err)
	c.store.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "bkt"})
	listener.Config.Handler = c
	listener.Start()
	t.Cleanup(listener.Close)
	return c
}

// breaks sets the fault, and gives the number of calls since the last one was set.
func (c *cloud) breaks(f cloudFault) (calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, c.calls, c.fault = c.calls, 0, f
	return calls
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.calls++
	kind := ""
	if c.calls == c.fault.nth {
		kind = c.fault.kind
	}
	c.mu.Unlock()
	switch kind {
	case "503":
		http.Error(w, "busy", http.StatusServiceUnavailable)
	case "reset":
		panic(http.ErrAbortHandler)
	case "lost":
		c.store.HTTPHandler().ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		c.store.HTTPHandler().ServeHTTP(w, r)
	}
}

// names are those of the objects under a prefix.
func (c *cloud) names(t *testing.T, prefix string) (names []string) {
	t.Helper()
	list, err := c.store.ListObjectsWithOptionsPaginated("bkt", fakestorage.ListOptions{Prefix: prefix})
	check(t, err)
	for _, o := range list.Objects {
		names = append(names, o.Name)
	}
	return names
}
