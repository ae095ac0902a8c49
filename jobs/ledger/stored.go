package ledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/reportferry/reportferry/internal/bucket"
)

// A storedDocument is a document as the store has it: one line of JSON with a version, a random
// token, a checksum over the content, and the content. Because of the checksum, a damaged document
// is an error and is never taken for a missing one. The token makes the text of each write unique.
// On a store whose versions are digests of contents, therefore, no version ever recurs. A line
// longer than 4 KiB is compressed as one Zstandard frame.
type storedDocument struct {
	Version int             `json:"v"`
	Token   string          `json:"token"`
	Sum     string          `json:"xxh64"`
	Content json.RawMessage `json:"content,omitempty"`
}

const (
	documentVersion = 2
	// plainDocument is how many bytes a document may have without being compressed.
	plainDocument = 4 << 10
	// mostDocument is how many bytes a document may take in memory.
	mostDocument = 256 << 20
)

// zstdMagic begins a Zstandard frame (RFC 8878, 3.1.1).
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// encodeDocument returns the object for a content.
func encodeDocument(content []byte) ([]byte, error) {
	if len(content) > mostDocument {
		return nil, fmt.Errorf("it would have %d MiB, and %d MiB is the most", len(content)>>20, mostDocument>>20)
	}
	data, err := json.Marshal(storedDocument{documentVersion, rand.Text(), checksum(content), content})
	if data = append(data, '\n'); err != nil || len(data) <= plainDocument {
		return data, err
	}
	// Each document gets a new writer, because shared writers wait for each other by channels,
	// which bubbles of testing/synctest can't share. The window is made to measure, because the
	// usual one of 4 MiB would be allocated, and cleared, for each document.
	window := min(1<<bits.Len(uint(len(data))), 8<<20)
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	defer w.Close() //nolint:errcheck // it has written nothing
	return w.EncodeAll(data, nil), nil
}

// decodeDocument checks an object and returns its content.
func decodeDocument(data []byte) (content []byte, err error) {
	if bytes.HasPrefix(data, zstdMagic) {
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostDocument))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if data, err = r.DecodeAll(data, nil); err != nil {
			return nil, err
		}
	}
	begin, content, hasContent := bytes.Cut(bytes.TrimSuffix(data, []byte("}\n")), []byte(`,"content":`))
	var s storedDocument
	if err := json.Unmarshal(append(slices.Clip(begin), '}'), &s); err != nil {
		return nil, err
	}
	if s.Version != documentVersion {
		return nil, &versionError{s.Version, documentVersion}
	}
	if is := checksum(content); !hasContent || is != s.Sum {
		return nil, fmt.Errorf("checksum is %s, its content gives %s", is, s.Sum)
	}
	return content, nil
}

// parse decodes a content into a new T. Without a content it returns the zero T.
func parse[T any](raw []byte) (content T, err error) {
	if raw == nil {
		return content, nil
	}
	if fast, is := any(&content).(interface{ decode(string) bool }); is && fast.decode(string(raw)) {
		return content, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&content); err == nil && dec.More() {
		err = errors.New("something follows the content")
	}
	return content, err
}

// marshal returns the content as json.Marshal would embed it, so that the checksum covers the same
// bytes.
func marshal(content any) ([]byte, error) { return json.Marshal(content) }

// Store returns the ledger's bucket, for callers that keep objects of their own form beside a
// document, list them, or need its time.
func (l *Ledger) Store() *bucket.Bucket { return l.store }

// Damaged returns the error for an object that can't be trusted. cost says what deleting it would
// do.
func (l *Ledger) Damaged(key, cost string, err error) error {
	return &DamagedError{Location: l.location(key), Err: err, Cost: cost}
}

// CreateOnce writes an object, in the form of documents, that is never replaced. It returns false
// when another writer's object exists. After an error the object may exist, now or later.
func (l *Ledger) CreateOnce(ctx context.Context, key string, content any) (created bool, err error) {
	raw, err := marshal(content)
	if err != nil {
		return false, err
	}
	data, err := encodeDocument(raw) // its token makes it differ from any other writer's text
	if err != nil {
		return false, err
	}
	if err := l.store.Prove(ctx); err != nil {
		return false, errors.Join(ErrRefused, err)
	}
	for try := range 3 {
		if try > 0 && !bucket.Sleep(ctx, 250*time.Millisecond<<(2*try-2)) {
			break
		}
		if _, err = l.store.Put(ctx, key, data, bucket.Condition{Absent: true}); err == nil {
			return true, nil
		}
		if ctx.Err() != nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, bucket.ErrBusy) {
			break
		}
		there, _, unread := l.store.Get(ctx, key) // the answer to an earlier request may have been lost
		if unread == nil {
			return bytes.Equal(there, data), nil
		}
	}
	return false, fmt.Errorf("%w: %w", ErrBucket, err)
}

// ReadOnce reads and checks an object that CreateOnce wrote. When there is none, the error is
// fs.ErrNotExist. The error of a damaged one says, by cost, what deleting it would do.
func ReadOnce[T any](ctx context.Context, l *Ledger, key, cost string) (content T, err error) {
	data, _, err := l.store.Get(ctx, key)
	if err != nil {
		return content, fmt.Errorf("%w: %w", ErrBucket, err)
	}
	raw, err := decodeDocument(data)
	if err == nil {
		content, err = parse[T](raw)
	}
	if err != nil {
		err = l.Damaged(key, cost, err)
	}
	return content, err
}
