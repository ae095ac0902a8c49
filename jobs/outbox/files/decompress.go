package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// mostExpanded is how many times its size a file may become once the first freeExpanded bytes have come out. Records
	// have random identifiers, and don't reach 20.
	mostExpanded = 200
	freeExpanded = 16 << 20
	// largestWindow of zstd is memory. Up to zstd -19 a file needs 8 MiB.
	largestWindow = 32 << 20

	readAhead = 64 << 10
)

// decompress gives what is inside gzip or zstd, one layer, and what is in neither as it is. done frees the memory.
func decompress(in io.Reader) (plain *bufio.Reader, done func(), err error) {
	counted := &counter{r: in}
	raw := bufio.NewReaderSize(counted, readAhead)
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	var inner io.Reader
	done = func() {}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if inner, err = gzip.NewReader(raw); err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		inner, done = z, z.Close
	default:
		return raw, done, nil
	}
	return bufio.NewReaderSize(&expanding{r: inner, packed: counted}, readAhead), done, nil
}

// counter counts what is read of a file as it is stored.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// expanding stops at a file that is small only as long as it isn't read.
type expanding struct {
	r      io.Reader
	packed *counter
	n      int64
}

func (e *expanding) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.n += int64(n)
	if e.n > freeExpanded && e.n > mostExpanded*e.packed.n {
		return 0, fmt.Errorf("expands to more than %d times its size, which no file of records does", mostExpanded)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("decompress: %w", err)
	}
	return n, err
}
