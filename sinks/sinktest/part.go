package sinktest

import (
	"bytes"
	"io"
	"sync/atomic"

	"github.com/reportferry/reportferry/sinks"
)

// part is a part of which every reading can be made to fail.
type part struct {
	sinks.Part
	content        []byte
	opened, closed atomic.Int64

	openErr  error
	closeErr error
	extra    []byte               // follows the content, which has Size bytes
	at       int                  // onRead is called before the byte at this offset is read
	onRead   func() (bool, error) // whether the reading ends there, and with which error; nil: it goes on
}

func (p *part) open() (io.ReadCloser, error) {
	if p.openErr != nil {
		return nil, p.openErr
	}
	p.opened.Add(1)
	return &reader{part: p, rest: bytes.NewReader(append(p.content[:len(p.content):len(p.content)], p.extra...))}, nil
}

// reader returns at most 32 KiB from a Read, so that a sink has to read many times.
type reader struct {
	part  *part
	rest  *bytes.Reader
	read  int
	fired bool
}

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

func (r *reader) Close() error {
	r.part.closed.Add(1)
	return r.part.closeErr
}
