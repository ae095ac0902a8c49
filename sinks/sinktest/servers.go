//go:build servers

package sinktest

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A Server is a server that .ci/servers has started, with a place of its own in its bucket, which
// is empty at first.
type Server struct {
	Scheme string // gs, s3 or azblob
	addr   string // host:port
	place  string // folder in the bucket
	api    string // address of toxiproxy's API
}

// places counts the names of places that were made, so that no two are equal.
var places atomic.Int64

// EachServer runs a test on every server. getenv is os.Getenv; .ci/servers sets the variables, and
// without them the test fails.
func EachServer(t *testing.T, getenv func(string) string, run func(*testing.T, Server)) {
	t.Helper()
	need := func(name string) string {
		value := getenv(name)
		if value == "" {
			t.Fatalf("%s isn't set: with the tag servers, tests are run by .ci/servers go test -tags servers ./...",
				name)
		}
		return value
	}
	api := need("SERVERS_TOXIPROXY")
	t.Run("on", func(t *testing.T) { // returns when its parallel tests are done
		for _, scheme := range []string{"gs", "s3", "azblob"} {
			s := Server{Scheme: scheme, addr: need("SERVERS_" + strings.ToUpper(scheme)), api: api}
			if scheme == "s3" {
				s = s.Behind(t, inOrder)
			}
			t.Run(scheme, func(t *testing.T) {
				if scheme != "gs" { // an environment variable of the whole process names that server
					t.Parallel()
				}
				run(t, s.Elsewhere())
			})
		}
	})
}

// At returns the server of the same scheme at the address that .ci/servers gave it.
func (s Server) At(getenv func(string) string) Server {
	s.addr, s.api = getenv("SERVERS_"+strings.ToUpper(s.Scheme)), getenv("SERVERS_TOXIPROXY")
	return s
}

// Elsewhere returns the same server with another empty place.
func (s Server) Elsewhere() Server {
	s.place = fmt.Sprintf("exports of Zoë/%d-%d", runStart, places.Add(1))
	return s
}

// URL returns the URL of the place, for a bucket or a sink. A gs:// URL leads there only until the
// end of the test.
func (s Server) URL(t *testing.T) string {
	t.Helper()
	query := url.Values{}
	switch s.Scheme {
	case "gs":
		t.Setenv("STORAGE_EMULATOR_HOST", s.addr)
	case "s3":
		query = url.Values{"endpoint": {"http://" + s.addr}, "use_path_style": {"true"}, "region": {"us-east-1"}}
	case "azblob":
		query = url.Values{"protocol": {"http"}, "domain": {s.addr}, "localemu": {"true"}}
	}
	u := url.URL{Scheme: s.Scheme, Host: "bkt", Path: "/" + s.place, RawQuery: query.Encode()}
	return u.String()
}
