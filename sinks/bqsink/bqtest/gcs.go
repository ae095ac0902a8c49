package bqtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// splitURI splits gs://bucket/key.
func splitURI(uri string) (bucket, key string, ok bool) {
	rest, ok := strings.CutPrefix(uri, "gs://")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// fetch reads an object when its job ends. A file that was deleted while the job ran makes the job
// fail, as it may in BigQuery. https://cloud.google.com/storage/docs/json_api/v1/objects/get
func (s *Server) fetch(ctx context.Context, uri string) ([]byte, *refusal) {
	if s.opts.GCS == "" {
		return nil, refuse("notFound", "Not found: URI %s (bqtest was given no Cloud Storage)", uri)
	}
	bucket, key, _ := splitURI(uri)
	target := fmt.Sprintf("%s/storage/v1/b/%s/o/%s?alt=media", s.opts.GCS, url.PathEscape(bucket), url.PathEscape(key))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, refuse("invalid", "read %s: %v", uri, err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, refuse("backendError", "read %s: %v", uri, err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return nil, refuse("notFound", "Not found: URI %s", uri)
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized:
		return nil, refuse("accessDenied", "Access Denied: File %s: Access Denied", uri)
	case err != nil || answer.StatusCode != http.StatusOK:
		return nil, refuse("backendError", "read %s: %s, %v", uri, answer.Status, err)
	}
	return content, nil
}
