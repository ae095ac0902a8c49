package icesink

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
)

// connect returns the catalog, and opens it at the first call. A REST catalog is then asked for its
// configuration.
func (s *Sink) connect(ctx context.Context) (catalog.Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog != nil {
		return s.catalog, nil
	}
	ctx = context.WithoutCancel(ctx) // the library keeps it for credentials that it asks for later
	var c catalog.Catalog
	var err error
	if s.properties["type"] == "rest" {
		c, err = s.rest(ctx)
	} else {
		c, err = catalog.Load(ctx, s.name, s.properties)
	}
	if err != nil {
		return nil, fmt.Errorf("open the catalog: %w", err)
	}
	s.catalog = c
	return c, nil
}

// rest opens a REST catalog. It is used in place of the library's catalog.Load, whose REST catalog
// has no time limits and doesn't tell a 429 from other errors.
func (s *Sink) rest(ctx context.Context) (*rest.Catalog, error) {
	p := maps.Clone(s.properties)
	take := func(key string) string {
		value := p[key]
		delete(p, key)
		return value
	}
	limited := http.DefaultTransport.(*http.Transport).Clone()
	limited.ResponseHeaderTimeout = answerTime
	options := []rest.Option{
		rest.WithCredential(take("credential")), rest.WithOAuthToken(take("token")),
		rest.WithWarehouseLocation(take("warehouse")),
		rest.WithScope(take("scope")), rest.WithAudience(take("audience")), rest.WithResource(take("resource")),
		rest.WithPrefix(take("prefix")),
		rest.WithCustomTransport(refusalTransport{limited}),
	}
	if at := take("oauth2-server-uri"); at != "" {
		u, err := url.Parse(at)
		if err != nil {
			return nil, fmt.Errorf("parameter oauth2-server-uri: %w", err)
		}
		options = append(options, rest.WithAuthURI(u))
	}
	if region, service := take("rest.signing-region"), take("rest.signing-name"); take("rest.sigv4-enabled") == "true" {
		options = append(options, rest.WithSigV4RegionSvc(region, service))
	}
	uri := take("uri")
	take("type")
	return rest.NewCatalog(ctx, s.name, uri, append(options, rest.WithAdditionalProps(p))...)
}

// answerTime is how long a catalog may think before it answers. It may have to write a table's
// metadata to a bucket first.
const answerTime = time.Minute

// A refusalTransport returns the error tooManyRequests for the answer 429, which says that nothing
// was done. The library wouldn't tell it from other errors.
type refusalTransport struct{ http.RoundTripper }

func (t refusalTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusTooManyRequests {
		return answer, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	_ = answer.Body.Close()
	after, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // a date is rare, and the pause grows anyway
	return nil, &tooManyRequests{time.Duration(min(max(after, 0), 60)) * time.Second}
}

// tooManyRequests is the error of a call that the catalog answered with 429. retryAfter is how long
// the catalog wants callers to wait, 0 to 60 s.
type tooManyRequests struct{ retryAfter time.Duration }

func (t *tooManyRequests) Error() string { return "the catalog answered 429: too many requests" }
