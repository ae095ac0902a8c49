package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"gocloud.dev/gcerrors"
)

// Attributes returns the entry of a key and its metadata, without reading the content. When there
// is no such object, the error is fs.ErrNotExist.
func (b *Bucket) Attributes(ctx context.Context, key string) (Object, map[string]string, error) {
	there, err := b.blob.Attributes(ctx, key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return Object{}, nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case err != nil:
		return Object{}, nil, b.explainRefusal(ctx, key, err)
	}
	return Object{Key: key, Size: there.Size, Version: version(there), Modified: there.ModTime}, there.Metadata, nil
}

// explainRefusal replaces the error of a refused HEAD request, whose answer has no body, by the
// error of a GET, whose answer explains the refusal.
func (b *Bucket) explainRefusal(ctx context.Context, key string, err error) error {
	if status := statusOf(err); status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	r, again := b.blob.NewRangeReader(ctx, key, 0, 1, nil)
	if again == nil {
		return errors.Join(err, r.Close())
	}
	if gcerrors.Code(again) == gcerrors.NotFound || ctx.Err() != nil {
		return err
	}
	return again
}

// explainTimeout bounds the GET that asks for the explanation of a refusal, because Amazon's client
// retries some refusals with pauses.
const explainTimeout = 30 * time.Second
