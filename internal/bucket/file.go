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
	Size         int64                         // in bytes; a content that is shorter or longer isn't put
	ContentType  string
	CacheControl string
	Metadata     map[string]string // folders keep none of this

	// Last is called when all was read, right before the object becomes visible; an error of it
	// ends the put. Nil: nobody asks.
	Last func() error
}

// pieceSize is how much is copied at once, in bytes, between two looks at the context. The system
// copies from one file to another by itself, whatever the size.
const pieceSize = 16 << 20

// copyBuffers are used again, because a file may be smaller than one. gocloud's own copy, which is
// hidden from copyTo, takes 1 MiB for each.
var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// copyTo copies exactly as many bytes as the file has, and asks Last. A file that is shorter or
// longer isn't the one that was meant.
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
