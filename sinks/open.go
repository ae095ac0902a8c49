package sinks

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/address"
)

// An Opener opens the sink that a URL names. Openers are listed by the schemes of their URLs.
type Opener func(ctx context.Context, rawURL string) (Sink, error)

// Open opens a sink by the opener that is listed under its URL's scheme.
func Open(ctx context.Context, rawURL string, openers map[string]Opener) (Sink, error) {
	scheme, _, found := strings.Cut(rawURL, ":")
	if !found {
		return nil, fmt.Errorf("open sink %q: not a URL; want for example file://./out or gs://bucket/prefix", rawURL)
	}
	open, known := openers[scheme]
	if !known {
		schemes := slices.Sorted(maps.Keys(openers))
		return nil, fmt.Errorf("open sink %s: unknown scheme %q; known: %s", Redact(rawURL), scheme,
			strings.Join(schemes, ", "))
	}
	return open(ctx, rawURL)
}

// Redact removes secrets from a URL.
func Redact(rawURL string) string { return address.Redact(rawURL) }

// NamesMore reports whether a sink's URL has a parameter that selects the store or the layout in
// it, or can't be parsed. Receipts of earlier versions hold the URL without its parameters, and so
// don't tell such stores apart.
func NamesMore(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err != nil || slices.ContainsFunc([]string{"key", "endpoint", "region", "domain", "protocol", "localemu"},
		u.Query().Has)
}
