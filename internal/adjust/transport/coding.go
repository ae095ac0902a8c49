package transport

import (
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/reportferry/reportferry/internal/catalog"
)

// acceptedCodings are the content codings that requests ask for, the cheapest to decode first:
// Zstandard takes a third of the time of gzip.
const acceptedCodings = "zstd, gzip"

// largestWindow is how far back a Zstandard frame may refer: what RFC 9659 grants to a content
// coding.
const largestWindow = 8 << 20

// gzips keeps decoders of gzip for further use, because each has tables of tens of kilobytes.
var gzips sync.Pool

// unpack decodes a content coding. The function that it returns frees the decoder, and is called
// when nothing more is read.
func unpack(coding string, from io.Reader) (io.Reader, func(), error) {
	switch catalog.Fold(coding) {
	case "", "identity":
		return from, func() {}, nil
	case "gzip", "x-gzip":
		z, _ := gzips.Get().(*gzip.Reader)
		if z == nil {
			z = new(gzip.Reader)
		}
		if err := z.Reset(from); err != nil {
			return nil, nil, fmt.Errorf("unpack the answer: %w", err)
		}
		return z, func() { gzips.Put(z) }, nil
	case "zstd":
		z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("unpack the answer: %w", err)
		}
		return z, z.Close, nil
	}
	return nil, nil, fmt.Errorf("the answer is packed as %q, which was not asked for", coding)
}
