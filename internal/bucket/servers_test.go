//go:build servers

package bucket_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The suite on the servers that .ci/servers starts.
func TestServers(t *testing.T) {
	sinktest.EachServer(t, os.Getenv, func(t *testing.T, s sinktest.Server) {
		buckettest.Run(t, func(t *testing.T) func() *bucket.Bucket {
			url := s.Elsewhere().URL(t)
			return func() *bucket.Bucket { return buckettest.Open(t, url) }
		})
	})
}

// S3 deletes a thousand objects in one call, and one more in the next.
func TestServersDeleteMany(t *testing.T) {
	b := buckettest.Open(t, sinktest.Server{Scheme: "s3"}.At(os.Getenv).Elsewhere().URL(t))
	keys := []string{"was never there"}
	for i := range 1001 {
		keys = append(keys, fmt.Sprintf("claims of Zoë & Co. <%d>/1.json", i))
		if _, err := b.Put(t.Context(), keys[i+1], nil, bucket.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Delete(t.Context(), keys[:1001]...); err != nil {
		t.Error(err)
	}
	if there, err := b.List(t.Context(), ""); err != nil || len(there) != 1 {
		t.Errorf("%d objects are there, want the one that wasn't named; %v", len(there), err)
	}
}
