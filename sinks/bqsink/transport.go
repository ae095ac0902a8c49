package bqsink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
)

// userAgent names the caller in the audit logs of a project.
const userAgent = "reportferry"

// login returns a transport that adds the application's default credentials to requests; to an
// emulator it adds none. Requests are sent through base, or through a default transport when base
// is nil. No token is fetched before the first call.
func login(emulator bool, base http.RoundTripper) (http.RoundTripper, error) {
	client, err := httptransport.NewClient(&httptransport.Options{
		DisableAuthentication: emulator,
		DetectOpts:            &credentials.DetectOptions{Scopes: []string{bigquery.Scope}},
		Headers:               http.Header{"User-Agent": {userAgent}},
		BaseRoundTripper:      base,
	})
	if err != nil {
		return nil, fmt.Errorf("find credentials: %w; log in by gcloud auth application-default login, or run under "+
			"a service account", err)
	}
	return client.Transport, nil
}

// tokenRefused reports whether the credentials themselves were refused, for example because a key
// was deleted or a login revoked. A retry doesn't change that
// (https://www.rfc-editor.org/rfc/rfc6749#section-5.2).
func tokenRefused(err error) bool {
	var token *auth.Error
	return errors.As(err, &token) && token.Response != nil &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden},
			token.Response.StatusCode)
}

// singleTry is the transport below cloud.google.com/go/bigquery. That client repeats a call that
// failed in a way that it knows until the context ends, without a bound and without a word
// (https://github.com/googleapis/google-cloud-go/blob/main/bigquery/bigquery.go, runWithRetry). To
// keep the retries of this package the only ones, singleTry returns every failure as an error that
// the client doesn't know, and unhide restores it.
type singleTry struct{ base http.RoundTripper }

// hiddenError carries a failure through the client. It has no Unwrap, Timeout or Temporary, and its
// text says nothing of the failure, because the client looks at all of these to decide on a retry.
type hiddenError struct{ cause error }

func (*hiddenError) Error() string { return "the call failed" }

// RoundTrip reads the whole answer, because the client also repeats a call whose answer is cut
// short. Uploads are passed through: the client doesn't repeat them, and its sender of chunks needs
// to see each answer.
func (o singleTry) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := o.base.RoundTrip(r)
	if r.URL.Query().Has("uploadType") {
		return answer, err
	}
	if err != nil {
		return nil, &hiddenError{err}
	}
	defer func() { _ = answer.Body.Close() }() // all of it was read, or the reading failed
	if answer.StatusCode >= http.StatusBadRequest {
		return nil, &hiddenError{googleapi.CheckResponse(answer)}
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, &hiddenError{err}
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// unhide returns the error that the client would have returned without singleTry.
func unhide(err error) error {
	var h *hiddenError
	if !errors.As(err, &h) {
		return err
	}
	var call *url.Error // http.Client wraps its transport's errors in it
	if _, answered := errors.AsType[*googleapi.Error](h.cause); answered || !errors.As(err, &call) {
		return h.cause
	}
	return &url.Error{Op: call.Op, URL: call.URL, Err: h.cause}
}
