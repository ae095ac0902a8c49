package raw

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"os"
	"time"

	"gocloud.dev/blob"
)

const (
	// pieceSize is how much of an answer waits to be compressed, twice: one piece is filled while
	// the other is compressed.
	pieceSize = 32 << 10

	// patience is how long the answer waits for a store that takes nothing; impatience is that of
	// later answers of the run, so that a store that hangs costs a run seconds and not minutes.
	patience   = 10 * time.Second
	impatience = time.Second
)

var (
	errAborted = errors.New("the answer was given up")
	errStuck   = errors.New("the store takes nothing any more")
)

// A stream copies one attempt's answer into an object. A goroutine of its own compresses and
// writes. It is abandoned after the first error, and its writer, who is the reader of the answer,
// doesn't notice.
type stream struct {
	store  *Store
	key    string
	ctx    context.Context
	cancel context.CancelCauseFunc
	wait   time.Duration // for a free piece

	piece []byte      // being filled
	free  chan []byte // pieces to fill
	full  chan []byte // pieces to compress; closed behind the last
	lost  bool        // nothing more is copied
	over  chan struct{}

	// Of the goroutine; of others once it is over.
	object *blob.Writer
	file   *os.File // of the object, where the bucket is a folder
	sum    hash.Hash
	bytes  int64
	err    error
}

func (s *Store) stream(ctx context.Context, r Request) *stream {
	c := &stream{
		store: s, key: s.newKey(r, time.Now()), wait: patience, sum: sha256.New(), over: make(chan struct{}),
		free: make(chan []byte, 2), full: make(chan []byte, 2),
	}
	if s.stuck.Load() {
		c.wait = impatience
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.free <- make([]byte, 0, pieceSize)
	c.piece = make([]byte, 0, pieceSize)
	go c.run()
	return c
}

// Write copies p, and never fails.
func (c *stream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !c.lost {
		k := min(len(p), cap(c.piece)-len(c.piece))
		c.piece = append(c.piece, p[:k]...)
		p = p[k:]
		if len(c.piece) == cap(c.piece) {
			c.full <- c.piece // there is room for both
			c.lost = !c.next()
		}
	}
	return n, nil
}

// next takes a free piece. It answers false when there will be none.
func (c *stream) next() bool {
	select {
	case c.piece = <-c.free:
		return true
	default:
	}
	late := time.NewTimer(c.wait)
	defer late.Stop()
	select {
	case c.piece = <-c.free:
		return true
	case <-late.C:
		c.stuck()
	case <-c.over:
	case <-c.ctx.Done():
	}
	return false
}

func (c *stream) stuck() {
	c.store.stuck.Store(true)
	c.cancel(errStuck)
}

// end waits until all is compressed and written.
func (c *stream) end() error {
	if !c.lost {
		c.full <- c.piece
		close(c.full)
	}
	select {
	case <-c.over:
		return c.err
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// abort ends the goroutine, and the object. It doesn't wait for a store that is stuck.
func (c *stream) abort(why error) {
	c.cancel(why)
	select {
	case <-c.over:
		c.drop()
	case <-time.After(impatience):
	}
}

// drop ends an object that isn't whole. Its context is cancelled, so that nothing is published.
func (c *stream) drop() {
	if c.object != nil {
		_ = c.object.Close() // frees the writer
		c.object = nil
	}
}
