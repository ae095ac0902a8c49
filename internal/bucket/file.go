package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A File is the content of a large object.
type File struct {
	Open         func() (io.ReadCloser, error) // is called once
	Size         int64                         // in bytes; content of another length is an error and isn't stored
	ContentType  string
	CacheControl string
	Metadata     map[string]string // folders keep none of this

	// Last is called when all content was read, right before the object becomes visible. If it
	// returns an error, the object isn't stored. It may be nil.
	Last func() error
}

// pieceSize is how many bytes are copied between two checks of the context. Between two files the
// operating system copies a whole piece without a buffer.
const pieceSize = 16 << 20

// copyBuffers are reused, because a new buffer may be larger than the file to copy. The ReadFrom
// of gocloud's writer would allocate 1 MiB for each file, so that callers hide it from copyTo.
var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// copyTo copies the content to w, and then calls Last. Content that isn't exactly f.Size bytes
// long is an error.
func (f *File) copyTo(ctx context.Context, w io.Writer) error {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("open what is to be written: %w", err)
	}
	if err := errors.Join(f.copyAll(ctx, w, r), r.Close()); err != nil || f.Last == nil {
		return err
	}
	return f.Last()
}

// copyAll copies r to w in pieces. It tries to read one byte more than f.Size, to notice a longer
// file.
func (f *File) copyAll(ctx context.Context, w io.Writer, r io.Reader) (err error) {
	buffer := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buffer)
	var n int64
	for n <= f.Size && err == nil {
		piece := min(f.Size+1-n, pieceSize)
		var some int64
		if some, err = io.CopyBuffer(w, io.LimitReader(r, piece), buffer[:]); err == nil && some < piece {
			err = io.EOF
		}
		n += some
		err = cmp.Or(ctx.Err(), err)
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("after %d of %d bytes: %w", n, f.Size, err)
	case n < f.Size:
		return fmt.Errorf("the file ends after %d of %d bytes: %w", n, f.Size, io.ErrUnexpectedEOF)
	case n > f.Size:
		return fmt.Errorf("the file is longer than its %d bytes", f.Size)
	}
	return nil
}
