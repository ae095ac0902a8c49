package bqsink

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"cloud.google.com/go/bigquery"
)

// userAgent names the caller in the audit logs of a project.
const userAgent = "reportferry"

// login gives a transport that carries the application's default credentials, or none to an emulator. The base is what
// it sends by, or nil. No token is fetched before the first call.
func login(emulator bool, base http.RoundTripper) (http.RoundTripper, error) {
	client, err := httptransport.NewClient(&httptransport.Options{
		DisableAuthentication: emulator,
		DetectOpts:            &credentials.DetectOptions{Scopes: []string{bigquery.Scope}},
		Headers:               http.Header{"User-Agent": {userAgent}},
		BaseRoundTripper:      base,
	})
	if err != nil {
		return nil, fmt.Errorf("find credentials: %w; log in by gcloud auth application-default login, or run under a service account", err)
	}
	return client.Transport, nil
}

// tokenRefused tells whether the credentials themselves were turned down, which asking again doesn't change: a key that
// was deleted, a login that was withdrawn (https://www.rfc-editor.org/rfc/rfc6749#section-5.2).
func tokenRefused(err error) bool {
	var token *auth.Error
	return errors.As(err, &token) && token.Response != nil &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}, token.Response.StatusCode)
}
