package raw

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// A DamagedError says that a kept answer is missing, or isn't what was kept. No rows may be made of
// such an answer.
type DamagedError struct {
	Location string // where a person finds it
	Err      error  // fs.ErrNotExist when it is missing
}

func (e *DamagedError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("the raw answer %s is missing", e.Location)
	}
	return fmt.Sprintf("the raw answer %s is damaged: %v", e.Location, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// A Reader reads a kept answer's content. The content is whole and undamaged only when Read ends
// with io.EOF, because its size and its SHA-256 are compared there.
type Reader struct {
	Meta
	where   string // for messages
	object  *blob.Reader
	from    *section      // the Zstandard data of object
	decoder *zstd.Decoder // reads the section from
	sum     hash.Hash     // of the content so far
	read    int64         // bytes of it
}

// Open opens a kept answer by the name that Commit returned. The error is a *DamagedError when the
// answer is missing or damaged, or has another SHA-256 than the name; other errors are the store's.
func (s *Store) Open(ctx context.Context, name string) (*Reader, error) {
	r := &Reader{where: s.Location(name), sum: sha256.New()}
	_, sum, summed := strings.Cut(name, "#")
	err := r.open(ctx, s.o.Bucket, Key(name))
	if err == nil && summed && r.SHA256 != sum {
		err = &DamagedError{r.where, errors.New("it is another answer than the one on record")}
	}
	if err != nil {
		_ = r.Close() // err is the error to return
		return nil, r.explain(err)
	}
	return r, nil
}

// explain makes a *DamagedError of an error that isn't the store's.
func (r *Reader) explain(err error) error {
	var damaged *DamagedError
	switch {
	case errors.As(err, &damaged):
		return err
	case gcerrors.Code(err) == gcerrors.NotFound:
		return &DamagedError{r.where, fs.ErrNotExist}
	case r.from != nil && r.from.err == nil:
		return &DamagedError{r.where, err}
	}
	return fmt.Errorf("read the raw answer %s: %w", r.where, err)
}

// Read reads the content, decompressed.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.decoder.Read(p)
	r.read += int64(n)
	r.sum.Write(p[:n])
	end := errors.Is(err, io.EOF)
	switch {
	case r.read > r.Bytes:
		return 0, &DamagedError{r.where, fmt.Errorf("it has more than its %d bytes", r.Bytes)}
	case end && r.read < r.Bytes:
		return n, &DamagedError{r.where, fmt.Errorf("it has %d of its %d bytes", r.read, r.Bytes)}
	case end && hex.EncodeToString(r.sum.Sum(nil)) != r.SHA256:
		return n, &DamagedError{r.where, errors.New("its SHA-256 isn't that of what was kept")}
	case err != nil && !end:
		return n, r.explain(err)
	}
	return n, err
}

// Empty tells whether the service had nothing to say, not even a header.
func (r *Reader) Empty() bool { return r.Status == http.StatusNoContent }

// Close ends the reading, wherever it is.
func (r *Reader) Close() error {
	if r.decoder != nil {
		r.decoder.Close()
	}
	if r.object == nil {
		return nil
	}
	return r.object.Close()
}
