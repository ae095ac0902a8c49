package blobsink

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azobject "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/sinks"
)

// markKey names the metadata in which every object that is put carries the name of its put.
const markKey = "reportferry"

// Look gives the condition of what a partition's key holds now.
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

// inWords gives the error of a look that was refused in the store's own words: the answer to HEAD has no body.
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
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
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
	return fmt.Errorf("%w: %d bytes, written %s; move it away, or replace it with --force", sinks.ErrForeign, stored.Size,
		stored.ModTime.UTC().Format(time.DateTime))
}

// precondition hands a definite condition to the store's client, and tells whether it took it. as is that of
// BeforeWrite. That nothing may be there is an option that gocloud has itself.
func precondition(as func(any) bool, c sinks.Condition) (bool, error) {
	var object **storage.ObjectHandle
	var upload *transfermanager.UploadObjectInput
	var stream *azblob.UploadStreamOptions
	quoted := `"` + c.Version + `"`
	switch {
	case as(&object):
		if c.Version != "" {
			generation, err := strconv.ParseInt(c.Version, 10, 64)
			if err != nil {
				return false, fmt.Errorf("%q is no generation of an object", c.Version)
			}
			*object = (*object).If(storage.Conditions{GenerationMatch: generation})
		}
	case as(&upload):
		if c.Version != "" {
			upload.IfMatch = &quoted
		}
	case as(&stream):
		if tag := azcore.ETag(quoted); c.Version != "" {
			stream.AccessConditions = &azblob.AccessConditions{
				ModifiedAccessConditions: &azobject.ModifiedAccessConditions{IfMatch: &tag},
			}
		}
	default:
		return false, nil
	}
	return true, nil
}

// unmet tells whether a write failed because of its condition. S3 answers NoSuchKey to If-Match on a key that is gone, and
// ConditionalRequestConflict while another conditional write of the key goes on
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
func unmet(err error) bool {
	if err == nil {
		return false
	}
	if code := gcerrors.Code(err); code == gcerrors.FailedPrecondition || code == gcerrors.NotFound && noSuchKey(err) || errors.Is(err, sinks.ErrConflict) {
		return true
	}
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == "ConditionalRequestConflict"
}

// noSuchKey tells the key that is gone from the bucket that is.
func noSuchKey(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == "NoSuchKey"
}

// version is the store's own name for the state of an object.
func version(stored *blob.Attributes) string {
	var google storage.ObjectAttrs
	if stored.As(&google) {
		return strconv.FormatInt(google.Generation, 10)
	}
	if stored.ETag == "" {
		return fileVersion(stored.ModTime, stored.Size)
	}
	return strings.Trim(stored.ETag, `"`)
}

// listedVersion is version of an object in a listing.
func listedVersion(o *blob.ListObject) string {
	var google storage.ObjectAttrs
	var amazon s3types.Object
	var azure container.BlobItem
	switch {
	case o.As(&google):
		return strconv.FormatInt(google.Generation, 10)
	case o.As(&amazon) && amazon.ETag != nil:
		return strings.Trim(*amazon.ETag, `"`)
	case o.As(&azure) && azure.Properties != nil && azure.Properties.ETag != nil:
		return strings.Trim(string(*azure.Properties.ETag), `"`)
	}
	return fileVersion(o.ModTime, o.Size)
}

// fileVersion stands for a version where there is none, as gocloud does it for files and memory.
func fileVersion(modified time.Time, size int64) string {
	return fmt.Sprintf("%x-%x", modified.UnixNano(), size)
}

// own tells whether this program wrote an object: it carries a mark, or its Parquet footer says so, which it does in
// folders, where files have no metadata, and in objects of earlier versions.
func (s *Sink) own(ctx context.Context, key string, stored *blob.Attributes) (bool, error) {
	if stored.Metadata[markKey] != "" {
		return true, nil
	}
	const trailer, bound = 8, 1 << 20 // the footer's length and "PAR1"; a footer has some kilobytes
	tail, err := s.tail(ctx, key, stored.Size, trailer)
	if err != nil || len(tail) < trailer || string(tail[4:]) != "PAR1" {
		return false, err
	}
	footer := int64(binary.LittleEndian.Uint32(tail))
	if footer > bound {
		return false, nil
	}
	tail, err = s.tail(ctx, key, stored.Size, footer+trailer)
	return bytes.Contains(tail, []byte("reportferry")), err
}

// tail reads the last bytes of an object, or all when it has fewer.
func (s *Sink) tail(ctx context.Context, key string, size, n int64) ([]byte, error) {
	r, err := s.bucket.NewRangeReader(ctx, key, max(0, size-n), n, nil)
	if err != nil {
		return nil, fmt.Errorf("look at what is there: %w", err)
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}

// probe finds out, once and after the first put, whether the store holds the preconditions that its client takes: it
// creates one key twice, and replaces a version that isn't there. Of a store that doesn't hold them warn hears.
func (s *Sink) probe(ctx context.Context, warn func(error)) {
	if s.dir != "" {
		return
	}
	s.probed.Do(func() {
		key := ".reportferry-probe/" + rand.Text()
		create := sinks.Condition{Absent: true}
		held, err := s.create(ctx, key, create)
		if !held || err != nil { // memory; or what is wrong will be said of the next put
			return
		}
		_, again := s.create(ctx, key, create)
		_, stale := s.create(ctx, key, sinks.Condition{Version: noVersion})
		s.holds.Store(unmet(again) && unmet(stale))
		_ = s.bucket.Delete(context.WithoutCancel(ctx), key) // one that stays is no part of a table
		if !s.holds.Load() && warn != nil {
			warn(fmt.Errorf("%s doesn't hold preconditions of writes (If-None-Match, If-Match): two runs at once may "+
				"replace each other's parts there, which the next run notices and mends", s.url))
		}
	})
}

// noVersion is a generation, and an ETag, that no object has: that of no bytes would be another one.
const noVersion = "1"

// create writes a few bytes on a condition, and tells whether the store's client took it.
func (s *Sink) create(ctx context.Context, key string, over sinks.Condition) (held bool, err error) {
	ctx, abort := context.WithTimeout(ctx, verifyTimeout)
	defer abort()
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "text/plain", BufferSize: bufferSize, IfNotExist: over.Absent,
		BeforeWrite: func(as func(any) bool) (err error) {
			boundUpload(as)
			held, err = precondition(as, over)
			return err
		},
	})
	if err != nil {
		return held, err
	}
	if !held {
		abort()
		_ = w.Close() // nothing is written
		return held, nil
	}
	if _, err := io.WriteString(w, "reportferry asks whether preconditions hold here\n"); err != nil {
		abort()
		_ = w.Close() // err says why
		return held, err
	}
	return held, w.Close()
}
