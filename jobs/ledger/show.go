package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/reportferry/reportferry/internal/bucket"
)

// Objects lists the ledger's objects under a prefix, ascending by key, without reading them.
func (l *Ledger) Objects(ctx context.Context, prefix string) ([]bucket.Object, error) {
	objects, err := l.store.List(ctx, prefix)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrBucket, err)
	}
	return objects, err
}

// Show returns an object's content as JSON with line breaks. If it can't be trusted, the error is a
// *DamagedError.
func (l *Ledger) Show(ctx context.Context, key string) (string, error) {
	data, _, err := l.store.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s isn't there; reportferry ledger list names what is", ErrRefused, l.location(key))
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBucket, err)
	}
	content, err := decodeDocument(data)
	var text bytes.Buffer
	if err == nil {
		err = json.Indent(&text, content, "", "  ")
	}
	if err != nil {
		return "", &DamagedError{Location: l.location(key), Err: err}
	}
	return text.String(), nil
}
