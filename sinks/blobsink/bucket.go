package blobsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/fileblob" // file://
	"gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/memblob" // mem://
	"gocloud.dev/blob/s3blob"

	"github.com/reportferry/reportferry/sinks"
)

// OpenBucket opens the bucket of a URL. It differs from gocloud.dev/blob.OpenBucket in what that leaves to the caller:
//
//   - file:///abs/dir, file://./dir and file://../dir are directories, which are created when they are missing; the last two
//     are relative to the working directory. A file is written beside its place and renamed, and gets no second file with
//     its attributes.
//   - In gs://bucket/a/b, and likewise with s3, azblob and mem, all keys begin with a/b/. gocloud itself ignores the path.
//
// The query parameters are gocloud's, and insecure=true, without which a store on another machine isn't spoken to over plain HTTP. Errors don't repeat them, because they may be secret.
func OpenBucket(ctx context.Context, rawURL string) (*blob.Bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: not a URL", sinks.Redact(rawURL))
	}
	q := u.Query()
	allowed := q.Get(sinks.InsecureKey)
	if allowed != "" && allowed != "true" && allowed != "false" {
		return nil, fmt.Errorf("open bucket %s: parameter insecure: want true or false", sinks.Redact(rawURL))
	}
	if q.Has(sinks.InsecureKey) {
		q.Del(sinks.InsecureKey)
		u.RawQuery = q.Encode()
	}
	prefix := ""
	if u.Scheme == "file" {
		err = completeFileURL(u)
	} else {
		prefix = strings.Trim(u.Path, "/")
		u.Path, u.RawPath = "", ""
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", sinks.Redact(rawURL), err)
	}
	if u.Scheme == "file" {
		if info, err := os.Stat(u.Path); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("open bucket %s: %s is not a directory: move that file away, or name another folder", sinks.Redact(rawURL), u.Path)
		}
	}
	mux := blob.DefaultURLMux()
	if own := openers[u.Scheme]; own != nil {
		mux = &blob.URLMux{} // it handles the parameters prefix and key
		mux.RegisterBucket(u.Scheme, own)
	}
	bucket, err := mux.OpenBucketURL(ctx, u)
	if err != nil {
		// Drivers' errors contain the whole URL.
		reason := strings.ReplaceAll(err.Error(), u.String(), sinks.Redact(u.String()))
		return nil, opened(err, fmt.Sprintf("open bucket %s: %s", sinks.Redact(rawURL), reason))
	}
	if err := encrypted(bucket, u); err != nil && allowed != "true" {
		return nil, errors.Join(fmt.Errorf("open bucket %s: %w", sinks.Redact(rawURL), err), bucket.Close())
	}
	retryGoogle(bucket)
	if prefix != "" {
		bucket = blob.PrefixedBucket(bucket, prefix+"/")
	}
	return bucket, nil
}

// encrypted refuses a store that is spoken to over plain HTTP on another machine, by its URL or by an environment variable.
func encrypted(bucket *blob.Bucket, u *url.URL) error {
	_, q := place(bucket, u.String())
	at := q.Get("endpoint")
	if plain, _ := strconv.ParseBool(u.Query().Get("disable_https")); plain {
		_, host, _ := strings.Cut(cmp.Or(at, "https://amazonaws.com"), "://")
		at = "http://" + host
	}
	if at != "" && !strings.Contains(at, "://") {
		at = "http://" + at // STORAGE_EMULATOR_HOST
	}
	address, err := url.Parse(at)
	if err != nil {
		return err
	}
	return sinks.Encrypted(address)
}

// openers replace those of gocloud for the stores whose clients or errors need changes.
var openers = map[string]opener{azureblob.Scheme: openAzure, s3blob.Scheme: openS3, gcsblob.Scheme: openGCS}

type opener func(context.Context, *url.URL) (*blob.Bucket, error)

// OpenBucketURL makes it a blob.BucketURLOpener.
func (o opener) OpenBucketURL(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	return o(ctx, u)
}

// completeFileURL makes the directory absolute and sets the options that an atomic replacement needs: the temporary file is on
// the same file system, and no second file holds the attributes.
func completeFileURL(u *url.URL) error {
	dir := u.Path
	switch u.Host {
	case "", "localhost":
	case ".", "..":
		dir = u.Host + "/" + u.Path
	default:
		return errors.New("a relative directory is written file://./dir, an absolute one file:///dir")
	}
	if dir == "" {
		return errors.New("the directory is missing; want file://./dir or file:///dir")
	}
	abs, err := filepath.Abs(filepath.FromSlash(dir))
	if err != nil {
		return err
	}
	u.Host, u.Path, u.RawPath = "", filepath.ToSlash(abs), ""
	q := u.Query()
	q.Set("create_dir", "true")
	q.Set("no_tmp_dir", "true")
	q.Set("metadata", "skip")
	u.RawQuery = q.Encode()
	return nil
}

// LocalDir returns the directory of a file URL as OpenBucket opens it, and "" for other stores. A URL whose parameters move
// the keys out of that directory is an error.
func LocalDir(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", fmt.Errorf("bucket %s: not a URL", sinks.Redact(rawURL))
	}
	if u.Scheme != "file" {
		return "", nil
	}
	for _, moved := range []string{"prefix", "key"} {
		if u.Query().Has(moved) {
			return "", fmt.Errorf("bucket %s: write the directory into the path, not as %s=", sinks.Redact(rawURL), moved)
		}
	}
	if err := completeFileURL(u); err != nil {
		return "", fmt.Errorf("bucket %s: %w", sinks.Redact(rawURL), err)
	}
	return filepath.FromSlash(u.Path), nil
}
