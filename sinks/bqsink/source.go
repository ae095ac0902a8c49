package bqsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/reportferry/reportferry/sinks"
)

// A source reads a part's file for an upload. It returns io.EOF only when the file had exactly the
// part's size, was closed without an error, and the context hasn't ended. An upload is completed at
// io.EOF and not before, so that a part that was cut short is never loaded.
type source struct {
	ctx    context.Context
	file   io.ReadCloser
	size   int64
	read   int64
	closed bool
	err    error       // what an earlier Read returned
	sent   atomic.Bool // io.EOF was returned, so the other side may have the whole part
}

func openSource(ctx context.Context, p sinks.Part) (*source, error) {
	file, err := p.Open()
	if err != nil {
		return nil, fmt.Errorf("open the part: %w", err)
	}
	return &source{ctx: ctx, file: file, size: p.Size}, nil
}

// errSource marks errors of the part's file, against which a retry of the call can't help.
var errSource = errors.New("read the part")

func (s *source) Read(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.next(b)
	if err != nil {
		s.err = err
	}
	return n, err
}

// next reads, and checks the context, the size, and the closing of the file at its end.
func (s *source) next(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, s.broken(err)
	}
	n, err := s.file.Read(b)
	s.read += int64(n)
	switch {
	case s.read > s.size:
		return 0, s.broken(fmt.Errorf("the file is longer than the part's %d bytes", s.size))
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return 0, s.broken(err)
	case s.read < s.size:
		return 0, s.broken(fmt.Errorf("the file ends after %d of %d bytes: %w", s.read, s.size, io.ErrUnexpectedEOF))
	}
	if err := s.Close(); err != nil {
		return 0, s.broken(err)
	}
	if err := s.ctx.Err(); err != nil {
		return 0, s.broken(err)
	}
	s.sent.Store(true)
	return n, io.EOF
}

// broken wraps an error as one of the part's file.
func (s *source) broken(err error) error { return fmt.Errorf("%w: %w", errSource, err) }

// Close closes the file once.
func (s *source) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.file.Close()
}
