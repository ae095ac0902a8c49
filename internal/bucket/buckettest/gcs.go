package buckettest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// GCS starts a fake of Google's storage with a bucket named bkt, and directs gs:// URLs to it. wrap
// may change its answers; it may be nil.
func GCS(t *testing.T, wrap func(http.Handler) http.Handler) {
	t.Helper()
	listener := httptest.NewUnstartedServer(nil)
	addr := listener.Listener.Addr().String()
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, Scheme: "http", PublicHost: addr, ExternalURL: "http://" + addr,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "bkt"})
	listener.Config.Handler = server.HTTPHandler()
	if wrap != nil {
		listener.Config.Handler = wrap(listener.Config.Handler)
	}
	listener.Start()
	t.Cleanup(listener.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", addr)
}
