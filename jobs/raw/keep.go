package raw

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"
)

// A Kept copies one answer into the store. A nil Kept does nothing.
type Kept struct {
	store   *Store
	ctx     context.Context
	request Request
	copy    *stream // copy of the current attempt; nil: none
}

// Tee returns a reader of the same bytes as from, which copies them while they are read. Each call
// starts a new copy and throws away that of an earlier attempt, because the service is asked again
// when an answer breaks off.
func (k *Kept) Tee(from io.Reader) io.Reader {
	if k == nil {
		return from
	}
	k.begin()
	return io.TeeReader(from, k.copy)
}

func (k *Kept) begin() {
	k.Abort()
	k.copy = k.store.stream(k.ctx, k.request)
}

// Abort throws the copy away, if there is one that isn't committed. After Commit it does nothing.
func (k *Kept) Abort() {
	if k != nil && k.copy != nil {
		k.copy.abort(errAborted)
		k.copy = nil
	}
}

// A KeepError says why an answer isn't kept.
type KeepError struct {
	Location string // where the answer should have been kept
	Err      error
}

func (e *KeepError) Error() string {
	return fmt.Sprintf("keep the answer as %s: %v", e.Location, e.Err)
}
func (e *KeepError) Unwrap() error { return e.Err }

// commitWaits is how long Commit waits for the end of a copy, as a multiple of the stream's wait.
const commitWaits = 6

// Commit publishes the copy of an accepted answer, and returns its name for records: key#SHA-256.
// After an error there is no object, unless only the store's response was lost; then nothing refers
// to its key. The error is always a *KeepError.
func (k *Kept) Commit(a Answer) (name string, err error) {
	if k == nil {
		return "", nil
	}
	if k.copy == nil || a.Status == http.StatusNoContent { // there was nothing to read
		k.begin()
	}
	c := k.copy
	defer k.Abort()
	late := time.AfterFunc(commitWaits*c.wait, c.giveUp)
	defer late.Stop()
	if err = k.commit(c, a); err != nil {
		if cause := context.Cause(c.ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return "", &KeepError{k.store.Location(c.key), err}
	}
	k.copy = nil
	c.cancel(nil) // frees the context
	return c.key + "#" + hex.EncodeToString(c.sum.Sum(nil)), nil
}

func (k *Kept) commit(c *stream, a Answer) error {
	if err := c.finish(); err != nil {
		return err
	}
	if a.Bytes != c.bytes {
		return fmt.Errorf("%d of its %d bytes were copied", c.bytes, a.Bytes)
	}
	a.SHA256 = hex.EncodeToString(c.sum.Sum(nil))
	tail, err := frame(Meta{k.request, a})
	if err != nil {
		return err
	}
	if _, err = c.object.Write(tail); err != nil {
		return err
	}
	if c.file != nil { // so that after a power cut no record names half a file
		if err = c.file.Sync(); err != nil {
			return err
		}
	}
	object := c.object
	c.object = nil // even if Close fails, nothing more is written
	if err = object.Close(); err != nil || c.file == nil {
		return err
	}
	return k.store.root.Sync(filepath.Dir(k.store.root.Path(c.key)))
}
