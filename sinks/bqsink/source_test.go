package bqsink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

type file struct {
	io.Reader
	close func() error
}

func (f file) Close() error { return f.close() }

// A part that can't be read is read once, and makes no job that somebody would have to cancel or
// wonder about.
func TestBrokenPart(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, size := range []int{100, 3 * chunkSize} {
		content := bytes.Repeat([]byte("x"), size)
		for name, c := range map[string]struct {
			r    io.Reader
			c    error
			want string
		}{
			"short": {bytes.NewReader(content[1:]), nil, "bytes: unexpected EOF"},
			"long": {io.MultiReader(bytes.NewReader(content), strings.NewReader("y")), nil,
				"the file is longer than the part's"},
			"error": {io.MultiReader(bytes.NewReader(content), iotest.ErrReader(broken)), nil, "the disk is gone"},
			"close": {bytes.NewReader(content), broken, "the disk is gone"},
		} {
			server := newServer(t, bqtest.Options{})
			opened, closed := 0, 0
			p := testPart("2026-01-31", "run", "new")
			p.Size = int64(size)
			p.Open = func() (io.ReadCloser, error) {
				opened++
				return file{c.r, func() error { closed++; return c.c }}, nil
			}
			_, err := openOn(t, server, testURL).Put(t.Context(), p)
			mustContain(t, err, "read the part: ", c.want)
			if strings.Contains(err.Error(), "unknown") || opened != 1 || closed != 1 {
				t.Errorf("%s: opened %d times, closed %d times: %v", name, opened, closed, err)
			}
			if len(server.Jobs()) != 0 || len(asked(server, "jobs.cancel")) != 0 {
				t.Errorf("%s: a job was asked for", name)
			}
		}
	}
}

// A source ends only where everything was read and the context lasts.
func TestSourceAfterItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := io.MultiReader(strings.NewReader("abc"), readFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }))
	s, err := openSource(ctx, sinks.Part{Size: 3, Open: func() (io.ReadCloser,
		error) {
		return file{r, func() error { return nil }}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(s); !errors.Is(err, context.Canceled) || s.sent.Load() {
		t.Errorf("%v, sent: %v", err, s.sent.Load())
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }
