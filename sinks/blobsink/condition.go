package blobsink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

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

// markKey is the metadata key under which every object carries its put's mark, a random text.
const markKey = "reportferry"

// precondition sets a definite condition on the request of the store's client, and reports whether the client has
// preconditions. as is the argument of BeforeWrite. Absent is not set here, because gocloud has an option for it.
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
				return false, fmt.Errorf("%q isn't the generation of an object", c.Version)
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

// unmet reports whether a write failed because of its condition. S3 answers NoSuchKey to If-Match on a key that was deleted,
// and ConditionalRequestConflict while another conditional write of the key is in progress
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

// noSuchKey reports whether a key is missing, and not its bucket.
func noSuchKey(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == "NoSuchKey"
}

// version returns the store's own name for the state of an object: its generation or ETag.
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

// listedVersion is version for an entry of a listing.
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

// fileVersion makes a version of the time and the size where the store has none, in the form that gocloud uses for files.
func fileVersion(modified time.Time, size int64) string {
	return fmt.Sprintf("%x-%x", modified.UnixNano(), size)
}

// first makes puts wait for each other until one has succeeded and shown what the store enforces: before that each is looked at twice.
func (s *Sink) first(ctx context.Context) (done func(), err error) {
	if s.dir != "" || s.known.Load() {
		return func() {}, nil
	}
	if err := s.alone.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	done = sync.OnceFunc(func() { s.alone.Release(1) })
	if s.known.Load() { // by the put that this one has waited for
		done()
	}
	return done, nil
}

// probe finds out whether the store enforces the preconditions that its client sends. It runs once, after the first put: it
// tries to create one key twice, and to replace a version that never was. warn gets an error when the store lets it.
func (s *Sink) probe(ctx context.Context, warn func(error)) {
	if s.dir != "" {
		return
	}
	s.probed.Do(func() {
		defer s.known.Store(true)
		key := ".reportferry-probe/" + rand.Text()
		create := sinks.Condition{Absent: true}
		held, err := s.create(ctx, key, create)
		if !held || err != nil { // a bucket in memory; or an error that the next put will meet and report
			return
		}
		_, again := s.create(ctx, key, create)
		_, stale := s.create(ctx, key, sinks.Condition{Version: noVersion})
		s.holds.Store(unmet(again) && unmet(stale))
		_ = s.bucket.Delete(context.WithoutCancel(ctx), key) // if it stays, no reader of a table finds it
		if (again == nil || stale == nil) && warn != nil {
			warn(fmt.Errorf("%s doesn't enforce preconditions of writes (If-None-Match, If-Match): two runs at the same time may "+
				"replace each other's parts there; the next run notices that and fetches the partition again", s.url))
		}
	})
}

// noVersion is a generation and an ETag that no object has.
const noVersion = "1"

// create writes a few bytes on a condition, and reports whether the store's client has preconditions.
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
		_ = w.Close() // the context is cancelled, so nothing is written
		return held, nil
	}
	if _, err := io.WriteString(w, "written by reportferry to see whether this store enforces preconditions\n"); err != nil {
		abort()
		_ = w.Close() // err says why
		return held, err
	}
	return held, w.Close()
}
