package blobsink

import (
	"errors"
	"io"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
)

// Objects that List gives are read here and there, in a folder and below a bucket's prefix, as the end of a Parquet file is: a read
// that begins in the object and ends behind it gives what there is, and one of an object that is gone fails.
func TestAt(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close() //nolint:errcheck // in memory
	for name, s := range map[string]*Sink{
		"folder": mustOpen(t, "file://"+t.TempDir()).(*Sink),
		"bucket": newSink(blob.PrefixedBucket(bucket, "a/b/"), "mem://", defaultKey, ""),
	} {
		if _, err := s.Put(t.Context(), describing("campaigns", nil, failing(t))); err != nil {
			t.Fatal(name, err)
		}
		objects, err := s.List(t.Context(), "campaigns")
		if err != nil || len(objects) != 1 || objects[0].Size != 4 {
			t.Fatalf("%s: %v %v", name, objects, err)
		}
		at := s.At(t.Context(), objects[0].Key)
		b := make([]byte, 2)
		if n, err := at.ReadAt(b, 2); n != 2 || err != nil || string(b) != "ws" {
			t.Errorf("%s: the end is %q, %d %v", name, b, n, err)
		}
		if n, err := at.ReadAt(b, 3); n != 1 || !errors.Is(err, io.EOF) || b[0] != 's' {
			t.Errorf("%s: beyond the end are %q, %d %v", name, b, n, err)
		}
		if n, err := s.At(t.Context(), "gone").ReadAt(b, 0); n != 0 || err == nil {
			t.Errorf("%s: of nothing there are %d bytes, %v", name, n, err)
		}
	}
}
