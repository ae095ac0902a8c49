package bucket_test

import (
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

func TestMemory(t *testing.T) {
	for _, hashed := range []bool{false, true} {
		buckettest.Run(t, func(*testing.T) func() *bucket.Bucket {
			return (&bucket.Memory{Hashed: hashed}).Open
		})
	}
}

func TestFolder(t *testing.T) {
	buckettest.Run(t, func(t *testing.T) func() *bucket.Bucket {
		url := "file://" + t.TempDir() + "/made/by it"
		return func() *bucket.Bucket { return buckettest.Open(t, url) }
	})
}

func TestGCS(t *testing.T) {
	buckettest.Run(t, func(t *testing.T) func() *bucket.Bucket {
		buckettest.GCS(t, nil)
		return func() *bucket.Bucket { return buckettest.Open(t, "gs://bkt/a/b") }
	})
}
