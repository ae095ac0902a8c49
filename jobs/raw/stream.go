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
	// pieceSize is the size, in bytes, of each of two buffers: one is filled from the answer while
	// the other is compressed.
	pieceSize = 32 << 10

	// patience is how long an answer waits for a store that takes nothing. After one has waited in
	// vain, later answers of the run wait only for shortPatience, so that a store that hangs costs
	// a run seconds and not minutes.
	patience      = 10 * time.Second
	shortPatience = time.Second
)

var (
	errAborted = errors.New("the answer was given up")
	errStuck   = errors.New("the store takes nothing any more")
)

// A stream copies one attempt's answer into an object. A goroutine of its own compresses and
// writes. After the first error the copy is abandoned, but Write goes on without an error, so that
// the reader of the answer isn't disturbed.
type stream struct {
	store  *Store
	key    string
	ctx    context.Context
	cancel context.CancelCauseFunc
	wait   time.Duration // how long Write waits for a free piece

	piece     []byte        // being filled
	free      chan []byte   // pieces to fill
	full      chan []byte   // pieces to compress; closed behind the last
	abandoned bool          // nothing more is copied
	done      chan struct{} // closed when the goroutine has ended

	// These belong to the goroutine; others may use them when done is closed.
	object *blob.Writer
	file   *os.File  // of the object, where the bucket is a folder
	sum    hash.Hash // of the bytes that were copied
	bytes  int64     // how many were
	err    error     // why the copy failed
}

// stream starts the copy of an attempt's answer.
func (s *Store) stream(ctx context.Context, r Request) *stream {
	c := &stream{
		store: s, key: s.newKey(r, time.Now()), wait: patience, sum: sha256.New(), done: make(chan struct{}),
		free: make(chan []byte, 2), full: make(chan []byte, 2),
	}
	if s.stuck.Load() {
		c.wait = shortPatience
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
	for len(p) > 0 && !c.abandoned {
		k := min(len(p), cap(c.piece)-len(c.piece))
		c.piece = append(c.piece, p[:k]...)
		p = p[k:]
		if len(c.piece) == cap(c.piece) {
			c.full <- c.piece // never blocks: the channel has room for both pieces
			c.abandoned = !c.nextPiece()
		}
	}
	return n, nil
}

// nextPiece waits for a free piece. It returns false when there will be none.
func (c *stream) nextPiece() bool {
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
		c.giveUp()
	case <-c.done:
	case <-c.ctx.Done():
	}
	return false
}

// giveUp gives up the copy, and notes that the store takes nothing any more.
func (c *stream) giveUp() {
	c.store.stuck.Store(true)
	c.cancel(errStuck)
}

// finish waits until all is compressed and written.
func (c *stream) finish() error {
	if !c.abandoned {
		c.full <- c.piece
		close(c.full)
	}
	select {
	case <-c.done:
		return c.err
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// abort ends the goroutine and drops the object. It doesn't wait long for a store that is stuck.
func (c *stream) abort(why error) {
	c.cancel(why)
	select {
	case <-c.done:
		c.drop()
	case <-time.After(shortPatience):
	}
}

// drop closes the writer of an object that isn't whole. Its context has been cancelled, so that
// nothing is published.
func (c *stream) drop() {
	if c.object != nil {
		_ = c.object.Close() // frees the writer
		c.object = nil
	}
}
