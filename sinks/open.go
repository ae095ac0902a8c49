package sinks

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// An Opener opens the sink that a URL names. The URL's scheme is one the opener is listed under.
type Opener func(ctx context.Context, rawURL string) (Sink, error)

// Open finds the opener for the URL's scheme and opens the sink.
func Open(ctx context.Context, rawURL string, openers map[string]Opener) (Sink, error) {
	scheme, _, found := strings.Cut(rawURL, ":")
	if !found {
		return nil, fmt.Errorf("open sink %q: not a URL; want for example file://./out or gs://bucket/prefix", rawURL)
	}
	open, known := openers[scheme]
	if !known {
		schemes := slices.Sorted(maps.Keys(openers))
		return nil, fmt.Errorf("open sink %s: unknown scheme %q; known: %s", Redact(rawURL), scheme, strings.Join(schemes, ", "))
	}
	return open(ctx, rawURL)
}

// Redact drops what may be secret from a sink's URL: user information and query.
func Redact(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		scheme, _, _ := strings.Cut(rawURL, ":")
		return scheme + ":..."
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// NamesMore tells whether a sink's URL has a parameter that says which store, or which layout in it, is meant. Receipts of
// earlier versions know the URL without its parameters, so they don't vouch for such a store.
func NamesMore(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err != nil || slices.ContainsFunc([]string{"key", "endpoint", "region", "domain", "protocol", "localemu"}, u.Query().Has)
}
