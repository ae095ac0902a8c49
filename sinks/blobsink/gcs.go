package blobsink

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

	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"
)

const (
	gcsCredentials = "log in by gcloud auth application-default login, set GOOGLE_APPLICATION_CREDENTIALS to the file of a service " +
		"account's key, or run under a service account"
	gcsRights = "the account that runs this needs the role Storage Object User (roles/storage.objectUser) on the bucket; it is the one of " +
		"GOOGLE_APPLICATION_CREDENTIALS, or of gcloud auth application-default login, or the service account that this runs under"
)

// openGCS opens a gs URL as gocloud does, with a transport of ours: without credentials gocloud would print a warning and
// go on, and every call would fail.
func openGCS(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	q := u.Query()
	plain := &http.Client{Transport: gcp.DefaultTransport()}
	client := &http.Client{Transport: &gcsTransport{
		plain: plain.Transport, anonymous: q.Has("anonymous") || q.Get("access_id") == "-",
		login: sync.OnceValues(func() (http.RoundTripper, error) {
			creds, err := gcp.DefaultCredentials(context.WithoutCancel(ctx)) // it is kept for the tokens
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

// A gcsTransport logs in when the first request goes to Google, and not to an emulator, which is asked in clear. It makes
// an error of every answer that refuses the credentials: Google's client knows them only by their status, and gocloud
// takes a 403 for an object that isn't there.
type gcsTransport struct {
	plain     http.RoundTripper
	anonymous bool
	login     func() (http.RoundTripper, error)
}

// Reasons of a 403 that another try may cure (https://cloud.google.com/storage/docs/json_api/v1/status-codes#403-forbidden).
var gcsPassing = []string{"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"}

// RoundTrip sends a request with the credentials that it needs.
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
	if err != nil || resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
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
	_ = json.Unmarshal(text, &body) // an answer in another form is shown by its status
	reason := ""
	if len(body.Error.Errors) > 0 {
		reason = body.Error.Errors[0].Reason
	}
	if slices.Contains(gcsPassing, reason) {
		resp.Body = io.NopCloser(bytes.NewReader(text))
		return resp, nil
	}
	said := cmp.Or(body.Error.Message, reason, http.StatusText(resp.StatusCode))
	return nil, deny(fmt.Errorf("answered by Google Cloud Storage: %d: %s", resp.StatusCode, said), gcsRights)
}
