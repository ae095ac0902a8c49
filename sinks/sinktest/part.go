package sinktest

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"

	"github.com/reportferry/reportferry/sinks"
)

// part is a part whose every reading can be made to fail.
type part struct {
	sinks.Part
	content        []byte
	opened, closed atomic.Int64 // how many readers were

	openErr  error                // of open
	closeErr error                // of a reader's Close
	extra    []byte               // follows the content, which has Size bytes
	at       int                  // onRead is called before the byte at this offset is read
	onRead   func() (bool, error) // tells whether the reading ends there, and its error; nil: there is no such call
}

// open returns a reader of the part.
func (p *part) open() (io.ReadCloser, error) {
	if p.openErr != nil {
		return nil, p.openErr
	}
	p.opened.Add(1)
	r := &reader{part: p}
	r.rest = bytes.NewReader(r.whole())
	return r, nil
}

// reader returns at most 32 KiB from a Read, so that a sink has to read many times.
type reader struct {
	part  *part
	rest  *bytes.Reader
	read  int  // bytes that Read has returned
	fired bool // onRead was called

	mu    sync.Mutex // of ReadAt, which several may call at once
	ended bool       // the reading ends at the byte, with err
	err   error
}

// Read implements io.Reader. The part's onRead is called before the byte at the
// offset at is read.
func (r *reader) Read(b []byte) (int, error) {
	b = b[:min(len(b), 32<<10)]
	if r.part.onRead != nil && !r.fired {
		if r.read >= r.part.at {
			r.fired = true
			if end, err := r.part.onRead(); end {
				r.rest.Reset(nil)
				return 0, err
			}
		} else {
			b = b[:min(len(b), r.part.at-r.read)]
		}
	}
	n, err := r.rest.Read(b)
	r.read += n
	return n, err
}

// ReadAt implements io.ReaderAt, for sinks that read the rows of a part. The first read that
// reaches the part's byte at calls onRead.
func (r *reader) ReadAt(b []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.part.onRead != nil && !r.fired && off+int64(len(b)) > int64(r.part.at) {
		r.fired = true
		r.ended, r.err = r.part.onRead()
	}
	if r.ended && off+int64(len(b)) > int64(r.part.at) {
		n := copy(b, r.whole()[min(off, int64(r.part.at)):r.part.at])
		return n, r.err
	}
	return bytes.NewReader(r.whole()).ReadAt(b, off)
}

// whole returns the file's content.
func (r *reader) whole() []byte {
	return append(r.part.content[:len(r.part.content):len(r.part.content)], r.part.extra...)
}

func (r *reader) Close() error {
	r.part.closed.Add(1)
	return r.part.closeErr
}
