package blobsink

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cloud.google.com/go/civil"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/sinks"
)

// Look returns the condition that allows what a partition's key holds now, and nothing that comes after it. With own set, the
// object must have been written by this program; if it wasn't, the error is sinks.ErrForeign.
func (s *Sink) Look(ctx context.Context, table string, partition civil.Date, own bool) (sinks.Condition, error) {
	key := s.key.at(table, partition)
	c, err := s.over(ctx, key, own)
	if err != nil {
		err = fmt.Errorf("put %s/dt=%s to %s, key %s: %w", table, partition, s.url, key, err)
	}
	return c, err
}

func (s *Sink) over(ctx context.Context, key string, own bool) (c sinks.Condition, err error) {
	stored, err := s.bucket.Attributes(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return sinks.Condition{Absent: true}, nil
	}
	if err != nil {
		return c, fmt.Errorf("look at what is there: %w", s.inWords(ctx, key, err))
	}
	if own {
		own, err := s.own(ctx, key, stored)
		if err != nil {
			return c, err
		}
		if !own {
			return c, foreign(stored)
		}
	}
	return sinks.Condition{Version: version(stored)}, nil
}

// inWords replaces the error of a refused HEAD request, whose answer has no body, by the error of a GET, whose answer says why.
func (s *Sink) inWords(ctx context.Context, key string, err error) error {
	var amazon interface{ HTTPStatusCode() int }
	var azure *azcore.ResponseError
	status := 0
	if errors.As(err, &amazon) {
		status = amazon.HTTPStatusCode()
	} else if errors.As(err, &azure) {
		status = azure.StatusCode
	}
	if status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout) // Amazon's client tries some refusals again, with pauses
	defer cancel()
	r, again := s.bucket.NewRangeReader(ctx, key, 0, 1, nil)
	if again == nil {
		return errors.Join(err, r.Close())
	}
	if gcerrors.Code(again) == gcerrors.NotFound || ctx.Err() != nil {
		return err
	}
	return again
}

func foreign(stored *blob.Attributes) error {
	return fmt.Errorf("%w: %d bytes, written on %s; move it away, or replace it with --force", sinks.ErrForeign, stored.Size,
		stored.ModTime.UTC().Format(time.DateTime))
}

// lookLocked checks a condition that the store doesn't enforce, right before the file takes its place. In a folder it first
// locks the folder itself (flock(2)), so that of two writers on one machine the second sees what the first did; no lock file
// is left behind. On a network's file system that can't lock, the check alone remains. In other stores the puts of this
// process wait for each other.
func (s *Sink) lookLocked(ctx context.Context, key string, over sinks.Condition, held bool) (unlock func(), err error) {
	if s.dir == "" {
		s.turn <- struct{}{}
		unlock = func() { <-s.turn }
	} else {
		folder, err := os.Open(filepath.Dir(s.path(key)))
		if err != nil {
			return nil, err
		}
		_ = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX)
		unlock = func() { _ = folder.Close() } // this releases the lock
	}
	err = s.look(ctx, key, over)
	if held && !errors.Is(err, sinks.ErrConflict) {
		err = nil // the client sends the condition too, and the answer to the write will say more
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// look compares what the key holds with a definite condition.
func (s *Sink) look(ctx context.Context, key string, over sinks.Condition) error {
	stored, err := s.bucket.Attributes(ctx, key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		if !over.Absent {
			return sinks.ErrConflict
		}
		return nil
	case err != nil:
		return fmt.Errorf("look at what is there: %w", err)
	case over.Absent || version(stored) != over.Version:
		return sinks.ErrConflict
	}
	return nil
}

// own reports whether this program wrote an object. Either the object carries a mark, or its Parquet footer names the
// program: files in a folder have no metadata, nor have objects of earlier versions. What was cut is nobody's, because no reader can
// read a Parquet file without its end.
func (s *Sink) own(ctx context.Context, key string, stored *blob.Attributes) (bool, error) {
	if stored.Metadata[markKey] != "" || stored.Size == 0 {
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

// At reads the object under a key here and there.
func (s *Sink) At(ctx context.Context, key string) io.ReaderAt { return readerAt{ctx, s.bucket, key} }

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
	r, err := s.bucket.NewRangeReader(ctx, key, max(0, size-n), n, nil)
	if err != nil {
		return nil, fmt.Errorf("look at what is there: %w", err)
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}
