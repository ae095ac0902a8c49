package raw

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
)

// open opens an object, which is Zstandard data and one last frame behind it. It reads that frame
// into r.Meta, and prepares r.decoder for the data.
func (r *Reader) open(ctx context.Context, bucket *blob.Bucket, key string) (err error) {
	if r.object, err = bucket.NewReader(ctx, key, nil); err != nil {
		return err
	}
	size := r.object.Size()
	n, err := r.meta(ctx, bucket, key, size)
	if err != nil {
		return err
	}
	r.from = &section{from: r.object, left: size - n}
	r.decoder, err = zstd.NewReader(r.from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	return err
}

// meta reads the frame that an object of so many bytes ends with, and gives the frame's size.
func (r *Reader) meta(ctx context.Context, bucket *blob.Bucket, key string, size int64) (int64, error) {
	for n := min(size, usualFrame); ; {
		end, err := readEnd(ctx, bucket, key, size, n)
		if err != nil {
			return 0, err
		}
		whole, err := frameSize(end)
		switch {
		case err == nil && whole > size:
			err = errFrame
		case err == nil && whole > int64(len(end)):
			n = whole
			continue
		case err == nil:
			r.Meta, err = readFrame(end[int64(len(end))-whole:])
		}
		if err != nil {
			err = &DamagedError{r.where, err}
		}
		return whole, err
	}
}

// readEnd reads the last n bytes of an object.
func readEnd(ctx context.Context, bucket *blob.Bucket, key string, size, n int64) ([]byte, error) {
	if n == 0 { // some stores refuse to read nothing
		return nil, nil
	}
	r, err := bucket.NewRangeReader(ctx, key, size-n, n, nil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	return b.Bytes(), errors.Join(err, r.Close())
}

// A section is the part of an object before the last frame. It remembers whether the store failed.
type section struct {
	from io.Reader
	left int64
	err  error // of the store
}

func (s *section) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.from.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err != nil && err != io.EOF { // an early end is noticed by the size that is missing
		s.err = err
	}
	return n, err
}
