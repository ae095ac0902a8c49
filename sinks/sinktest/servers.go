//go:build servers

package sinktest

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A Server is one that .ci/servers has started, and a place of its own in the bucket there, empty at first.
type Server struct {
	Scheme string // gs, s3 or azblob
	addr   string
	place  string
	api    string // toxiproxy's address
}

var places atomic.Int64

// EachServer runs a test on every server. getenv is os.Getenv: what it gives comes from .ci/servers, and a test that
// runs without that fails.
func EachServer(t *testing.T, getenv func(string) string, run func(*testing.T, Server)) {
	t.Helper()
	need := func(name string) string {
		value := getenv(name)
		if value == "" {
			t.Fatalf("%s isn't set: with the tag servers, tests are run by .ci/servers go test -tags servers ./...", name)
		}
		return value
	}
	api := need("SERVERS_TOXIPROXY")
	t.Run("on", func(t *testing.T) { // is over when those that run beside each other are
		for _, scheme := range []string{"gs", "s3", "azblob"} {
			s := Server{Scheme: scheme, addr: need("SERVERS_" + strings.ToUpper(scheme)), api: api}
			t.Run(scheme, func(t *testing.T) {
				if scheme != "gs" { // its server is named in the process's environment
					t.Parallel()
				}
				run(t, s.Elsewhere())
			})
		}
	})
}

// At is the server of s's scheme at the address that .ci/servers gave it.
func (s Server) At(getenv func(string) string) Server {
	s.addr, s.api = getenv("SERVERS_"+strings.ToUpper(s.Scheme)), getenv("SERVERS_TOXIPROXY")
	return s
}

// Elsewhere is the same server and another place, empty at first.
func (s Server) Elsewhere() Server {
	s.place = fmt.Sprintf("exports of Zoë/%d-%d", runStart, places.Add(1))
	return s
}

// URL is that of the place, for a bucket or a sink. Only until the end of the test does a gs:// URL lead there.
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
