package adjust

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

var errRedirect = errors.New("redirect not followed")

// checkRedirect lets a redirect to another host through, but bare: neither token nor account goes along, and the host
// that was left gets them no more when the chain comes back. net/http alone would still send the token to subdomains.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet {
		// Whoever follows it sends twice, or to a stranger, or asks a page for people whether it was taken.
		return http.ErrUseLastResponse
	}
	if len(via) >= 10 {
		return fmt.Errorf("%w: ten in a row", errRedirect)
	}
	if at := req.URL.String(); c.secrets.scrub(at) != at {
		return fmt.Errorf("%w: its address repeats the token", errRedirect)
	}
	req.Header.Del("Referer")
	first := via[0].URL
	for _, hop := range append(via[1:len(via):len(via)], req) {
		if !sameHost(hop.URL, first) {
			req.Header.Del("Authorization")
			req.Header.Del("X-Account-ID")
		}
	}
	return nil
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
