package bqsink

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"

	"google.golang.org/api/googleapi"
)

// once is the transport under cloud.google.com/go/bigquery. That client repeats what fails in a way that it knows until
// the context ends, without a limit and unseen (https://github.com/googleapis/google-cloud-go/blob/main/bigquery/bigquery.go,
// runWithRetry): below the retries of this package that would be a second layer. So a failure of any kind goes up as an
// error that it doesn't know, and plain brings back what it was.
type once struct{ base http.RoundTripper }

// hidden is a failure on its way through the client. It has nothing to be known by: no Unwrap, no Timeout, no Temporary,
// and no word of the failure in its text.
type hidden struct{ cause error }

func (*hidden) Error() string { return "the call failed" }

// RoundTrip reads the answer whole, because the client repeats a call whose answer ends too early as well. Uploads are
// left alone: the client doesn't repeat them, and what sends the chunks wants to see how each went.
func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := o.base.RoundTrip(r)
	if r.URL.Query().Has("uploadType") {
		return answer, err
	}
	if err != nil {
		return nil, &hidden{err}
	}
	defer func() { _ = answer.Body.Close() }() // all of it was read, or the reading failed
	if answer.StatusCode >= http.StatusBadRequest {
		return nil, &hidden{googleapi.CheckResponse(answer)}
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, &hidden{err}
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// plain is the error as it would have been without once.
func plain(err error) error {
	var h *hidden
	if !errors.As(err, &h) {
		return err
	}
	var call *url.Error // the client's transport puts it around
	if _, answered := errors.AsType[*googleapi.Error](h.cause); answered || !errors.As(err, &call) {
		return h.cause
	}
	return &url.Error{Op: call.Op, URL: call.URL, Err: h.cause}
}
