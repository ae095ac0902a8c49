package blobsink

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/sinks"
)

// ConditionOf returns the condition that allows what a partition's key holds now, and nothing that
// comes after it. With own set, the object must have been written by this program; if it wasn't,
// the error is sinks.ErrForeign.
func (s *Sink) ConditionOf(ctx context.Context, table string, partition civil.Date, own bool) (sinks.Condition, error) {
	key := s.key.at(table, partition)
	c, err := s.currentCondition(ctx, key, own)
	if err != nil {
		err = fmt.Errorf("put %s/dt=%s to %s, key %s: %w", table, partition, s.url, key, err)
	}
	return c, err
}

// currentCondition returns the condition that allows what a key holds now, as ConditionOf does.
func (s *Sink) currentCondition(ctx context.Context, key string, own bool) (c sinks.Condition, err error) {
	stored, meta, err := s.bucket.Attributes(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return sinks.Condition{Absent: true}, nil
	}
	if err != nil {
		return c, fmt.Errorf("look at what is there: %w", err)
	}
	if own {
		own, err := s.isOwn(ctx, key, stored, meta)
		if err != nil {
			return c, err
		}
		if !own {
			return c, foreign(stored)
		}
	}
	return sinks.Condition{Version: stored.Version}, nil
}

// foreign returns the error about an object that this program hasn't written.
func foreign(stored bucket.Object) error {
	return fmt.Errorf("%w: %d bytes, written on %s; move it away, or replace it with --force", sinks.ErrForeign,
		stored.Size,
		stored.Modified.UTC().Format(time.DateTime))
}

// isOwn reports whether this program wrote an object. Either the object carries a mark, or its
// Parquet footer names the program: files in a folder have no metadata, nor have objects of earlier
// versions. An empty object or the beginning of a Parquet file counts as own, too, because no
// reader can read a Parquet file without its end.
func (s *Sink) isOwn(ctx context.Context, key string, stored bucket.Object, meta map[string]string) (bool, error) {
	if meta[markKey] != "" || stored.Size == 0 {
		return true, nil
	}
	const trailer, bound = 8, 1 << 20 // the footer's length and "PAR1"; a footer of ours has some kilobytes
	tail, err := s.tail(ctx, key, stored.Size, trailer)
	if err != nil {
		return false, err
	}
	if len(tail) < trailer || string(tail[4:]) != "PAR1" {
		head := make([]byte, min(4, stored.Size))
		_, err := s.At(ctx, key).ReadAt(head, 0)
		return bytes.HasPrefix([]byte("PAR1"), head), err
	}
	footer := int64(binary.LittleEndian.Uint32(tail))
	if footer > bound {
		return false, nil
	}
	tail, err = s.tail(ctx, key, stored.Size, footer+trailer)
	return bytes.Contains(tail, []byte("reportferry")), err
}

// At returns a reader of any ranges of the object under a key.
func (s *Sink) At(ctx context.Context, key string) io.ReaderAt {
	return readerAt{ctx, s.bucket.Blob(), key}
}

// A readerAt reads ranges of one object.
type readerAt struct {
	ctx    context.Context
	bucket *blob.Bucket
	key    string
}

func (a readerAt) ReadAt(b []byte, at int64) (n int, err error) {
	r, err := a.bucket.NewRangeReader(a.ctx, a.key, at, int64(len(b)), nil)
	if err != nil {
		return 0, err
	}
	if n, err = io.ReadFull(r, b); errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, errors.Join(err, r.Close())
}

// tail reads the last n bytes of an object, or all of it when it is shorter.
func (s *Sink) tail(ctx context.Context, key string, size, n int64) ([]byte, error) {
	r, err := s.bucket.Blob().NewRangeReader(ctx, key, max(0, size-n), n, nil)
	if err != nil {
		return nil, fmt.Errorf("look at what is there: %w", err)
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}
