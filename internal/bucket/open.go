package bucket

import (
	"context"
	"fmt"
	"strings"
)

// Open opens the bucket of a URL.
func Open(_ context.Context, rawURL string) (*Bucket, error) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	if scheme == "mem" {
		return NewMemory(), nil
	}
	return nil, fmt.Errorf("open bucket: unknown scheme %q", scheme)
}
