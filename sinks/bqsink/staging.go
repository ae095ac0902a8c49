package bqsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/gcsblob" // gs://, the only store that BigQuery loads from
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/sinks"
)

// staleAge is the age at which no load job can need a staged file any more: a job ends after 6 h at
// the latest (https://cloud.google.com/bigquery/quotas#load_jobs).
const staleAge = 24 * time.Hour

// staging is the bucket that files are kept in while they are loaded.
type staging struct {
	bucket *blob.Bucket
	url    string // gs://bucket
	prefix string // empty, or ends with a slash
}

// openStaging opens the bucket and prefix that a URL names.
func openStaging(ctx context.Context, rawURL string) (*staging, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open staging: %w", err)
	}
	st := &staging{url: "gs://" + u.Host}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		st.prefix = prefix + "/"
	}
	if st.bucket, err = blob.OpenBucket(ctx, st.url); err != nil {
		return nil, fmt.Errorf("open staging %s: %w", st.url, err)
	}
	return st, nil
}

// dir returns the prefix of a partition's files.
func (st *staging) dir(at place) string { return st.prefix + at.table + "/" + at.label() + "/" }

// key returns the key of a part's file. The run is in the key, so that two runs never write to one
// key even when the content is the same: a load job of the first may still read its file while the
// second writes.
func (st *staging) key(at place, p sinks.Part) string {
	return st.dir(at) + labelText(p.Hash) + "." + labelText(p.Run) + ".parquet"
}

// upload writes the part's file and returns its gs:// URI.
func (st *staging) upload(ctx context.Context, at place, p sinks.Part) (string, error) {
	key := st.key(at, p)
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("stage the part at %s/%s: %w; nothing was changed", st.url, key, err)
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	file, err := openSource(ctx, p)
	if err != nil {
		return fail(err)
	}
	w, err := st.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/vnd.apache.parquet",
		BufferSize: chunkSize})
	if err != nil {
		return fail(errors.Join(err, file.Close()))
	}
	if _, err = io.Copy(w, file); err != nil {
		abort()
		_ = w.Close() // frees the writer; its context is cancelled, so nothing is stored, and err says why
		return fail(errors.Join(err, file.Close()))
	}
	if err := w.Close(); err != nil {
		return fail(err)
	}
	return st.url + "/" + key, nil
}

// cleanUp deletes the file of a load that is done, and those of the same partition that killed runs
// left long ago.
func (st *staging) cleanUp(ctx context.Context, at place, loaded string, now time.Time) error {
	files := st.bucket.List(&blob.ListOptions{Prefix: st.dir(at)})
	for {
		f, err := files.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("clean up staging %s/%s: %w", st.url, st.dir(at), err)
		}
		if st.url+"/"+f.Key != loaded && now.Sub(f.ModTime) < staleAge {
			continue
		}
		if err := st.bucket.Delete(ctx, f.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return fmt.Errorf("clean up staging %s/%s: %w", st.url, f.Key, err)
		}
	}
}
