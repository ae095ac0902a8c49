package bqsink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	bq "google.golang.org/api/bigquery/v2"
)

// userAgent names the caller in the audit logs of a project.
const userAgent = "reportferry"

// login returns a transport that adds the application's default credentials to requests; to an emulator it adds none. Requests
// are sent through base, or through a default transport when base is nil. No token is fetched before the first call.
func login(emulator bool, base http.RoundTripper) (http.RoundTripper, error) {
	client, err := httptransport.NewClient(&httptransport.Options{
		DisableAuthentication: emulator,
		DetectOpts:            &credentials.DetectOptions{Scopes: []string{bq.BigqueryScope}},
		Headers:               http.Header{"User-Agent": {userAgent}},
		BaseRoundTripper:      base,
	})
	if err != nil {
		return nil, fmt.Errorf("find credentials: %w; log in by gcloud auth application-default login, or run under a service account", err)
	}
	return client.Transport, nil
}

// tokenRefused reports whether the credentials themselves were refused, for example because a key was deleted or a login
// revoked. A retry doesn't change that (https://www.rfc-editor.org/rfc/rfc6749#section-5.2).
func tokenRefused(err error) bool {
	var token *auth.Error
	return errors.As(err, &token) && token.Response != nil &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}, token.Response.StatusCode)
}

// whole is the transport below the client. It reads the whole answer, so that one which is cut short is a failed request like
// any other, whatever cut it. Answers to the chunks of an upload are passed on as they are, because the client sends a chunk
// again after a failed request, and a chunk of an upload that is complete may be refused, as if there were no job.
type whole struct{ base http.RoundTripper }

// RoundTrip sends a request and reads the answer.
func (w whole) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.base.RoundTrip(r)
	if err != nil || r.URL.Query().Get("uploadType") == "resumable" {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}
