package sinks

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"gocloud.dev/blob"
)

// probeTimeout bounds each call of a probe. A store that takes longer for a few bytes counts as
// unreachable.
const probeTimeout = 30 * time.Second

// ProbeBucket writes, reads and deletes an object in a bucket, under a random key that begins with
// the prefix. The error says which of the three failed.
func ProbeBucket(ctx context.Context, bucket *blob.Bucket, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*probeTimeout)
	defer cancel()
	key := prefix + ".reportferry-probe-" + rand.Text()
	content := []byte("written by reportferry check, which deletes it\n")
	if err := write(ctx, bucket, key, content); err != nil {
		return fmt.Errorf("write the probe %s: %w", key, err)
	}
	got, err := bucket.ReadAll(ctx, key)
	switch {
	case err != nil:
		err = fmt.Errorf("read the probe %s, which was written: %w", key, err)
	case !bytes.Equal(got, content):
		err = fmt.Errorf("read the probe %s: the store returns %d bytes that aren't those that were written", key,
			len(got))
	}
	if deleteErr := bucket.Delete(context.WithoutCancel(ctx), key); deleteErr != nil && err == nil {
		err = fmt.Errorf("delete the probe %s, which is left behind: %w", key, deleteErr)
	}
	return err
}

// write writes an object whole or not at all. After an error it cancels the writer before closing
// it, because closing alone would publish what was written so far.
func write(ctx context.Context, bucket *blob.Bucket, key string, content []byte) error {
	ctx, abort := context.WithTimeout(ctx, probeTimeout)
	defer abort()
	w, err := bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "text/plain"})
	if err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		abort()
		_ = w.Close() // err already says what went wrong
		return err
	}
	return w.Close()
}
