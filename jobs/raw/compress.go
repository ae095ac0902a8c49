package raw

import (
	"context"
	"sync"

	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
)

// window is how far back the compressor searches for matches, in bytes. A small one is enough
// because rows resemble those just before them: with 128 KiB the objects would be 1 % smaller and
// with 4 MiB 3 %, and each answer would take 0.3 or 4.5 MiB more memory.
const window = 32 << 10

// encoders is a pool because each encoder has half a megabyte of tables. Each answer is compressed
// by one goroutine.
var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
}}

// run compresses and writes until the last piece, or an error.
func (c *stream) run() {
	defer close(c.done)
	if c.err = c.write(); c.err == nil {
		c.err = context.Cause(c.ctx) // an answer that was given up meanwhile is dropped below
	}
	if c.err != nil {
		c.cancel(c.err)
		c.drop()
	}
}

// write does what run does, and leaves an object that isn't whole to it.
func (c *stream) write() (err error) {
	if c.object, err = c.store.o.Bucket.NewWriter(c.ctx, c.key, &blob.WriterOptions{
		ContentType: "application/zstd", BufferSize: c.store.o.Piece, MaxConcurrency: 1, IfNotExist: true,
		BeforeWrite: func(as func(any) bool) error {
			as(&c.file) // stays nil unless the bucket is a folder
			return nil
		},
	}); err != nil {
		return err
	}
	e := encoders.Get().(*zstd.Encoder)
	e.Reset(c.object)
	defer func() {
		e.Reset(nil)
		encoders.Put(e)
	}()
	for {
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case piece, more := <-c.full:
			if !more {
				return e.Close()
			}
			c.sum.Write(piece)
			c.bytes += int64(len(piece))
			if _, err := e.Write(piece); err != nil {
				return err
			}
			c.free <- piece[:0]
		}
	}
}
