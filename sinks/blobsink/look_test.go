package blobsink

import (
	"errors"
	"io"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks"
)

// Objects that List gives are read here and there, in a folder and below a bucket's prefix, as the
// end of a Parquet file is: a read that begins in the object and ends behind it gives what there
// is, and one of an object that is gone fails.
func TestAt(t *testing.T) {
	for name, s := range map[string]*Sink{
		"folder": mustOpen(t, "file://"+t.TempDir()).(*Sink),
		"bucket": newSink(bucket.NewMemory(), "mem://", defaultKey),
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

// A file of this program that somebody has cut is put again, in a folder and in a bucket without
// marks. What somebody else put there stays.
func TestWhatWasCutIsReplaced(t *testing.T) {
	for name, s := range map[string]*Sink{"folder": mustOpen(t, "file://"+t.TempDir()).(*Sink),
		"bucket": newSink(bucket.NewMemory(), "mem://", defaultKey)} {
		for content, own := range map[string]bool{
			"": true, "PA": true, "PAR1": true, "PAR1 rows": true, "PAR1 rows and rows": true,
			"P": true, "ROWS": false, "my": false, "my own numbers": false,
			"PAR1 another program\x14\x00\x00\x00PAR1": false,
		} {
			p := part("rows")
			if err := s.bucket.Blob().WriteAll(t.Context(), s.key.key(p), []byte(content), nil); err != nil {
				t.Fatal(err)
			}
			over, err := s.ConditionOf(t.Context(), p.Table, p.Partition, true)
			if (err == nil) != own || (over.Version != "") != own || !own && !errors.Is(err, sinks.ErrForeign) {
				t.Errorf("%s: %q is its own, want %v: %+v, %v", name, content, own, over, err)
			}
		}
	}
}
