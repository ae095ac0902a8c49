package bucket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"
)

// These are the advice for missing credentials, and for missing rights.
const (
	gcsCredentials = "log in by gcloud auth application-default login, set GOOGLE_APPLICATION_CREDENTIALS to the " +
		"file of a service " +
		"account's key, or run under a service account"
	gcsRights = "the account that runs this needs the role Storage Object User (roles/storage.objectUser) on the " +
		"bucket; it is the one of " +
		"GOOGLE_APPLICATION_CREDENTIALS, or of gcloud auth application-default login, or the service account that " +
		"this runs under"
)

// openGCS opens a gs URL as gocloud does, but over a gcsTransport. When gocloud finds no
// credentials, it prints a warning and goes on, and then every call fails.
func openGCS(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	q := u.Query()
	plain := &http.Client{Transport: gcp.DefaultTransport()}
	client := &http.Client{Transport: &gcsTransport{
		plain: plain.Transport, anonymous: q.Has("anonymous") || q.Get("access_id") == "-",
		login: sync.OnceValues(func() (http.RoundTripper, error) {
			creds, err := gcp.DefaultCredentials(context.WithoutCancel(ctx)) // the context is kept for fetching tokens
			if err != nil {
				return nil, deny(fmt.Errorf("find Google's application default credentials: %w", err), gcsCredentials)
			}
			c, err := gcp.NewHTTPClient(plain.Transport, gcp.CredentialsTokenSource(creds))
			if err != nil {
				return nil, err
			}
			return c.Transport, nil
		}),
	}}
	opener := gcsblob.URLOpener{Client: &gcp.HTTPClient{Client: *client}}
	opener.Options.ClientOptions = []option.ClientOption{option.WithHTTPClient(client)}
	if domain := q.Get("universe_domain"); domain != "" {
		opener.Options.ClientOptions = append(opener.Options.ClientOptions, option.WithUniverseDomain(domain))
	}
	return opener.OpenBucketURL(ctx, u)
}

// A gcsTransport looks for credentials when the first request to Google is sent. An emulator is
// called over plain HTTP and gets none. An answer that refuses the credentials becomes an error
// with the answer's message, because Google's client passes on only the status, and gocloud takes a
// 403 for a missing object.
type gcsTransport struct {
	plain     http.RoundTripper                 // sends a request without credentials
	anonymous bool                              // no request gets credentials
	login     func() (http.RoundTripper, error) // returns a transport that adds credentials
}

// gcsTransient lists the reasons of a 403 against which a retry can help
// (https://cloud.google.com/storage/docs/json_api/v1/status-codes#403-forbidden).
var gcsTransient = []string{"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"}

// RoundTrip sends a request, with credentials where they are needed.
func (g *gcsTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	next := g.plain
	if req.URL.Scheme == "https" && !g.anonymous {
		if next, err = g.login(); err != nil {
			return nil, err
		}
	}
	resp, err = next.RoundTrip(req)
	var token *oauth2.RetrieveError
	if errors.As(err, &token) {
		return nil, deny(err, gcsCredentials)
	}
	if err == nil {
		noteDate(req.Context(), resp.Header)
	}
	if err != nil || resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}

	// Turn a 401 or 403 into an error with the message of its body.
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	var body struct {
		Error struct {
			Message string
			Errors  []struct{ Reason string }
		}
	}
	_ = json.Unmarshal(text, &body) // if the answer has another form, the error has only the status
	reason := ""
	if len(body.Error.Errors) > 0 {
		reason = body.Error.Errors[0].Reason
	}
	if slices.Contains(gcsTransient, reason) {
		resp.Body = io.NopCloser(bytes.NewReader(text))
		return resp, nil
	}
	message := cmp.Or(body.Error.Message, reason, http.StatusText(resp.StatusCode))
	return nil, deny(fmt.Errorf("answered by Google Cloud Storage: %d: %s", resp.StatusCode, message), gcsRights)
}

// gcsTries and gcsUploadTries are how often a call to gs:// is sent at most. Google's clients pause
// for up to 1 s after the first failure, or 0.1 s in an upload, and double the pause each time. The
// clients of S3 and Azure send a call at most three and four times.
const (
	gcsTries       = 5
	gcsUploadTries = 8
)

// retryGoogle makes a client of Google's storage repeat every call that was answered with 503 or
// not at all, a bounded number of times. By default it repeats, without a bound, only calls that
// are idempotent for every caller (https://cloud.google.com/storage/docs/retry-strategy), which
// leaves out writing an object. All calls of this program are idempotent, because every write is
// conditional.
func retryGoogle(bucket *blob.Bucket) {
	var client *storage.Client
	if bucket.As(&client) {
		client.SetRetry(storage.WithPolicy(storage.RetryAlways), storage.WithMaxAttempts(gcsTries))
	}
}

// boundUpload bounds the retries of one upload, to which SetRetry's bound doesn't apply. as is the
// argument of BeforeWrite.
func boundUpload(as func(any) bool) {
	var object **storage.ObjectHandle
	if !as(&object) {
		return
	}
	left := gcsUploadTries - 1 // used by one goroutine
	*object = (*object).Retryer(storage.WithErrorFunc(func(err error) bool {
		if !storage.ShouldRetry(err) || left == 0 {
			return false
		}
		left--
		return true
	}))
}
